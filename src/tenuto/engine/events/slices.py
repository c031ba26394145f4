"""Cuts matching into slices of so many steps, between which the loop does other work."""

from __future__ import annotations

import asyncio

from tenuto.engine.turns.sharing import Sharing
from tenuto.expr import Steps
from tenuto.ports import Clock

STEPS = 5_000
"""The steps of a slice: about a millisecond."""
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

    def end(self) -> None:
        """Begin no further slice: matching that takes long is left, to be done again."""
        self._is_ended = True

    async def after(self, steps: Steps, tenant: str = "") -> None:
        """Let others go on, and begin a new slice of a tenant; CancelledError if there is none."""
        steps.taken = 0
        async with self._turn:
            if self._is_ended:
                raise asyncio.CancelledError
            took = self._clock.ticks() - self._began
            await self._clock.sleep(self._sharing.rest_after(took, tenant, _LONGEST_REST))
            self._began = self._clock.ticks()
