"""Bounds the instances that one origin has led to, as children or by events.

Ends and starts of this process are counted as they happen. The store is asked only with every so
many starts of an origin, and when it seems to have its most: small families are never counted, and
an origin exceeds its bound by what the processes start between two counts.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from tenuto.core import Rejection
from tenuto.model.family import origin_of
from tenuto.model.inputs import Started
from tenuto.ports import Clock

TOO_MANY = "TEN-3042"
_COUNTS = 40
"""An origin is counted about so often until it has its most."""
_FULL_SECONDS = 1.0
"""For so long an origin that had its most is not counted again."""
_MOST_KEPT = 100_000
"""The most origins that are remembered: those with the newest starts."""


class _Family:
    """What this process knows of the descendants of one origin."""

    __slots__ = ("alive", "full_until", "pending", "uncounted")

    def __init__(self) -> None:
        self.alive = 0
        """How many have not ended, about; those that were admitted count."""
        self.pending = 0
        """How many of them were admitted and are not durable yet."""
        self.uncounted = 0
        """How many were admitted since the store was asked."""
        self.full_until = 0.0


class Families:
    """Admits starts, or cuts them."""

    def __init__(
        self,
        count: Callable[[str, int], Awaitable[int]],
        clock: Clock,
        *,
        most: int,
        kept: int = _MOST_KEPT,
    ) -> None:
        """`count` counts open instances of an origin in the store, up to a number."""
        self._count = count
        self._clock = clock
        self._most = most
        self._every = max(1, most // _COUNTS)
        self._kept = kept
        self._families: OrderedDict[str, _Family] = OrderedDict()
        self._counting = asyncio.Lock()

    def admits(self, origin: str) -> bool | None:
        """Whether one more may start; None: the store has to be asked, by `admit`."""
        family = self._family(origin)
        if family.alive >= self._most:
            return False if self._clock.ticks() < family.full_until else None
        if family.uncounted >= self._every:
            return None
        family.alive += 1
        family.pending += 1
        family.uncounted += 1
        return True

    async def admit(self, origin: str) -> bool:
        """Whether one more may start; asks the store where that is due."""
        while (verdict := self.admits(origin)) is None:
            before = self._family(origin).uncounted, self._family(origin).full_until
            async with self._counting:
                family = self._family(origin)
                if before == (family.uncounted, family.full_until):
                    await self._ask(origin)
        return verdict

    def settled(self, origin: str, *, started: bool) -> None:
        """A start that was admitted is durable, or was refused for another reason."""
        family = self._families.get(origin)
        if family is not None and family.pending:
            family.pending -= 1
            if not started:
                family.alive -= 1

    def ended(self, origin: str) -> None:
        """An instance of an origin has ended."""
        family = self._families.get(origin)
        if family is not None and family.alive:
            family.alive -= 1

    def clear(self) -> None:
        """Forget all: other processes may work for them now."""
        self._families.clear()

    def refusal(self, origin: str) -> Rejection:
        """Why a start is cut."""
        message = f"instance {origin} has led to {self._most:,} instances that have not ended"
        return Rejection(code=TOO_MANY, message=message)

    async def _ask(self, origin: str) -> None:
        found = await self._count(origin, self._most + 1)
        family = self._family(origin)
        family.alive = found + family.pending
        family.uncounted = 0
        family.full_until = self._clock.ticks() + _FULL_SECONDS

    def _family(self, origin: str) -> _Family:
        family = self._families.get(origin)
        if family is None:
            family = self._families[origin] = _Family()
            if len(self._families) > self._kept:
                self._families.popitem(last=False)
        else:
            self._families.move_to_end(origin)
        return family


def origin_of_start(instance_id: str, started: Started) -> str | None:
    """The instance that a new one counts for; None: it was started from outside."""
    given = started.origin if isinstance(started.origin, str) else None
    origin = origin_of(instance_id, started.parent, given)
    return None if origin == instance_id else origin
