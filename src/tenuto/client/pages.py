"""Lists that are read to their end."""

from __future__ import annotations

from typing import TypeVar

from tenuto.client.connection import Connection
from tenuto.client.shapes import Page

T = TypeVar("T")

_MOST = 1_000
"""A page has no more."""


async def every(connection: Connection, path: str, page: type[Page[T]]) -> list[T]:
    """What a list has, page by page."""
    items: list[T] = []
    cursor: str | None = None
    while True:
        part = await connection.get(path, page, limit=_MOST, cursor=cursor)
        items += part.items
        cursor = part.next_cursor
        if cursor is None:
            return items
