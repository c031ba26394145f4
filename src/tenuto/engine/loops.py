"""Background work: named loops that run one pass at a time, and single tasks beside them.

A loop that dies stops the engine and is logged as critical. One that meets an unavailable store, or
whose data the store refuses, does not die: it tries again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from tenuto.engine.outage import Outage
from tenuto.model.errors import StoreUnavailable
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock
from tenuto.store.errors import DataRefused

log = logging.getLogger("tenuto.engine")

T = TypeVar("T")

REFUSED_RETRY_SECONDS = 10.0
"""Seconds until a pass is made again whose data the store has refused."""


class Loops:
    """Starts named loops and ends them together."""

    def __init__(
        self, clock: Clock, outage: Outage, died: Callable[[str, BaseException], None]
    ) -> None:
        self._clock = clock
        self._outage = outage
        self._died = died
        self._tasks: list[asyncio.Task[None]] = []
        self.refused: set[str] = set()
        """The loops that stand still: the store refuses what they write."""

    def start(self, name: str, loop: Coroutine[None, None, None]) -> None:
        """Run a coroutine that never returns."""
        task = asyncio.get_running_loop().create_task(loop, name=f"tenuto {name}")
        task.add_done_callback(lambda done: self._ended(name, done))
        self._tasks.append(task)

    def run(
        self,
        name: str,
        once: Callable[[], Awaitable[float | None]],
        *,
        hint: asyncio.Event,
        first: float | None = 0.0,
        again: float = OUTAGE_RETRY_SECONDS,
    ) -> None:
        """Repeat a pass that returns the seconds until the next one; None waits for the hint.

        A hint starts the next pass at once. `first`: seconds until the first pass. `again`: seconds
        until the next pass after one that met an unavailable store.
        """
        self.start(name, self._running(name, once, hint, first, again))

    def tick(
        self,
        name: str,
        seconds: float,
        once: Callable[[], Awaitable[object]],
        *,
        hint: asyncio.Event | None = None,
        again: float | None = None,
    ) -> None:
        """Repeat a pass every so many seconds, and after each hint."""

        async def paced() -> float:
            await once()
            return seconds

        self.run(name, paced, hint=hint or asyncio.Event(), first=seconds, again=again or seconds)

    async def stop(self) -> None:
        """End every loop."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _running(
        self,
        name: str,
        once: Callable[[], Awaitable[float | None]],
        hint: asyncio.Event,
        pause: float | None,
        again: float,
    ) -> None:
        while True:
            if pause is None:
                await hint.wait()
            elif pause > 0:
                await self._clock.wait(hint, pause)
            else:
                # A pass that awaits nothing must not keep the event loop from others.
                await self._clock.sleep(0)
            hint.clear()
            try:
                pause = await once()
            except StoreUnavailable as error:
                self._outage.noticed(name, error)
                pause = again
            except DataRefused:
                # One row that cannot be written must not end the work on all others. Hints do not
                # shorten the pause, so that the log is not flooded.
                self.refused.add(name)
                log.critical("the store refuses what the loop %s writes", name, exc_info=True)
                await self._clock.sleep(max(again, REFUSED_RETRY_SECONDS))
                pause = 0.0
            else:
                self.refused.discard(name)
                self._outage.worked(name)

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.critical("the loop %s died", name, exc_info=error)
            self._died(name, error)


class BackgroundTasks:
    """Single tasks that go on without a caller, such as look-backs and the matching of events."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[None, None, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def ended(self) -> None:
        """Wait until those that run now have ended."""
        await asyncio.wait(self._tasks)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def stop(self) -> None:
        """Cancel all, and wait until they have ended."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
