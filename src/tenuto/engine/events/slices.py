"""Cuts matching into slices of so many steps, between which the loop does other work."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from tenuto.engine.turns.sharing import Sharing
from tenuto.expr import Steps
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock

STEPS = 5_000
"""The steps of a slice: about a millisecond."""
MOST_TENANTS = 1_000
"""So many are remembered with what their slices have taken; the newest ones."""
_LONGEST_SLICE = 0.25
"""Seconds: a slice that is older was mostly other work, of little matching at a time."""
_LONGEST_REST = 0.02
"""Seconds between two slices of a tenant, while others are at work."""


class Slices:
    """Of all tenants one slice begins in each round of the event loop."""

    def __init__(self, clock: Clock, sharing: Sharing | None = None) -> None:
        self.clock = clock
        self.sharing = sharing or Sharing()
        self.beginning = asyncio.Lock()
        self.is_ended = False
        self._of: OrderedDict[str, TenantSlices] = OrderedDict()

    def of(self, tenant: str = "") -> TenantSlices:
        """Those of one tenant, for all that it has to match."""
        found = self._of.get(tenant)
        if found is None:
            found = self._of[tenant] = TenantSlices(self, tenant)
        self._of.move_to_end(tenant)
        if len(self._of) > MOST_TENANTS:
            self._of.popitem(last=False)
        return found

    def end(self) -> None:
        """Begin no further slice: matching that takes long is left, to be done again."""
        self.is_ended = True

    @contextmanager
    def for_answer(self) -> Iterator[None]:
        """Say why there is no answer where matching for one was left: StoreUnavailable."""
        try:
            yield
        except asyncio.CancelledError:
            if not self.is_ended:
                raise
            raise StoreUnavailable("the engine stopped before all was compared") from None


class TenantSlices:
    """One slice at a time, however many events of the tenant are being matched.

    While others are at work matching has a quarter of the time: an instance is advanced in many
    rounds of the event loop, and would wait for a slice in each. The matching of others does not
    wait for this rest.
    """

    def __init__(self, together: Slices, tenant: str) -> None:
        self._together = together
        self._tenant = tenant
        self._turn = asyncio.Lock()
        self._began = together.clock.ticks()
        self.steps = Steps()
        """What the slice under way has taken, by all that match: they begin together, each with a
        condition that may take all of it."""

    async def turn(self) -> None:
        """Where the slice is used up, let others go on, and begin a new one.

        CancelledError if there is none. It is asked for before work and counted in `steps` after.
        """
        if self.steps.taken < STEPS:
            return
        async with self._turn:
            if self._together.is_ended:
                raise asyncio.CancelledError
            if self.steps.taken < STEPS:
                return
            await self._rest()
            async with self._together.beginning:
                await self._together.clock.sleep(0)
            self._began = self._together.clock.ticks()
            self.steps.taken = 0

    async def _rest(self) -> None:
        took = self._together.clock.ticks() - self._began
        if took > _LONGEST_SLICE:
            return
        if rest := self._together.sharing.rest_after(took, self._tenant, _LONGEST_REST):
            await self._together.clock.sleep(rest)
