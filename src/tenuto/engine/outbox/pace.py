"""The pace of the outbox's writes: one at a time, with rests while several tenants are at work.

The store commits the turns of instances and these writes one after the other: a tenant with little
to do would otherwise wait for one of them before each of its turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from tenuto.engine.turns.sharing import Sharing
from tenuto.ports import Clock

T = TypeVar("T")


class Pace:
    """One for all writes of an outbox."""

    def __init__(self, clock: Clock, sharing: Sharing | None = None) -> None:
        self._clock = clock
        self._sharing = sharing or Sharing()
        self._writing = asyncio.Lock()

    @property
    def is_shared(self) -> bool:
        return self._sharing.is_shared

    async def write(self, write: Callable[[], Awaitable[T]], tenants: Collection[str] = ()) -> T:
        """The result of a write, as soon as there is one; then there is a rest.

        `tenants`: those whose work it is.
        """
        await self._writing.acquire()
        began = self._clock.ticks()
        try:
            return await write()
        finally:
            tenant = next(iter(tenants)) if len(tenants) == 1 else None
            seconds = self._sharing.rest_after(self._clock.ticks() - began, tenant)
            if seconds > 0:
                self._clock.call_later(seconds, self._writing.release)
            else:
                self._writing.release()
