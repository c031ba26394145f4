"""Whoever looks for what no store can keep finds nothing, since it is in no row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tenuto.store.errors import DataRefused

T = TypeVar("T")


async def looked_for(look: Awaitable[T], *, nothing: T) -> T:
    """What a look brings; `nothing` where it is for text, or a number, that is not to be kept."""
    try:
        return await look
    except DataRefused:
        return nothing


async def looked_for_each(ids: Sequence[str], look: Callable[[Sequence[str]], Awaitable[T]]) -> T:
    """What a look for several brings: one that cannot be there keeps no other from being found."""
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
