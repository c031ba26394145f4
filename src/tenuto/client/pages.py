"""Lists that are read to their end."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, TypeVar

from tenuto.workspace.values import Page

T = TypeVar("T")

MOST = 1_000
"""A page has no more."""


class Pages(Protocol[T]):
    """An operation that lists."""

    def __call__(self, *, limit: int = 100, cursor: str | None = None) -> Awaitable[Page[T]]: ...


async def every(pages: Pages[T]) -> list[T]:
    """All items of a list, page by page."""
    items: list[T] = []
    cursor: str | None = None
    while True:
        page = await pages(limit=MOST, cursor=cursor)
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items


async def up_to(limit: int, pages: Pages[T]) -> list[T]:
    """The first so many items of a list, page by page."""
    items: list[T] = []
    cursor: str | None = None
    while True:
        page = await pages(limit=min(limit - len(items), MOST), cursor=cursor)
        items += page.items
        cursor = page.next_cursor
        if cursor is None or len(items) >= limit:
            return items
