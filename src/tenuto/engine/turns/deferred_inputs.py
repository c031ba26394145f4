"""Inputs whose consequences the store refuses: retried with growing pauses."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.loops import Loops
from tenuto.engine.turns.requests import Request
from tenuto.ports import Clock

LONGEST_PAUSE = 300.0
"""Seconds between retries, at most."""


class DeferredInputs:
    """Requests that wait to be tried again, each with a growing pause."""

    def __init__(
        self,
        clock: Clock,
        report: Callable[[Request], None],
        first_pause: float = DEFAULT_BOUNDS.first_retry,
    ) -> None:
        self._clock = clock
        self._report = report
        self._first_pause = first_pause
        self._waiting: list[tuple[float, int, Request]] = []
        self._numbers = count()
        self._hint = asyncio.Event()
        """Set when an input was added."""

    def put(self, request: Request) -> None:
        """Report it again after a pause; its sender is not answered."""
        request.future = None
        pause = min(self._first_pause * 2.0 ** min(request.setbacks, 20), LONGEST_PAUSE)
        request.setbacks += 1
        due = self._clock.ticks() + pause
        heapq.heappush(self._waiting, (due, next(self._numbers), request))
        self._hint.set()

    def let_all_go(self) -> None:
        """Drop all, since other processes may own these instances now."""
        self._waiting.clear()

    def start(self, loops: Loops) -> None:
        loops.run("deferred inputs", self._run_once, hint=self._hint)

    async def _run_once(self) -> float | None:
        """Report the inputs that are due; returns the seconds until the next one is."""
        while self._waiting and self._waiting[0][0] <= self._clock.ticks():
            self._report(heapq.heappop(self._waiting)[2])
        return self._waiting[0][0] - self._clock.ticks() if self._waiting else None
