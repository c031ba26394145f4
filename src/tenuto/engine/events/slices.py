"""Cuts matching into slices of so many steps, between which the loop does other work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenuto.expr import Steps
from tenuto.ports import Clock

STEPS = 5_000
"""The steps of a slice: about a millisecond."""
_LONGEST_REST = 0.005
"""Seconds between two slices, while several tenants are at work."""


class Slices:
    """One slice at a time, however many events are being matched: others wait for one at most.

    While several tenants are at work matching has half of the time: an instance is advanced in many
    rounds of the event loop, and would wait for a slice in each.
    """

    def __init__(self, clock: Clock, is_shared: Callable[[], bool] = lambda: False) -> None:
        """`is_shared`: whether several tenants are at work."""
        self._clock = clock
        self._is_shared = is_shared
        self._turn = asyncio.Lock()
        self._began = clock.ticks()
        self._is_ended = False

    def end(self) -> None:
        """Begin no further slice: matching that takes long is left, to be done again."""
        self._is_ended = True

    async def after(self, steps: Steps) -> None:
        """Let others go on, and begin a new slice; CancelledError where there is none."""
        steps.taken = 0
        async with self._turn:
            if self._is_ended:
                raise asyncio.CancelledError
            took = self._clock.ticks() - self._began
            await self._clock.sleep(min(took, _LONGEST_REST) if self._is_shared() else 0)
            self._began = self._clock.ticks()
