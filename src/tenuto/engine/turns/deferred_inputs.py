"""Inputs whose consequences the store refuses, whatever is said of them: tried ever less often."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

from tenuto.engine.turns.requests import Request
from tenuto.ports import Clock

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until such an input is tried again; twice as many each time."""


class Later:
    """Requests that were set aside, each with a pause that grows."""

    def __init__(self, clock: Clock, report: Callable[[Request], None]) -> None:
        self._clock = clock
        self._report = report
        self._waiting: list[tuple[float, int, Request]] = []
        self._numbers = count()
        self._wake = asyncio.Event()

    def put(self, request: Request) -> None:
        """Report it again after a pause; nobody waits for its answer that long."""
        request.future = None
        pause = min(FIRST_PAUSE * 2.0 ** min(request.setbacks, 20), LONGEST_PAUSE)
        request.setbacks += 1
        due = self._clock.ticks() + pause
        heapq.heappush(self._waiting, (due, next(self._numbers), request))
        self._wake.set()

    def let_all_go(self) -> None:
        """What this process had set aside may be another's now."""
        self._waiting.clear()

    async def run(self) -> None:
        """Report what was set aside until cancelled."""
        while True:
            self._wake.clear()
            while self._waiting and self._waiting[0][0] <= self._clock.ticks():
                self._report(heapq.heappop(self._waiting)[2])
            if self._waiting:
                await self._clock.wait(self._wake, self._waiting[0][0] - self._clock.ticks())
            else:
                await self._wake.wait()
