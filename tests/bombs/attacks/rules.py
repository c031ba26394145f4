"""Conditions that each event or start is compared with, and limits with many names."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack
from tests.bombs.attacks.events import CLOSED_PORT

_TASK: Object = {"stepId": "a", "type": "TASK", "taskId": "double", "input": {"number": 1}}
_LONG: JSON = {"list": list(range(4_000))}


def _costly(value: str, number: int) -> str:
    """False for `_LONG`; every number makes another expression."""
    return f"{value}.list.map(x => x + {number}).includes(-1)"


def _triggers() -> Iterator[Ask]:
    triggers: list[JSON] = [
        {
            "eventPattern": "z.**",
            "eventCondition": _costly("event.payload", number),
            "inputMapping": {},
        }
        for number in range(300)
    ]
    for number in range(4):
        id = f"triggered{number}"
        body: Object = {"id": id, "steps": [_TASK], "triggers": triggers}
        yield Ask("PUT", f"/workflows/{id}", body)


def _subscriptions() -> Iterator[Ask]:
    for number in range(100):
        body: Object = {
            "subscriberId": f"s{number}",
            "callbackUrl": f"{CLOSED_PORT}{number}",
            "patterns": ["**"],
            "filter": _costly("event.payload", number),
        }
        yield Ask("POST", "/subscriptions", body)


def _thirty_events() -> Ask:
    events: list[JSON] = [{"pattern": f"s.{number}", "payload": _LONG} for number in range(30)]
    return Ask("POST", "/events", events)


def _queue_rules() -> Iterator[Ask]:
    yield Ask("PUT", "/workflows/queued", {"id": "queued", "steps": [_TASK]})
    limits: Object = {"workflowTypeLimits": {"queued": 1}, "userLimits": {}}
    yield Ask("PUT", "/concurrency", limits)
    for number in range(100):
        body: Object = {
            "when": _costly("ctx.input", number),
            "priority": number + 1,
            "confirm": True,
        }
        yield Ask("POST", "/queue/rules", body)


def _starts(workflow: str, inputs: list[JSON]) -> Ask:
    items: list[JSON] = [{"workflowId": workflow, "input": input} for input in inputs]
    return Ask("POST", "/instances/batch", {"items": items})


def _unknown_limits() -> Iterator[Ask]:
    unknown: Object = {f"globalMaxConcurren{number}": 1 for number in range(30_000)}
    negative: Object = {f"w{number}" * 20: -1 for number in range(10_000)}
    for _ in range(3):
        yield Ask("PUT", "/concurrency?dryRun=true", unknown)
        yield Ask("PUT", "/concurrency?dryRun=true", {"workflowTypeLimits": negative})


_KEYED: dict[str, Object] = {
    "one-of-each": {"concurrency": {"limit": 1, "key": "{{ctx.input.number}}"}},
    "once-an-hour": {"rate": {"limit": 1, "per": "PT1H", "key": "{{ctx.input.number}}"}},
    "the-last-of-an-hour": {"debounce": {"period": "PT1H", "key": "{{ctx.input.number}}"}},
}


def _keyed() -> Iterator[Ask]:
    for id, options in _KEYED.items():
        step: Object = {"stepId": "d", "type": "DELAY", "duration": "PT60S"}
        yield Ask("PUT", f"/workflows/{id}", {"id": id, "steps": [step], "options": options})
    step = {**_TASK, "mutex": "one"}
    yield Ask("PUT", "/workflows/one-mutex", {"id": "one-mutex", "steps": [step]})


def _keyed_starts() -> Iterator[Ask]:
    numbers: list[JSON] = [{"number": number} for number in range(1_000)]
    return (_starts(id, numbers) for id in (*_KEYED, "one-mutex"))


RULES: tuple[Attack, ...] = (
    Attack(
        "triggers-with-costly-conditions",
        lambda: [Ask("POST", "/events", {"pattern": "z.a", "payload": _LONG})] * 10,
        BUSY,
        before=_triggers,
    ),
    Attack(
        "subscriptions-with-costly-filters",
        lambda: [_thirty_events()] * 4,
        BUSY,
        before=_subscriptions,
    ),
    Attack(
        "queue-rules-with-costly-conditions",
        lambda: [_starts("queued", [_LONG] * 50)] * 4,
        TOO_LARGE,
        before=_queue_rules,
    ),
    Attack("limits-of-many-names", _unknown_limits, TOO_LARGE, at_once=2),
    Attack("limits-with-many-keys", _keyed_starts, BUSY, before=_keyed, rounds=2),
)
