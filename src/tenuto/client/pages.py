"""Lists that are read page by page."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from tenuto.workspace.values import MOST_ITEMS, Page

T = TypeVar("T")


class Pages(Protocol[T]):
    """An operation that lists."""

    def __call__(self, *, limit: int = 100, cursor: str | None = None) -> Awaitable[Page[T]]: ...


async def every(pages: Pages[T]) -> list[T]:
    """All items of a list, page by page."""
    return await up_to(sys.maxsize, pages)


async def up_to(limit: int, pages: Pages[T], wanted: Callable[[T], bool] | None = None) -> list[T]:
    """The first so many items of a list, or of those that are `wanted`, page by page."""
    items: list[T] = []
    cursor: str | None = None
    while True:
        size = MOST_ITEMS if wanted is not None else min(limit - len(items), MOST_ITEMS)
        page = await pages(limit=size, cursor=cursor)
        items += filter(wanted, page.items) if wanted is not None else page.items
        cursor = page.next_cursor
        if cursor is None or len(items) >= limit:
            return items[:limit]
