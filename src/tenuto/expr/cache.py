"""A cache of compiled sources that bounds the memory of long ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Final, TypeVar

Made = TypeVar("Made")
Key = TypeVar("Key", bound=Hashable)

# A compiled expression takes about 200 times its source. So that a cache full of the largest fits
# into some hundred megabytes, long sources, which are rare, have a small cache of their own.
_SHORT: Final = 256
_SHORT_KEPT: Final = 2048
_LONG_KEPT: Final = 64


def kept(make: Callable[[str, Key], Made]) -> Callable[[str, Key], Made]:
    """`make`, which remembers what it made last for short sources and for long ones."""
    short = lru_cache(maxsize=_SHORT_KEPT)(make)
    long = lru_cache(maxsize=_LONG_KEPT)(make)

    def made(source: str, key: Key) -> Made:
        return (short if len(source) <= _SHORT else long)(source, key)

    return made
