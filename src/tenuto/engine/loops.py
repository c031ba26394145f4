"""Background loops: a pass at a time, named, watched; one that dies stops the engine loudly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from tenuto.engine.outage import Outage
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock

log = logging.getLogger("tenuto.engine")


class Loops:
    """Starts named loops and ends them together."""

    def __init__(
        self, clock: Clock, outage: Outage, died: Callable[[str, BaseException], None]
    ) -> None:
        self._clock = clock
        self._outage = outage
        self._died = died
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, loop: Coroutine[None, None, None]) -> None:
        """Run a loop that ticks by itself."""
        task = asyncio.get_running_loop().create_task(loop, name=f"tenuto {name}")
        task.add_done_callback(lambda done: self._ended(name, done))
        self._tasks.append(task)

    def tick(
        self,
        name: str,
        seconds: float,
        once: Callable[[], Awaitable[object]],
        hint: asyncio.Event | None = None,
        again: float | None = None,
    ) -> None:
        """Run one pass every so often, or when hinted at; a store that is away is waited for.

        After a pass for which it was away the next one comes `again` seconds later, if that is
        another time than usual.
        """
        self.start(name, self._ticking(name, seconds, once, hint, again or seconds))

    async def stop(self) -> None:
        """End every loop."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ticking(
        self,
        name: str,
        seconds: float,
        once: Callable[[], Awaitable[object]],
        hint: asyncio.Event | None,
        again: float,
    ) -> None:
        pause = seconds
        while True:
            if hint is None:
                await self._clock.sleep(pause)
            else:
                await self._clock.wait(hint, pause)
                hint.clear()
            pause = seconds
            try:
                await once()
            except StoreUnavailable as error:
                self._outage.noticed(name, error)
                pause = again
            else:
                self._outage.worked(name)

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.critical("the loop %s died", name, exc_info=error)
            self._died(name, error)
