"""Schedules whose starts are rare, long ago, or costly."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack
from tests.bombs.attacks.calendars import TEN_MINUTES, calendar

_RARE = "0 3 29 2 */7"
"""At three on a 29th of February that is a Sunday: outside of office hours, for ever."""
_ZONES = ("Europe/Berlin", "America/New_York", "Africa/Cairo", "Asia/Tehran")


def _flow() -> Ask:
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": 1}}
    return Ask("PUT", "/workflows/flow", {"id": "flow", "steps": [step]})


def _schedule(id: str, cron: str, **more: JSON) -> Ask:
    body: Object = {"id": id, "cron": cron, "target": {"workflowId": "flow"}, **more}
    return Ask("PUT", f"/schedules/{id}", body)


def _rare() -> Iterator[Ask]:
    for zone in _ZONES:
        body: Object = {
            "cron": _RARE,
            "calendar": "office",
            "timezone": zone,
            "target": {"workflowId": "flow"},
        }
        yield Ask("POST", "/schedules/preview?count=200", body)
    yield _schedule("rare", _RARE, calendar="office")


def _paused() -> list[Ask]:
    return [
        _flow(),
        calendar("office"),
        _schedule("every-second", "* * * * * *", calendar="office"),
        Ask("POST", "/schedules/every-second/pause", {}),
    ]


def _century() -> list[Ask]:
    body: Object = {"from": "1901-01-01T00:00:00Z", "to": "2026-11-01T00:00:00Z", "dryRun": True}
    return [Ask("POST", "/schedules/every-second/backfill", body)]


def _costly() -> Iterator[Ask]:
    """Schedules of every second, whose inputs are made by long expressions at each start."""
    yield _flow()
    ids = ",".join(["schedule.id"] * 300)
    expression = f"{{{{JSON.stringify([{ids}].map(x => x + schedule.nominal)).length}}}}"
    input: Object = {f"k{number}": expression for number in range(20)}
    for number in range(60):
        yield _schedule(f"costly{number}", "* * * * * *", overlap="allow", input=input)


SCHEDULES: tuple[Attack, ...] = (
    Attack(
        "rare-starts-in-calendars",
        _rare,
        TOO_LARGE,
        before=lambda: [_flow(), calendar("office", TEN_MINUTES)],
        at_once=2,
    ),
    Attack("backfill-of-a-century", _century, TOO_LARGE, before=_paused, at_once=1),
    Attack("schedules-with-costly-inputs", refusals=BUSY, before=_costly),
)
