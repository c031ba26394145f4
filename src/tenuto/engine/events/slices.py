"""Cuts matching into slices of so many steps, between which the loop does other work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tenuto.engine.turns.sharing import Sharing
from tenuto.expr import Steps
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock

STEPS = 5_000
"""The steps of a slice: about a millisecond."""
_LONGEST_SLICE = 0.25
"""Seconds: a slice that is older was mostly other work, of little matching at a time."""
_LONGEST_REST = 0.02
"""Seconds between two slices, while others are at work."""


class Slices:
    """One slice at a time, however many events are being matched: others wait for one at most.

    While others are at work matching has a quarter of the time: an instance is advanced in many
    rounds of the event loop, and would wait for a slice in each.
    """

    def __init__(self, clock: Clock, sharing: Sharing | None = None) -> None:
        self._clock = clock
        self._sharing = sharing or Sharing()
        self._turn = asyncio.Lock()
        self._began = clock.ticks()
        self._is_ended = False
        self.steps = Steps()
        """What the slice under way has taken, by all that match: they begin together, each with a
        condition that may take all of it."""

    def end(self) -> None:
        """Begin no further slice: matching that takes long is left, to be done again."""
        self._is_ended = True

    @contextmanager
    def for_answer(self) -> Iterator[None]:
        """Say why there is no answer where matching for one was left: StoreUnavailable."""
        try:
            yield
        except asyncio.CancelledError:
            if not self._is_ended:
                raise
            raise StoreUnavailable("the engine stopped before all was compared") from None

    async def turn(self, tenant: str = "") -> None:
        """Where the slice is used up, let others go on, and begin a new one of a tenant.

        CancelledError if there is none. It is asked for before work and counted in `steps` after.
        """
        if self.steps.taken < STEPS:
            return
        async with self._turn:
            if self._is_ended:
                raise asyncio.CancelledError
            if self.steps.taken < STEPS:
                return
            took = self._clock.ticks() - self._began
            if took > _LONGEST_SLICE:
                took = 0.0
            await self._clock.sleep(self._sharing.rest_after(took, tenant, _LONGEST_REST))
            self._began = self._clock.ticks()
            self.steps.taken = 0
