"""Tests that a page is bounded by bytes as well as by rows, from the first read on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tenuto.store.row_sizes import RowSizes
from tenuto.workspace.portions import MOST_BYTES, Portions, in_portions

pytestmark = pytest.mark.asyncio


async def pages(
    sizes: Sequence[int], limit: int, known: RowSizes | None = None
) -> tuple[list[int], int, int]:
    """The rows of each page until the end; the reads; the largest sum of one read."""
    shown: list[int] = []
    reads, largest, start = 0, 0, 0
    has_more = True
    while has_more:

        async def read(count: int, before: Sequence[int], first: int = start) -> Sequence[int]:
            nonlocal reads, largest
            begin = before[-1] + 1 if before else first
            found = range(len(sizes))[begin : begin + count]
            reads += 1
            largest = max(largest, sum(sizes[each] for each in found))
            return found

        portions = Portions(known, "rows")
        rows, has_more = await in_portions(limit, read, lambda each: sizes[each], portions)
        assert rows == list(range(start, start + len(rows)))
        shown.append(len(rows))
        start += len(rows)
    assert start == len(sizes)
    return shown, reads, largest


async def test_a_page_of_large_rows_ends_early_and_the_next_goes_on() -> None:
    shown, _, largest = await pages([1_000_000] * 400, limit=1_000)
    assert max(shown) <= MOST_BYTES // 1_000_000
    assert largest <= MOST_BYTES


async def test_rows_that_grow_do_not_fill_the_memory() -> None:
    _, _, largest = await pages([10] * 8 + [1_000_000] * 400, limit=1_000)
    assert largest <= 64 * 1_000_000


async def test_a_page_of_small_rows_takes_few_reads() -> None:
    shown, reads, _ = await pages([500] * 1_000, limit=1_000)
    assert (shown[0], reads) == (1_000, 5)


async def test_a_row_that_is_larger_than_a_page_is_shown() -> None:
    shown, _, _ = await pages([2 * MOST_BYTES] * 20, limit=100)
    assert sum(shown) == 20


async def test_a_second_page_of_small_rows_is_one_read() -> None:
    known = RowSizes()
    _, first, _ = await pages([500] * 49, 50, known)
    _, second, _ = await pages([500] * 49, 50, known)
    assert (first, second) == (2, 1)


async def test_large_rows_after_small_pages_do_not_fill_the_memory() -> None:
    known = RowSizes()
    await pages([10] * 100, 100, known)
    _, _, largest = await pages([1_000_000] * 400, 1_000, known)
    assert largest <= 64 * 1_000_000
