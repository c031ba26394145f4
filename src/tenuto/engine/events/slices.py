"""Cuts matching into slices of so many steps, between which the loop does other work."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from tenuto.engine.turns.sharing import Sharing
from tenuto.expr import Steps
from tenuto.model.errors import ProcessStops
from tenuto.model.test_run import PREFIX, is_inbox_of_test_run
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
        self.steps = Steps()
        """What all tenants have taken in this round of the event loop, or a little before."""
        self.is_ended = False
        self._of: OrderedDict[tuple[str, bool], TenantSlices] = OrderedDict()

    def of(self, tenant: str = "", *, for_answer: bool = False) -> TenantSlices:
        """Those of one tenant, for all that it has to match.

        `for_answer`: for all that it only asks about, which does not delay what it has to match.
        All test runs have the same ones: a tenant may have thousands.
        """
        key = PREFIX if is_inbox_of_test_run(tenant) else tenant, for_answer
        found = self._of.get(key)
        if found is None:
            found = self._of[key] = TenantSlices(self, key[0])
        self._of.move_to_end(key)
        if len(self._of) > MOST_TENANTS:
            self._of.popitem(last=False)
        return found

    async def begin(self) -> None:
        """Return in a round of the event loop in which nothing has begun; CancelledError."""
        async with self.beginning:
            if not self.is_ended:
                await self.clock.sleep(0)
            if self.is_ended:
                raise asyncio.CancelledError
            self.steps.taken = 0

    def end(self) -> None:
        """Begin no further slice: matching that takes long is left, to be done again."""
        self.is_ended = True

    @contextmanager
    def for_answer(self) -> Iterator[None]:
        """Say why there is no answer where matching for one was left: ProcessStops."""
        try:
            yield
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.is_ended or task is None or task.cancelling():
                raise
            raise ProcessStops("the engine stopped before all was compared") from None


class _Counted(Steps):
    """The steps of one tenant's slice, which count for all tenants together as well."""

    __slots__ = ("_all", "_taken")

    def __init__(self, together: Steps) -> None:
        self._all = together
        self._taken = 0

    @property
    def taken(self) -> int:
        return self._taken

    @taken.setter
    def taken(self, steps: int) -> None:
        self._all.taken += max(0, steps - self._taken)
        self._taken = steps


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
        self.steps: Steps = _Counted(together.steps)
        """What the slice under way has taken, by all that match: they begin together, each with a
        condition that may take all of it."""

    async def turn(self) -> None:
        """Where the slice is used up, let others go on, and begin a new one.

        CancelledError if there is none. It is asked for before work and counted in `steps` after.
        """
        if self._has_room():
            return
        async with self._turn:
            if self._has_room():
                return
            is_used_up = self.steps.taken >= STEPS
            if is_used_up:
                await self._rest()
            await self._together.begin()
            if is_used_up:
                self._began = self._together.clock.ticks()
                self.steps.taken = 0

    def _has_room(self) -> bool:
        """Whether neither this slice is used up nor what all tenants may take in a round."""
        if self._together.is_ended and self.steps.taken >= STEPS:
            raise asyncio.CancelledError
        return self.steps.taken < STEPS and self._together.steps.taken < STEPS

    async def _rest(self) -> None:
        took = self._together.clock.ticks() - self._began
        if took > _LONGEST_SLICE:
            return
        rest = self._together.sharing.rest_after(took, self._tenant, _LONGEST_REST, is_in_loop=True)
        if rest:
            await self._together.clock.sleep(rest)
