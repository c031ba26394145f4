"""Lets subscribers watch the inbox of a tenant: they learn that events came in, and read them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from msgspec import Struct, field

from tenuto.engine.engine import Engine
from tenuto.model.errors import StoreUnavailable
from tenuto.model.events import Event

log = logging.getLogger("tenuto.live")

_LOOK_BACK = timedelta(days=1)
"""What came in earlier is no news."""


class InboxFeed:
    """Gives the newest event whenever there is another one; those before it may be skipped."""

    def __init__(self) -> None:
        self._newest: Event | None = None
        self._moved = asyncio.Event()

    def tell(self, event: Event) -> None:
        self._newest = event
        self._moved.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            await self._moved.wait()
            self._moved.clear()
            assert self._newest is not None
            yield self._newest


class _Watched(Struct, eq=False):
    """The inbox of a tenant, and those who watch it."""

    reading: asyncio.Task[None]
    was_read: asyncio.Event
    """Whether it was looked at once: what comes in from then on is reported."""
    feeds: set[InboxFeed] = field(default_factory=set)


class InboxWatch:
    """The watched inboxes of one process.

    While an inbox is watched, its newest event is read once a second for all its subscribers,
    whichever process has stored it. Without subscribers nothing is read.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._watched: dict[str, _Watched] = {}

    @asynccontextmanager
    async def follow(self, tenant: str) -> AsyncIterator[InboxFeed]:
        """Watch the inbox of a tenant, from the moment that the feed is there."""
        watched = self._watched.get(tenant) or self._opened(tenant)
        feed = InboxFeed()
        watched.feeds.add(feed)
        try:
            await watched.was_read.wait()
            yield feed
        finally:
            watched.feeds.discard(feed)
            if not watched.feeds and self._watched.get(tenant) is watched:
                del self._watched[tenant]
                watched.reading.cancel()

    async def close(self) -> None:
        """Read no further."""
        reading = [each.reading for each in self._watched.values()]
        for each in reading:
            each.cancel()
        await asyncio.gather(*reading, return_exceptions=True)

    def _opened(self, tenant: str) -> _Watched:
        was_read = asyncio.Event()
        reading = asyncio.ensure_future(self._read_on(tenant, was_read))
        watched = self._watched[tenant] = _Watched(reading, was_read)
        return watched

    async def _read_on(self, tenant: str, was_read: asyncio.Event) -> None:
        engine = self._engine
        known: str | None = None
        while True:
            try:
                newest = await self._newest(tenant)
            except StoreUnavailable as error:
                log.warning("live: inbox not read tenant=%s: %s", tenant, error)
            except Exception:
                log.exception("live: inbox not read tenant=%s", tenant)
            else:
                if newest is not None and newest.id != known:
                    known = newest.id
                    watched = self._watched.get(tenant)
                    if was_read.is_set() and watched is not None:
                        for feed in watched.feeds:
                            feed.tell(newest)
            # Also where it could not be read: what is newest by then is reported later.
            was_read.set()
            await engine.clock.sleep(engine.settings.watch_every)

    async def _newest(self, tenant: str) -> Event | None:
        since = self._engine.clock.now() - _LOOK_BACK
        inbox = self._engine.store.seen_by(tenant).inbox
        found = await inbox.latest(tenant, None, since, limit=1)
        return found[0].event if found else None
