"""Near misses in a line each: the event or the wait, and which part of the condition was false."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from tenuto.cli.views.terminal import ago, one_line
from tenuto.engine.events.event_views import near_events_view
from tenuto.engine.events.near_misses import NearEvent
from tenuto.expr import ALL_ROOTS, ExpressionSyntaxError
from tenuto.expr.parser import parse
from tenuto.expr.syntax import Binary, Path
from tenuto.model.json import JSON, Object

MOST_LINES: Final = 3
_LONGEST: Final = 300
_WHAT: Final = {"resumed": "reached", "cancelled": "cancelled", "started": "started"}
_MIRRORED: Final = {
    "===": "===",
    "==": "==",
    "!==": "!==",
    "!=": "!=",
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
}
"""The operators of comparisons whose sides are swapped."""
_ROOTS: Final = ALL_ROOTS | {"correlationId", "since"}
"""Names in conditions, and in what a wait asks for beside its condition."""


def near_event_lines(near: Sequence[NearEvent], now: datetime) -> list[str]:
    """The latest events that a wait did not take, and how many more there are."""
    views = zip(near, near_events_view(near), strict=True)
    named = [
        {**view, "pattern": each.event.pattern} for each, view in views if isinstance(view, dict)
    ]
    return near_view_lines(named, "", now)


def near_view_lines(near: Sequence[JSON], pattern: str, now: datetime) -> list[str]:
    """The same of their views; `pattern`: the wait's, where a view does not say the event's."""
    shown = near if len(near) <= MOST_LINES else near[: MOST_LINES - 1]
    lines: list[str] = []
    for view in shown:
        assert isinstance(view, dict)
        when = ago(datetime.fromisoformat(str(view["at"])), now)
        name = view.get("pattern", pattern)
        lines.append(f"{name} {view['eventId']} {when}: {_failed(view)}")
    if len(near) > len(shown):
        lines.append(f"and {len(near) - len(shown)} more; -o json gives them all")
    return [one_line(line, _LONGEST) for line in lines]


def near_wait_line(view: Object) -> str:
    """A wait or trigger that an event did not reach."""
    return one_line(f"nearly {view['what']} {_place(view)}: {_failed(view)}", _LONGEST)


def nearly_reached_lines(views: Sequence[Object]) -> list[str]:
    """The waits and triggers that an event nearly reached, the nearest first, and how many more."""
    shown = views if len(views) <= MOST_LINES else views[: MOST_LINES - 1]
    lines = [f"nearly {_WHAT[str(each['what'])]} {_place(each)}: {_wanted(each)}" for each in shown]
    if len(views) > len(shown):
        lines.append(f"and nearly {len(views) - len(shown)} more")
    return [one_line(line, _LONGEST) for line in lines]


def place_line(view: Object) -> str:
    """`resumed  INSTANCE step[0], arm yes`: a wait or trigger that an event reached."""
    reason = f": {one_line(str(view['reason']))}" if view.get("reason") else ""
    return f"{view['what']}  {_place(view)}{reason}"


def _place(view: Object) -> str:
    if "workflowId" in view:
        started = f"  {view['instanceId']}" if "instanceId" in view else ""
        return f"{view['workflowId']}{started}"
    if not view.get("stepId"):
        return str(view["instanceId"])
    iteration = f"[{view['iteration']}]" if view.get("iteration") else ""
    arm = f", arm {view['armId']}" if view.get("armId") else ""
    return f"{view['instanceId']} {view['stepId']}{iteration}{arm}"


def _failed(view: Object) -> str:
    return "; ".join(map(_false_part, _misses(view)))


def _wanted(view: Object) -> str:
    """`payload.orderId is "A2", the wait wants "A1"`: for a sender, who has only the event."""
    return "; ".join(_wanted_part(each) or _false_part(each) for each in _misses(view))


def _misses(view: Object) -> list[Object]:
    failed = view["failed"]
    assert isinstance(failed, list)
    return [each for each in failed if isinstance(each, dict)]


def _false_part(miss: Object) -> str:
    expression = str(miss["expression"])
    # Rather the expression is cut than the values.
    part = one_line(expression, 100)
    if miss.get("error") is not None:
        return f"{part}: {miss['error']}"
    if (compared := _comparison(expression)) is None:
        return f"{part} was false"
    return f"{part} was {_value(miss['left'])} {compared.operator} {_value(miss['right'])}"


def _wanted_part(miss: Object) -> str | None:
    """None for what is no comparison of a field of the event with a value."""
    compared = None if miss.get("error") is not None else _comparison(str(miss["expression"]))
    if compared is None:
        return None
    for side, has, wants, operator in (
        (compared.left, miss["left"], miss["right"], compared.operator),
        (compared.right, miss["right"], miss["left"], _MIRRORED.get(compared.operator)),
    ):
        if isinstance(side, Path) and side.root == "event" and side.names and operator is not None:
            said = "" if operator in ("===", "==") else f"{operator} "
            return f"{'.'.join(side.names)} is {_value(has)}, the wait wants {said}{_value(wants)}"
    return None


def _comparison(expression: str) -> Binary | None:
    """A part of a condition that compares two sides."""
    try:
        tree, _ = parse(expression, _ROOTS)
    except ExpressionSyntaxError:
        return None
    return tree if isinstance(tree, Binary) else None


def _value(value: JSON) -> str:
    # Text keeps its quotes: "7" instead of 7 is the most common mistake.
    return one_line(msgspec.json.encode(value).decode(), 40)
