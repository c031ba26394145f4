"""Reads by values that no store can keep, such as text with a NUL: they find nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tenuto.store.errors import DataRefused

T = TypeVar("T")


async def looked_for(look: Awaitable[T], *, nothing: T) -> T:
    """The result of a read; `nothing` if it searches for text or a number that cannot be stored."""
    try:
        return await look
    except DataRefused:
        return nothing


async def looked_for_each(ids: Sequence[str], look: Callable[[Sequence[str]], Awaitable[T]]) -> T:
    """The result of a read by several ids: an id that cannot be stored does not hide the others."""
    try:
        return await look(ids)
    except DataRefused:
        return await look([id for id in ids if _is_text(id)])


def _is_text(id: str) -> bool:
    try:
        id.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in id
