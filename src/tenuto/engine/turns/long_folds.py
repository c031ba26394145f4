"""Folds logs for those who look at instances: in parts, one log of a tenant at a time.

A log may have tens of thousands of entries, and each look at its instance folds all of them where
the state is too heavy to be kept. Meanwhile the loop goes on, and while other tenants are at work
looks rest as other large work does. Turns do not rest: other instances of their lane wait for them.
Logs that are not long have a line of their own, and do not wait for the long ones of their tenant.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from tenuto.engine.turns.sharing import Sharing
from tenuto.model.errors import Overloaded, TenutoError
from tenuto.ports import Clock

Found = TypeVar("Found")

_MOST_WAITING = 20
"""The most long logs of a tenant that are folded or wait for it: their rows are in memory."""
_MOST_BYTES = 100_000_000
"""The most bytes of other logs of a tenant that wait: a page may look at many of them."""
_LONGEST_REST = 0.02


class LongFolds(Generic[Found]):
    """One for all lanes of a process."""

    def __init__(self, clock: Clock, sharing: Sharing) -> None:
        self._clock = clock
        self._sharing = sharing
        self._locks: WeakValueDictionary[tuple[str, bool], asyncio.Lock] = WeakValueDictionary()
        self._counts: Counter[str] = Counter()
        """How many long logs of each tenant are folded or wait."""
        self._bytes: Counter[str] = Counter()
        """The bytes of the others."""
        self._under_way: dict[tuple[str, int], asyncio.Task[Found]] = {}
        self._left: TenutoError | None = None
        """Why nothing is folded any more."""

    def begin(
        self,
        tenant: str,
        id: str,
        version: int,
        fold: Callable[[], Awaitable[Found]],
        *,
        short: int | None = None,
    ) -> asyncio.Task[Found]:
        """Fold the log of an instance up to a version, or join in where that is done already.

        `short`: the bytes of a log that is not long. Overloaded, when it is awaited, where its
        tenant has too many.
        """
        if self._left is not None:
            raise self._left
        place = id, version
        if (known := self._under_way.get(place)) is not None:
            return known
        task = asyncio.ensure_future(self._in_turn(tenant, fold, short))
        self._under_way[place] = task

        def ended(ended: asyncio.Task[Found]) -> None:
            del self._under_way[place]
            if not ended.cancelled():
                # Or its error is reported where nobody waited for it any more.
                _ = ended.exception()

        task.add_done_callback(ended)
        return task

    async def outcome(self, task: asyncio.Task[Found]) -> Found:
        """What one finds, for one of those that wait for it."""
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if self._left is None or (waiting is not None and waiting.cancelling()):
                raise
            raise self._left from None

    async def stop(self, error: TenutoError) -> None:
        """End those under way, and refuse others, with `error`: the store is about to close."""
        self._left = error
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def now(self) -> float:
        """When a first part begins."""
        return self._clock.ticks()

    async def pause(self, began: float, tenant: str | None) -> float:
        """Let others go on after a part that began then; returns when the next one begins.

        `tenant`: the one that looks; None where a turn waits, which does not rest.
        """
        rest = 0.0
        if tenant is not None:
            took = self._clock.ticks() - began
            rest = self._sharing.rest_after(took, tenant, _LONGEST_REST, is_in_loop=True)
        await self._clock.sleep(rest)
        return self._clock.ticks()

    async def _in_turn(
        self, tenant: str, fold: Callable[[], Awaitable[Found]], short: int | None
    ) -> Found:
        is_long = short is None
        counts, most = (self._counts, _MOST_WAITING) if is_long else (self._bytes, _MOST_BYTES)
        if counts[tenant] >= most:
            raise Overloaded("too many instances with long logs are being read")
        counts[tenant] += 1 if short is None else short
        lock = self._locks.setdefault((tenant, is_long), asyncio.Lock())
        try:
            async with lock:
                return await fold()
        finally:
            counts[tenant] -= 1 if short is None else short
            if not counts[tenant]:
                del counts[tenant]
