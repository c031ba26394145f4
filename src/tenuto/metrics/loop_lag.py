"""Measures the lag of the event loop: by how much a short sleep takes longer than it should."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenuto.ports import Clock

_EVERY = 0.5


class LoopLag:
    """The lag of the loop that `watch` runs in."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._worst = self._newest = 0.0

    def take(self) -> float:
        """The largest lag since the last call."""
        worst, self._worst = self._worst, self._newest
        return worst

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Measure while inside."""
        task = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            began = self._clock.ticks()
            await self._clock.sleep(_EVERY)
            self._newest = max(self._clock.ticks() - began - _EVERY, 0.0)
            self._worst = max(self._worst, self._newest)
