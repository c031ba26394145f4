"""The bound of the queue: how many instances may wait, and the refusal of further starts.

Each process counts the rows that wait and its own starts that are under way. It counts again after
`MOST_AHEAD` starts or a second, so the bound is exact for one process, and each further one can
exceed it by `MOST_AHEAD`. Starts by events, schedules and parents are never refused.

A queue that is full of others refuses nobody: a tenant may have as many rows as its share, which is
the bound divided by the tenants that wait, so that at most twice as many wait as the bound says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tenuto.ports import Clock

MOST_AHEAD = 100
"""The most starts that a process takes before it counts again."""
_COUNTED_FOR = 1.0
_FULL_FOR = 0.25
"""Seconds for which a count is used, and for which a full queue is not counted again."""


class QueueBound:
    """Lets starts through while fewer instances wait than may."""

    def __init__(
        self,
        clock: Clock,
        *,
        depth: Callable[[int], Awaitable[int]],
        share: Callable[[str, int], Awaitable[int]],
        admit: Callable[[], Awaitable[object]],
        refuse: Callable[[int], Exception],
    ) -> None:
        """`depth` counts those that wait, up to so many; `admit` admits those that can begin.

        `share` says how many more a tenant may have in a full queue with such a bound; `refuse`
        makes the error of a start where so many wait.
        """
        self._clock = clock
        self._depth = depth
        self._share = share
        self._admit = admit
        self._refuse = refuse
        self._bound = 0
        self._room = 0
        self._counted_at = float("-inf")
        self._full_until = float("-inf")
        self._shares: dict[str, int] = {}
        """While it is full: how many more each tenant may have, as far as was asked."""
        self._under_way = 0
        self._settled = asyncio.Event()
        self._counting = asyncio.Lock()

    @asynccontextmanager
    async def place(self, bound: int, tenant: str) -> AsyncIterator[None]:
        """Have a place in the queue for the length of a start; raises what `refuse` makes."""
        if not self._takes(bound, tenant):
            async with self._counting:
                if not self._takes(bound, tenant):
                    await self._count(bound, tenant)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._settled.set()

    def _takes(self, bound: int, tenant: str) -> bool:
        now = self._clock.ticks()
        if bound != self._bound:
            self._bound, self._room, self._full_until = bound, 0, float("-inf")
        if now < self._full_until:
            if self._shares.get(tenant, 1) <= 0:
                raise self._refuse(bound)
            return self._takes_share(tenant)
        if self._room <= 0 or now - self._counted_at > _COUNTED_FOR:
            return False
        self._room -= 1
        return True

    def _takes_share(self, tenant: str) -> bool:
        left = self._shares.get(tenant, 0)
        if left > 0:
            self._shares[tenant] = left - 1
        return left > 0

    async def _count(self, bound: int, tenant: str) -> None:
        has_admitted = False
        while self._clock.ticks() >= self._full_until:
            self._settled.clear()
            under_way = self._under_way
            waiting = await self._depth(bound)
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
                self._full_until = self._clock.ticks() + _FULL_FOR
                self._shares = {}
        self._shares[tenant] = await self._share(tenant, bound)
        if not self._takes_share(tenant):
            raise self._refuse(bound)
