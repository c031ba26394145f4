"""The pace of the outbox's writes: one at a time, with rests while several tenants are at work.

The store commits the turns of instances and these writes one after the other: a tenant with little
to do would otherwise wait for one of them before each of its turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenuto.ports import Clock

T = TypeVar("T")

_LONGEST_REST = 0.1
"""Seconds: a slow store is no fault of a tenant."""


class Pace:
    """One for all writes of an outbox."""

    def __init__(self, clock: Clock, is_shared: Callable[[], bool] = lambda: False) -> None:
        """`is_shared`: whether several tenants are at work."""
        self._clock = clock
        self._is_shared = is_shared
        self._writing = asyncio.Lock()

    @property
    def is_shared(self) -> bool:
        return self._is_shared()

    async def write(self, write: Callable[[], Awaitable[T]]) -> T:
        """The result of a write, as soon as there is one; the next rests as long as this took."""
        await self._writing.acquire()
        began = self._clock.ticks()
        try:
            return await write()
        finally:
            seconds = min(self._clock.ticks() - began, _LONGEST_REST)
            if seconds > 0 and self.is_shared:
                self._clock.call_later(seconds, self._writing.release)
            else:
                self._writing.release()
