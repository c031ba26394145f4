"""Lists are read page by page, and no further than they are wanted."""

from __future__ import annotations

import pytest

from tenuto.client.pages import every, up_to
from tenuto.workspace.values import Page

pytestmark = pytest.mark.asyncio


class Numbers:
    """A list of numbers, which notes the pages that it was asked for."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.asked: list[tuple[int, str | None]] = []

    async def pages(self, *, limit: int = 100, cursor: str | None = None) -> Page[int]:
        self.asked.append((limit, cursor))
        first = int(cursor or 0)
        after = min(first + limit, self.length)
        return Page(
            items=list(range(first, after)), next_cursor=str(after) if after < self.length else None
        )


async def test_no_more_is_asked_for_than_is_wanted() -> None:
    numbers = Numbers(5_000)
    assert await up_to(10, numbers.pages) == list(range(10))
    assert numbers.asked == [(10, None)]


async def test_a_limit_above_a_page_takes_several() -> None:
    numbers = Numbers(5_000)
    assert await up_to(1_500, numbers.pages) == list(range(1_500))
    assert numbers.asked == [(1_000, None), (500, "1000")]


async def test_items_that_are_not_wanted_are_passed_over_until_there_are_enough() -> None:
    numbers = Numbers(5_000)
    assert await up_to(10, numbers.pages, lambda each: each >= 1_500) == list(range(1_500, 1_510))
    assert numbers.asked == [(1_000, None), (1_000, "1000")]


async def test_everything_is_read_to_its_end() -> None:
    numbers = Numbers(2_001)
    assert len(await every(numbers.pages)) == 2_001
    assert len(numbers.asked) == 3
