"""Virtual time: the machine's clock may be set, while the loop's time only passes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tenuto.testing.virtual_loop import VirtualLoop

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Wall:
    """The clock on the machine's wall; it outlives processes and may be set at any moment."""

    def __init__(self, begin: datetime = BEGIN) -> None:
        self._begin = begin
        self.ahead = 0.0
        """Seconds by which it differs from the time that has passed."""

    def set(self, seconds: float) -> None:
        """Put it forward, or back when negative."""
        self.ahead += seconds

    def read(self, passed: float) -> datetime:
        # Sums of floats are a hair off: round before the rest of a millisecond is cut off.
        microseconds = round((passed + self.ahead) * 1e6)
        return self._begin + timedelta(milliseconds=microseconds // 1000)


class VirtualClock:
    """The clock port of one simulated process."""

    def __init__(self, loop: VirtualLoop, wall: Wall) -> None:
        self._loop = loop
        self._wall = wall
        self._latest = LONG_AGO

    def now(self) -> datetime:
        self._latest = max(self._latest, self._wall.read(self._loop.time()))
        return self._latest

    def follow(self, moment: datetime) -> None:
        """Simulated stores have no clock of their own."""

    def not_before(self, moment: datetime) -> None:
        self._latest = max(self._latest, moment)

    def ticks(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await event.wait()
        except TimeoutError:
            return False

    def call_later(self, seconds: float, function: Callable[[], object]) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, function)
