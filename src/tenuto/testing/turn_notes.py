"""Short descriptions of durable writes."""

from __future__ import annotations

from typing import Final

from tenuto.model.entries import EventType
from tenuto.model.log import LogRow
from tenuto.store.parts.turns import Turn

_SAID: Final[dict[str, str]] = {
    EventType.INPUT_SET: "the start",
    EventType.NODE_DISPATCHED: "{node} starts",
    EventType.NODE_COMPLETED: "{node} done",
    EventType.NODE_FAILED: "{node} fails",
    EventType.WAIT_OPENED: "{node} waits",
    EventType.CANCEL_REQUESTED: "a cancellation",
}
_MOST: Final = 3


def note(turn: Turn) -> str:
    """Describe the writes of a turn."""
    said = [f"event {event.pattern}" for event in turn.events]
    said += [_said(row) for write in turn.writes for row in write.rows if row.event_type in _SAID]
    if turn.matches:
        said.append("the matching of an event")
    if not said:
        return "bookkeeping"
    more = f" and {len(said) - _MOST} more" if len(said) > _MOST else ""
    return ", ".join(said[:_MOST]) + more


def _said(row: LogRow) -> str:
    return _SAID[row.event_type].format(node=row.node_id)
