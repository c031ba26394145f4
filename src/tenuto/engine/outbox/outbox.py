"""The outbox part of an engine: drains notifications, and delivers those for webhooks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from tenuto.engine.events.slices import Slices
from tenuto.engine.loops import Loops
from tenuto.engine.outbox.deliverer import Deliverer
from tenuto.engine.outbox.drainer import Drainer
from tenuto.engine.outbox.pace import Pace
from tenuto.engine.shared import Shared
from tenuto.engine.turns.draft import Draft
from tenuto.model.errors import Overloaded, StoreUnavailable
from tenuto.model.events import Event
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock, Sender
from tenuto.store.errors import Fenced
from tenuto.store.parts.turns import EventResult

log = logging.getLogger("tenuto.outbox")

_LOOK_ALL_THE_SAME = 30.0
"""Seconds after which the outbox is read though there are no subscribers."""


class Outbox:
    """Notifies workflows and webhooks of lifecycle changes and of events."""

    def __init__(
        self,
        *,
        drainer: Drainer,
        deliverer: Deliverer | None,
        clock: Clock,
        process_id: Callable[[], str],
        fenced: Callable[[str], Awaitable[None]],
        every: float = 2.0,
        hint: asyncio.Event | None = None,
    ) -> None:
        """`every`: seconds between passes. `fenced`: the store has declared the process dead."""
        self._process_id = process_id
        self.drainer = drainer
        self._deliverer = deliverer
        self._clock = clock
        self._fenced = fenced
        self._hint = hint or asyncio.Event()
        self._passing = asyncio.Lock()
        self._every = every
        self._look_by = 0.0
        self._adding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @classmethod
    def of(
        cls,
        shared: Shared,
        sender: Sender | None,
        *,
        publish: Callable[[Event], Awaitable[EventResult]],
        process_id: Callable[[], str],
        fenced: Callable[[str], Awaitable[None]],
    ) -> Outbox:
        """The outbox of an engine; without a `sender` deliveries wait for a process that has one.

        `publish` puts an event into the inbox.
        """
        store, clock, settings = shared.store, shared.clock, shared.settings
        pace = Pace(clock, shared.sharing)
        deliverer = None
        if sender is not None:
            deliverer = Deliverer(
                store=store,
                clock=clock,
                sender=sender,
                seconds=settings.webhook_timeout,
                disable_after=timedelta(seconds=settings.disable_webhooks_after),
                again=shared.outbox_hint.set,
                bounds=settings.bounds,
                pace=pace,
            )
        drainer = Drainer(
            store=store,
            clock=clock,
            publish=publish,
            known=(lambda _: None) if deliverer is None else deliverer.know,
            bounds=settings.bounds,
            pace=pace,
            slices=Slices(clock, shared.sharing),
        )
        return cls(
            drainer=drainer,
            deliverer=deliverer,
            clock=clock,
            process_id=process_id,
            fenced=fenced,
            every=settings.outbox_every,
            hint=shared.outbox_hint,
        )

    def start(self, loops: Loops) -> None:
        loops.run("outbox", self._tend, hint=self._hint)

    def hint(self) -> None:
        """There may be notifications, or new subscribers."""
        self._hint.set()

    def wake(self, id: str) -> None:
        """The deliveries to a webhook are due again, although it failed before."""
        if self._deliverer is not None:
            self._deliverer.wake(id)
        self._hint.set()

    def concluded(self, drafts: Sequence[Draft]) -> None:
        """A turn is durable."""
        if self.drainer.is_listened_to and any(draft.rows for draft in drafts):
            self._hint.set()

    async def _tend(self) -> float:
        """One pass; returns the seconds until the next. No subscribers: it only checks for some."""
        process_id = self._process_id()
        try:
            if self._clock.ticks() < self._look_by and await self.drainer.is_quiet():
                return self._every
            next_due = await self.run_once()
        except Fenced:
            await self._fenced(process_id)
            return 0.0
        except Overloaded as error:
            log.warning("notifications have to wait: %s", error)
            return OUTAGE_RETRY_SECONDS
        self._look_by = self._clock.ticks() + _LOOK_ALL_THE_SAME
        return self._until(next_due, self._every)

    async def run_once(self) -> datetime | None:
        """Deliver all notifications; returns when the next delivery is due."""
        async with self._passing:
            while True:
                # In turn: deliveries proceed, however many rows keep coming.
                is_more = await self.drainer.run_once()
                due = None if self._deliverer is None else await self._deliverer.run_once()
                if not is_more:
                    moments = (due, self.drainer.next_try)
                    return min((each for each in moments if each is not None), default=None)

    async def finish(self, seconds: float) -> None:
        """Deliver for so many seconds at most; other processes deliver the rest."""
        if not self.drainer.is_listened_to or self._deliverer is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await self.run_once()
                while self._deliverer.is_sending:
                    await self._deliverer.answered()
                    await self.run_once()
        except (TimeoutError, StoreUnavailable, Overloaded, Fenced) as error:
            log.info("outbox: the remaining notifications are delivered later: %r", error)

    def adding(self, tenant: str) -> asyncio.Lock:
        """Held while a listener of a tenant is counted and added: then its quota holds."""
        return self._adding.setdefault(tenant, asyncio.Lock())

    async def stop(self) -> None:
        """Send nothing more."""
        await self.drainer.stop()
        if self._deliverer is not None:
            await self._deliverer.stop()

    def _until(self, due: datetime | None, at_most: float) -> float:
        if due is None:
            return at_most
        return min(at_most, max(0.0, (due - self._clock.now()).total_seconds()))
