"""Cuts matching into slices of so many steps, between which the loop does other work."""

from __future__ import annotations

import asyncio

from tenuto.expr import Steps
from tenuto.ports import Clock

STEPS = 5_000
"""The steps of a slice: about a millisecond."""


class Slices:
    """One slice at a time, however many events are being matched: others wait for one at most."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turn = asyncio.Lock()

    async def after(self, steps: Steps) -> None:
        """Let others go on, and begin a new slice."""
        steps.taken = 0
        async with self._turn:
            await self._clock.sleep(0)
