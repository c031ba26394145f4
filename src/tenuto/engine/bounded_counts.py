"""Bounds how many there are of something, by an approximate count for each key.

What this process adds and takes away is counted as it happens. The store is asked once a key has
had many additions here, and in a shared store with every so many of them: small keys are never
counted, and a key exceeds its bound by what the processes add between two counts.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress

from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock

_COUNTS = 40
"""A key is counted about so often until it has its most."""
_UNCOUNTED = 4
"""For so many times that share additions go on until the first count is known."""
_FULL_SECONDS = 1.0
"""For so long a key that had its most is not counted again, where counting is cheap."""
_MOST_KEPT = 100_000
"""The most keys that are remembered: those with the newest additions."""


class _Count:
    """What this process knows of one key."""

    __slots__ = ("full_until", "is_asked", "is_counted", "number", "pending", "uncounted")

    def __init__(self) -> None:
        self.number = 0
        """How many there are, about; those that were admitted count."""
        self.pending = 0
        """How many of them were admitted, and are not durable yet."""
        self.uncounted = 0
        """How many were admitted since the store was asked."""
        self.is_counted = False
        self.is_asked = False
        """Whether the store is being asked."""
        self.full_until = 0.0


class BoundedCounts:
    """Admits additions, or refuses them."""

    def __init__(
        self,
        ask: Callable[[str, int], Awaitable[int]],
        clock: Clock,
        spawn: Callable[[Coroutine[None, None, None]], object],
        *,
        most: int,
        is_shared: bool,
        kept: int = _MOST_KEPT,
        full_seconds: float = _FULL_SECONDS,
        counts_first: bool = False,
    ) -> None:
        """`ask` counts those of a key in the store, up to a number.

        `most`: the bound of each key; `is_shared`: whether other processes add too; `kept`: the
        most keys in memory; `full_seconds`: for so long a key that had its most is not counted
        again; `counts_first`: whether a key is counted before its first addition.
        """
        self._ask_store = ask
        self._clock = clock
        self._spawn = spawn
        self._is_shared = is_shared
        self.most = most
        self._every = max(1, most // _COUNTS)
        self._kept = kept
        self._full_seconds = full_seconds
        self._counts_first = counts_first
        self._counts: OrderedDict[str, _Count] = OrderedDict()
        self._asking: dict[str, asyncio.Future[None]] = {}

    def has_room(self, key: str, amount: int = 1) -> bool | None:
        """Whether so much more may be added; None: the store has to be asked first."""
        count = self._count(key)
        if self._counts_first and not count.is_counted:
            return None
        if count.number + amount > self.most:
            return False if self._clock.ticks() < count.full_until else None
        if count.uncounted >= self._every and (self._is_shared or not count.is_counted):
            if not count.is_counted and count.uncounted >= _UNCOUNTED * self._every:
                return None
            if not count.is_asked:
                # Additions go on meanwhile: a burst does not wait for the store.
                count.is_asked = True
                self._spawn(self._refresh(key))
        return True

    async def room(self, key: str) -> bool:
        """Whether one more may be added; asks the store where that is due."""
        while (verdict := self.has_room(key)) is None:
            await self._asked(key)
        return verdict

    def admits(self, key: str, amount: int = 1) -> bool | None:
        """The same as `has_room`; it counts from now on, until it is settled as pending."""
        verdict = self.has_room(key, amount)
        if verdict:
            self._count(key).pending += amount
            self.added(key, amount)
        return verdict

    async def admit(self, key: str, amount: int = 1) -> bool:
        """The same as `admits`; asks the store where that is due."""
        while (verdict := self.admits(key, amount)) is None:
            await self._asked(key)
        return verdict

    def added(self, key: str, amount: int = 1) -> None:
        """There is so much more."""
        count = self._counts.get(key)
        if count is None:
            count = self._count(key)
        count.number += amount
        count.uncounted += amount

    def settled(self, key: str, amount: int = 1, *, added: bool) -> None:
        """What was admitted is durable, or was refused for another reason."""
        count = self._counts.get(key)
        if count is not None and count.pending >= amount:
            count.pending -= amount
            if not added:
                count.number -= amount

    def ended(self, key: str, amount: int = 1) -> None:
        """There is so much less."""
        count = self._counts.get(key)
        if count is not None:
            count.number = max(count.number - amount, 0)

    def known(self, key: str) -> int:
        """How many there are, as far as is known here."""
        count = self._counts.get(key)
        return 0 if count is None else count.number

    def clear(self) -> None:
        """Forget all: other processes may work for them now."""
        self._counts.clear()

    def above(self, share: float) -> dict[str, int]:
        """The keys that have more than a share of their bound, as far as is known here."""
        least = self.most * share
        return {key: each.number for key, each in self._counts.items() if each.number > least}

    async def _asked(self, key: str) -> None:
        """Count once for all that wait; where that fails, another of them tries."""
        asking = self._asking.get(key)
        await (self._ask(key) if asking is None else asyncio.shield(asking))

    async def _ask(self, key: str) -> None:
        self._asking[key] = asking = asyncio.get_running_loop().create_future()
        try:
            found = await self._ask_store(key, self.most + 1)
            count = self._count(key)
            # Of those that are pending some may have been counted: there are at least those that
            # were found, and at most all of them. In between what was seen here is exact.
            count.number = max(found, min(count.number, found + count.pending))
            count.uncounted, count.is_counted = 0, True
            count.full_until = self._clock.ticks() + self._full_seconds
        finally:
            self._count(key).is_asked = False
            self._asking.pop(key, None)
            asking.set_result(None)

    async def _refresh(self, key: str) -> None:
        with suppress(StoreUnavailable):
            await self._asked(key)

    def _count(self, key: str) -> _Count:
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = _Count()
            if len(self._counts) > self._kept:
                self._counts.popitem(last=False)
        else:
            self._counts.move_to_end(key)
        return count
