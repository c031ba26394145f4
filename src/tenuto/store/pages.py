"""The part of the list of instances that a query asks for."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.cursor import BEFORE_ALL, Position, read_cursor, write_cursor
from tenuto.store.parts.instances import InstanceQuery, InstanceRow

_OLDEST_MS = -(1 << 63)
_NEWEST_MS = (1 << 63) - 1


def is_by_change(query: InstanceQuery) -> bool:
    """Whether the list is ordered by time of change; of named ones there is always one order."""
    return not query.ids and (query.updated_from is not None or query.updated_before is not None)


def begins_below(query: InstanceQuery) -> Position:
    """The position below which the page begins; InvalidInput if the cursor is malformed."""
    below = BEFORE_ALL if query.after is None else read_cursor(query.after)
    end = query.updated_before if is_by_change(query) else query.created_before
    return below if end is None else min(below, Position(epoch_ms(end), ""))


def cursor_after(query: InstanceQuery, row: InstanceRow) -> str:
    """The cursor of the page that follows an instance."""
    at = row.updated_at if is_by_change(query) else row.created_at
    return write_cursor(Position(epoch_ms(at), row.id))


def page_bounds(query: InstanceQuery) -> dict[str, str | int]:
    """The parameters of every statement that reads a page of positions.

    The limit is one row more than a page, to find out whether there is another page.
    """
    below = begins_below(query)
    return {
        "tenant": query.tenant,
        "below_created": below.created_ms,
        "below_id": below.id,
        "from_created": _ms(query.created_from, _OLDEST_MS),
        "before_created": _ms(query.created_before, _NEWEST_MS),
        "from_updated": _ms(query.updated_from, _OLDEST_MS),
        "before_updated": _ms(query.updated_before, _NEWEST_MS),
        "limit": query.limit + 1,
    }


def _ms(moment: datetime | None, otherwise: int) -> int:
    return otherwise if moment is None else epoch_ms(moment)
