"""Reads the log of one instance in pages of some hundred kilobytes, whatever its entries hold."""

from __future__ import annotations

from tenuto.model.log import LogRow
from tenuto.store.protocol import Parts

PAGE = 200
"""Entries of a page, where they are small."""
PAGE_BYTES = 200_000
"""A page ends with the entry that reaches this size."""
_FIRST = 8
"""How many are read to learn how large they are."""
_GROWTH = 8


class LogReader:
    """Knows how large the entries were that it has read."""

    def __init__(self, store: Parts, instance_id: str, page: int = PAGE) -> None:
        self._store = store
        self._instance_id = instance_id
        self._page = page
        self._fitting = min(_FIRST, page)

    async def entries(self, after: int) -> list[LogRow]:
        """The entries that follow one, as many as a page has; none at the end of the log."""
        rows: list[LogRow] = []
        size = 0
        while len(rows) < self._page and size < PAGE_BYTES:
            wanted = min(self._fitting, self._page - len(rows))
            last = rows[-1].seq if rows else after
            found = await self._store.instances.entries(self._instance_id, after=last, limit=wanted)
            rows += found
            size += sum(len(row.payload or b"") + len(row.error_message or "") for row in found)
            if len(found) < wanted:
                break
            fitting = max(PAGE_BYTES * len(rows) // (size + 1), 1)
            self._fitting = min(fitting, self._fitting * _GROWTH, self._page)
        return rows
