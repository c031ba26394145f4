"""The bound of the queue: how many instances may wait, and the refusal of further starts.

Each process counts the rows that wait and its own starts that are under way. It counts again after
`MOST_AHEAD` starts or a second, so the bound is exact for one process. What the others have under
way is no row yet, so that each further process can exceed the bound by as many starts as it has
under way, and `MOST_AHEAD`. Starts by events, schedules and parents are never refused.

A queue that is full of others does not refuse a tenant at once: it may have its share, which is the
bound divided by the tenants that wait, until twice as many wait as the bound says.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Protocol

from tenuto.ports import Clock

MOST_AHEAD = 100
"""The most starts that a process takes before it counts again."""
_COUNTED_FOR = 1.0
_FULL_FOR = 0.25
"""Seconds for which a count is used, and for which a full queue is not counted again."""


class Waiting(Protocol):
    """What is known of instances that wait for slots."""

    async def depth(self, most: int) -> int:
        """How many of all tenants wait, up to so many."""
        ...

    async def depth_of(self, tenant: str, most: int) -> int:
        """How many of a tenant wait, up to so many."""
        ...

    async def waiting_tenants(self) -> Collection[str]:
        """The tenants of which some wait."""
        ...


class QueueBound:
    """Lets starts through while fewer instances wait than may."""

    def __init__(
        self,
        clock: Clock,
        waiting: Waiting,
        *,
        admit: Callable[[], Awaitable[object]],
        refuse: Callable[[int], Exception],
    ) -> None:
        """`admit` admits those that can begin; `refuse` makes the error of a start."""
        self._clock = clock
        self._waiting = waiting
        self._admit = admit
        self._refuse = refuse
        self._bound = 0
        self._room = 0
        self._counted_at = float("-inf")
        self._full_until = float("-inf")
        self._tenants: Collection[str] = ()
        """While it is full: the tenants of which instances wait."""
        self._more = 0
        """While it is full: how many more may wait beyond the bound, of all tenants."""
        self._shares: dict[str, int] = {}
        """While it is full: how many more each tenant may have, as far as was asked."""
        self._under_way = Counter[str]()
        """Starts by tenant."""
        self._settled = asyncio.Event()
        self._counting = asyncio.Lock()

    @asynccontextmanager
    async def place(self, bound: int, tenant: str) -> AsyncIterator[None]:
        """Have a place in the queue for the length of a start; raises what `refuse` makes."""
        if not self._takes(bound, tenant):
            async with self._counting:
                if not self._takes(bound, tenant):
                    await self._count(bound, tenant)
        self._under_way[tenant] += 1
        try:
            yield
        finally:
            self._under_way -= Counter((tenant,))
            self._settled.set()

    def _takes(self, bound: int, tenant: str) -> bool:
        now = self._clock.ticks()
        if bound != self._bound:
            self._bound, self._room, self._full_until = bound, 0, float("-inf")
        if now < self._full_until:
            if tenant not in self._shares:
                return False
            if not self._takes_share(tenant):
                raise self._refuse(bound)
            return True
        if self._room <= 0 or now - self._counted_at > _COUNTED_FOR:
            return False
        self._room -= 1
        return True

    def _takes_share(self, tenant: str) -> bool:
        if self._shares[tenant] <= 0 or self._more <= 0:
            return False
        self._shares[tenant] -= 1
        self._more -= 1
        return True

    async def _count(self, bound: int, tenant: str) -> None:
        has_admitted = False
        while self._clock.ticks() >= self._full_until:
            self._settled.clear()
            under_way = self._under_way.total()
            waiting = await self._waiting.depth(2 * bound)
            room = bound - waiting - under_way
            if room > 0:
                self._room = min(room, MOST_AHEAD) - 1
                self._counted_at = self._clock.ticks()
                return
            if waiting < bound and self._under_way:
                # One that is under way may be refused, or begin at once.
                await self._settled.wait()
            elif not has_admitted:
                has_admitted = True
                await self._admit()
            else:
                self._tenants = await self._waiting.waiting_tenants()
                self._more = 2 * bound - waiting - under_way
                self._shares = {}
                self._full_until = self._clock.ticks() + _FULL_FOR
        share = max(1, bound // len({*self._tenants, tenant}))
        there = await self._waiting.depth_of(tenant, share)
        self._shares[tenant] = share - there - self._under_way[tenant]
        if not self._takes_share(tenant):
            raise self._refuse(bound)
