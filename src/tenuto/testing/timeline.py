"""A log as a short readable timeline, one line per event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from tenuto.model.approvals import People
from tenuto.model.entries import EventType
from tenuto.model.json import JSON, Object
from tenuto.model.lengths import length

_WIDEST = 100
_LEFT_OUT = frozenset({EventType.INPUT_SET, EventType.TIMER_SET, EventType.TIMER_FIRED})


def path_of(history: Iterable[Object]) -> list[str]:
    """The steps that completed, in that order."""
    return [_step(row) for row in history if row["eventType"] == EventType.NODE_COMPLETED]


def undone_of(history: Iterable[Object], undone_by: Mapping[str, str]) -> list[str]:
    """The steps that were undone, in that order; `undone_by`: which each of what undoes one does.

    A child undoes itself.
    """
    names = [
        (str(row["nodeId"]), str(row["iteration"] or ""))
        for row in history
        if row["eventType"] == EventType.COMPENSATION_COMPLETED
    ]
    return [named(undone_by.get(name, name), iteration) for name, iteration in names]


def timeline(head: str, input: JSON, history: Sequence[Object]) -> str:
    """Head, input, and a line for each thing that happened, with the time since the start."""
    lines = [head, f"  input {_short(input)}"]
    if not history:
        return "\n".join(lines)
    start = datetime.fromisoformat(str(history[0]["at"]))
    rows = [
        (length(datetime.fromisoformat(str(row["at"])) - start), _step(row), _said(row))
        for row in history
        if row["eventType"] not in _LEFT_OUT or _is_shown(row)
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for moment, step, said in rows:
        lines.append(f"  {moment:>{widths[0]}}  {step:<{widths[1]}}  {said}".rstrip())
    return "\n".join(lines)


def _is_shown(row: Object) -> bool:
    """Reminders and escalations are; the timers of delays speak for themselves."""
    payload = row["payload"]
    return row["eventType"] == EventType.TIMER_FIRED and isinstance(payload, dict) and bool(payload)


def named(step: str, iteration: str) -> str:
    """The display name of a step."""
    return f"{step}[{iteration}]" if iteration else step


def _step(row: Object) -> str:
    return named(str(row["nodeId"] or ""), str(row["iteration"] or ""))


def _said(row: Object) -> str:
    payload: Any = row["payload"]
    attempt = row["attempt"]
    tried = f" (attempt {attempt})" if isinstance(attempt, int) and attempt > 1 else ""
    match row["eventType"]:
        case EventType.NODE_DISPATCHED:
            return f"starts{tried}"
        case EventType.NODE_COMPLETED:
            output = payload.get("output")
            gave = "" if output is None else f" → {_short(output)}"
            how = "goes on after its error" if row["nodeStatus"] == "error" else "done"
            return f"{how}{tried}{gave}"
        case EventType.NODE_FAILED:
            error = payload.get("error") or {}
            why = f"{error.get('code')}: {error.get('message')}" if error else row["errorMessage"]
            return _cut(f"fails{tried}: {why}")
        case EventType.NODE_SKIPPED:
            return f"skipped: {payload.get('reason')}"
        case EventType.RETRY_SCHEDULED:
            moments = [datetime.fromisoformat(str(each)) for each in (payload["due"], row["at"])]
            return f"will be tried again in {length(moments[0] - moments[1])}"
        case EventType.WAIT_OPENED if "approval" in payload:
            return f"asks {_people(payload['approval']['assignees'])}"
        case EventType.TIMER_FIRED:
            return _fired(payload)
        case EventType.WAIT_OPENED:
            return f"waits for {payload.get('pattern', 'an event')}"
        case EventType.WAIT_RESOLVED:
            taken = payload.get("eventId")
            return f"takes event {taken}" if taken else f"waits no more: {payload.get('outcome')}"
        case EventType.STATUS_CHANGED:
            return str(payload.get("to"))
        case other:
            words = str(other).lower().replace("_", " ")
            return _cut(f"{words}{tried} {_short(payload) if payload else ''}".rstrip())


def _fired(payload: Any) -> str:  # noqa: ANN401 - as the log has it
    match payload.get("kind"):
        case "sla-breached":
            return "its SLA is missed"
        case "sla-warning":
            return "its SLA is at risk"
        case "reminder":
            return f"reminds {_people(payload['assignees'])}"
        case _:
            return f"asks {_people(payload['assignees'])} as well"


def _people(found: Any) -> str:  # noqa: ANN401 - as the log has it
    return str(msgspec.convert(found, People))


def _short(value: JSON) -> str:
    return _cut(msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDEST else f"{flat[: _WIDEST - 1]}…"
