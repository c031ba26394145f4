"""The part of the list of instances that a query asks for."""

from __future__ import annotations

from tenuto.model.durations import epoch_ms
from tenuto.store.cursor import BEFORE_ALL, Position, read_cursor, write_cursor
from tenuto.store.parts.instances import InstanceQuery, InstanceRow

_OLDEST_MS = -(1 << 63)


def begins_below(query: InstanceQuery) -> Position:
    """The position below which the page begins; InvalidInput if the cursor is malformed."""
    below = BEFORE_ALL if query.after is None else read_cursor(query.after)
    if query.created_before is not None:
        below = min(below, Position(epoch_ms(query.created_before), ""))
    return below


def cursor_after(row: InstanceRow) -> str:
    """The cursor of the page that follows an instance."""
    return write_cursor(Position(epoch_ms(row.created_at), row.id))


def page_bounds(query: InstanceQuery) -> dict[str, str | int]:
    """The parameters of every statement that reads a page of positions.

    The limit is one row more than a page, to find out whether there is another page.
    """
    below = begins_below(query)
    return {
        "tenant": query.tenant,
        "below_created": below.created_ms,
        "below_id": below.id,
        "from_created": _OLDEST_MS if query.created_from is None else epoch_ms(query.created_from),
        "limit": query.limit + 1,
    }
