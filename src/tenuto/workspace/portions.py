"""Pages that end by bytes as well as by rows: rows are read in portions, as many as fit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from tenuto.store.row_sizes import RowSizes
from tenuto.workspace.cursors import read_cursor, write_cursor

Row = TypeVar("Row")

MOST_BYTES = 8_000_000
"""A page ends with the row that reaches this size."""
PORTION_BYTES = 500_000
"""About so much is read at once: reads of other tenants wait for it."""
_FIRST = 8
"""How many rows are read to learn how large they are."""
_GROWTH = 8
"""How many times as many rows are read as are known: the next ones may be larger."""


class Portions:
    """How many rows of a page were read, and how large they were."""

    def __init__(self, sizes: RowSizes | None = None, kind: str = "") -> None:
        """`sizes`: what is known of earlier pages of this kind."""
        self._sizes = sizes
        self._kind = kind
        self._count = 0
        self._size = 0

    def next(self, limit: int, shown: int) -> int:
        """How many rows to read next, where so many are shown; none where the page is full.

        A page with nothing to show goes on, however much was passed over.
        """
        if shown >= limit or (shown and self._size >= MOST_BYTES):
            return 0
        if self._size >= MOST_BYTES:
            self._count = self._size = 0
        most = _FIRST
        if self._count:
            left = min(MOST_BYTES - self._size, PORTION_BYTES)
            fitting = left * self._count // (self._size + 1)
            most = min(max(fitting, 1), max(self._count, _FIRST) * _GROWTH)
        elif self._sizes and (mean := self._sizes.mean(self._kind)) is not None:
            left = min(MOST_BYTES, PORTION_BYTES)
            most = min(max(left // (mean + 1), 1), _FIRST * _GROWTH)
        return min(limit - shown, most)

    def add(self, sizes: Iterable[int]) -> None:
        """Count rows of these sizes."""
        for size in sizes:
            self._count += 1
            self._size += size
        if self._sizes is not None and self._count:
            self._sizes.keep(self._kind, self._size // self._count)


async def in_portions(
    limit: int,
    read: Callable[[int, Sequence[Row]], Awaitable[Sequence[Row]]],
    size: Callable[[Row], int],
    portions: Portions | None = None,
) -> tuple[list[Row], bool]:
    """The rows of a page, and whether there may be more.

    `read` gives up to so many rows after those of the portion before; fewer at the end of the list.
    """
    rows: list[Row] = []
    before: Sequence[Row] = ()
    portions = portions or Portions()
    while wanted := portions.next(limit, len(rows)):
        before = await read(wanted, before)
        rows += before
        portions.add(map(size, before))
        if len(before) < wanted:
            return rows, False
    return rows, True


async def page_by_name(
    limit: int,
    cursor: str | None,
    read: Callable[[str, int], Awaitable[Sequence[Row]]],
    *,
    name: Callable[[Row], str],
    size: Callable[[Row], int],
) -> tuple[list[Row], str | None]:
    """The rows of a page of a list that is ordered by name, and its cursor; None for the last page.

    `read` gives up to so many rows behind a name.
    """
    first = read_cursor(cursor, str) or ""

    async def portion(count: int, before: Sequence[Row]) -> Sequence[Row]:
        return await read(name(before[-1]) if before else first, count)

    # One more than is shown tells whether there are more.
    rows, is_cut = await in_portions(limit + 1, portion, size)
    shown = rows[:limit]
    has_more = len(rows) > len(shown) or (is_cut and bool(rows))
    return shown, write_cursor(name(shown[-1])) if has_more else None


def size_of_parts(*parts: bytes | str | None) -> int:
    """The size of a row by its large columns."""
    return 200 + sum(len(part) for part in parts if part)
