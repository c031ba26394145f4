"""The loop behind the outbox: empties it, and has sent what is due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime

from tenuto.engine.outage import Outage
from tenuto.engine.outbox.deliverer import Deliverer
from tenuto.engine.outbox.drainer import Drainer
from tenuto.model.errors import Overloaded, StoreUnavailable
from tenuto.model.policy import BAD_WEATHER
from tenuto.ports import Clock
from tenuto.store.errors import Fenced

log = logging.getLogger("tenuto.outbox")

_LOOK_ALL_THE_SAME = 30.0
"""Seconds after which the outbox is looked into though nobody listens."""


class Telling:
    """Tells those who listen."""

    def __init__(
        self,
        *,
        drainer: Drainer,
        deliverer: Deliverer | None,
        clock: Clock,
        outage: Outage,
        process_id: Callable[[], str],
        fenced: Callable[[str], Awaitable[None]],
    ) -> None:
        """`fenced`: the store took the process of that id for dead."""
        self._process_id = process_id
        self.drainer = drainer
        self._deliverer = deliverer
        self._clock = clock
        self._outage = outage
        self._fenced = fenced
        self._hint = asyncio.Event()
        self._passing = asyncio.Lock()

    def hint(self) -> None:
        """There may be something to tell, or somebody to tell it to."""
        self._hint.set()

    async def run(self, every: float) -> None:
        """Look so often, and whenever hinted at; where nobody listens, only whether they do."""
        look_by = 0.0
        while True:
            self._hint.clear()
            pause = every
            process_id = self._process_id()
            try:
                if self._clock.ticks() >= look_by or not await self.drainer.is_quiet():
                    next_due = await self.run_once()
                    pause = self._until(next_due, every)
                    look_by = self._clock.ticks() + _LOOK_ALL_THE_SAME
            except Fenced:
                await self._fenced(process_id)
                self._hint.set()
            except StoreUnavailable as error:
                self._outage.met("outbox", error)
                pause = BAD_WEATHER
            except Overloaded as error:
                log.warning("what there is to tell has to wait: %s", error)
                pause = BAD_WEATHER
            await self._clock.wait(self._hint, pause)

    async def run_once(self) -> datetime | None:
        """Tell what there is; when something else is due."""
        async with self._passing:
            while True:
                # In turn: whatever goes on coming, what is there goes out.
                is_more = await self.drainer.run_once()
                due = None if self._deliverer is None else await self._deliverer.run_once()
                if not is_more:
                    moments = (due, self.drainer.next_try)
                    return min((each for each in moments if each is not None), default=None)

    async def finish(self, seconds: float) -> None:
        """Have sent what can be, for so long at most: the rest is sent by whoever goes on."""
        if not self.drainer.is_listened_to or self._deliverer is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await self.run_once()
                while self._deliverer.is_sending:
                    await self._deliverer.answered()
                    await self.run_once()
        except (TimeoutError, StoreUnavailable, Overloaded, Fenced) as error:
            log.info("what is left to tell is told later: %r", error)

    async def stop(self) -> None:
        """Send nothing more."""
        if self._deliverer is not None:
            await self._deliverer.stop()

    def _until(self, due: datetime | None, at_most: float) -> float:
        if due is None:
            return at_most
        return min(at_most, max(0.0, (due - self._clock.now()).total_seconds()))
