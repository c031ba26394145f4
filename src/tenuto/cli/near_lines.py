"""Near misses in a line each: the event or the wait, and what was false."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tenuto.cli.moments import ago
from tenuto.cli.terminal import one_line
from tenuto.engine.events.near_misses import NearEvent, NearWait
from tenuto.model.json import JSON, Object
from tenuto.store.parts.waits import WaitKey

MOST_LINES = 3
_LONGEST = 300


def near_event_lines(near: Sequence[NearEvent], now: datetime) -> list[str]:
    """The latest events that a wait did not take, and how many more there are."""
    shown = near if len(near) <= MOST_LINES else near[: MOST_LINES - 1]
    lines = [
        f"{each.event.pattern} {each.event.id} {ago(each.event.received_at, now)}: {_failed(each)}"
        for each in shown
    ]
    if len(near) > len(shown):
        lines.append(f"and {len(near) - len(shown)} more; -o json gives them all")
    return [one_line(line, _LONGEST) for line in lines]


def near_wait_line(near: NearWait) -> str:
    """A wait or trigger that an event did not reach."""
    wait = near.wait
    if wait.is_trigger:
        what = f"nearly started {wait.node}"
    elif wait.is_cancellation:
        what = f"nearly cancelled {wait.instance_id}"
    else:
        key = WaitKey(wait.instance_id, wait.node, wait.iteration, wait.arm)
        what = f"nearly resumed {place(key)}"
    return one_line(f"{what}: {_failed(near)}", _LONGEST)


def place(key: WaitKey) -> str:
    """`INSTANCE step[0], arm yes`."""
    iteration = f"[{key.iteration}]" if key.iteration else ""
    arm = f", arm {key.arm}" if key.arm else ""
    return f"{key.instance_id} {key.node}{iteration}{arm}"


def place_line(view: Object) -> str:
    """`resumed  INSTANCE step[0]`, of what a server says of an event."""
    if "instanceId" in view:
        names = (str(view.get(name, "")) for name in ("stepId", "iteration", "armId"))
        where = place(WaitKey(str(view["instanceId"]), *names)).rstrip()
    else:
        where = str(view.get("workflowId"))
    reason = f": {one_line(str(view['reason']))}" if view.get("reason") else ""
    return f"{view['what']}  {one_line(f'{where}{reason}', _LONGEST)}"


def _failed(near: NearEvent | NearWait) -> str:
    parts: list[str] = []
    for miss in near.failed:
        # Rather the expression is cut than the values.
        part = one_line(miss.expression, 100)
        if miss.error is not None:
            part += f": {miss.error}"
        elif miss.operator is None:
            part += " was false"
        else:
            part += f" was {_value(miss.left)} {miss.operator} {_value(miss.right)}"
        parts.append(part)
    return "; ".join(parts)


def _value(value: JSON) -> str:
    # Text keeps its quotes: that "7" is not 7 is what is looked for most.
    return one_line(msgspec.json.encode(value).decode(), 40)
