"""Lets any number of subscribers watch instances, run by any process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from weakref import WeakValueDictionary

from msgspec import Struct

from tenuto.engine.engine import Engine
from tenuto.engine.observer import Observer
from tenuto.engine.tenancy import held_by, stored_id
from tenuto.engine.turns.draft import Draft
from tenuto.live.feed import Feed
from tenuto.live.inbox_watch import InboxWatch
from tenuto.live.tenant_share import TenantShare
from tenuto.live.watched_instance import WatchedInstance
from tenuto.model.errors import ProcessStops, StoreUnavailable, not_there
from tenuto.model.log import LogRow
from tenuto.model.policy import OUTAGE_RETRY_SECONDS

log = logging.getLogger("tenuto.live")

_GONE = 2
"""Polls in a row without a log after which it was erased, and is not merely not visible."""


class HubBounds(Struct, frozen=True, kw_only=True):
    """Seconds between the reads of a hub."""

    erased_poll: float = 10.0
    """Between polls where no other process writes: only for logs that are erased."""
    retry: float = OUTAGE_RETRY_SECONDS
    """Until a read is repeated that failed since the store was away."""


class _Watched(Struct, eq=False):
    """An instance that is watched or being opened, and the number of its subscribers."""

    opening: asyncio.Future[tuple[WatchedInstance, str]]
    """The instance and its tenant."""
    subscribers: int = 0
    hinted: int = 0
    """The newest seq that was reported while it was being opened."""
    missed: int = 0
    """Polls in a row that have found no log."""


class LiveHub:
    """The watched instances of one process. Without subscribers it does nothing.

    Changes of this process come from the rows that it has just written. For instances that other
    processes may advance, the lengths of all their logs are polled with one statement a second.
    Subscribers of a log that was erased get NotFound.
    """

    def __init__(self, engine: Engine, bounds: HubBounds | None = None) -> None:
        self._engine = engine
        self._bounds = bounds or HubBounds()
        self._watched: dict[str, _Watched] = {}
        self._shares: WeakValueDictionary[str, TenantShare] = WeakValueDictionary()
        self._is_closed = False
        self._observer = Observer(engine, self._heard, self._poll)
        self.inbox = InboxWatch(engine)
        """Tells subscribers that events came in."""

    @asynccontextmanager
    async def follow(
        self,
        tenant: str,
        instance_id: str,
        since: int | None = 0,
        *,
        until_end: bool = False,
        reading_back: asyncio.Lock | None = None,
    ) -> AsyncIterator[Feed]:
        """Watch an instance from the entry after `since` on; NotFound for another tenant's.

        None: from now on, without what was before.

        `reading_back` is shared by the feeds of one client: one at a time has a page of the past in
        memory.

        The feed gives messages and, where it breaks off, one `Dropped` at its end. With
        `until_end` it ends with the instance; else it goes on until the subscriber leaves.
        """
        # Also where it is watched already: instances in memory are of all tenants.
        instance_id = await stored_id(self._engine.store, tenant, instance_id)
        if self._is_closed:
            raise ProcessStops("this process stops and tells nothing more")
        watched = self._watched.get(instance_id) or self._opened(tenant, instance_id)
        watched.subscribers += 1
        try:
            instance, owner = await asyncio.shield(watched.opening)
            if owner != tenant:
                raise not_there(instance_id)
            place = instance.window.end if since is None else max(since, 0)
            with closing(Feed(instance, place, reading_back, until_end=until_end)) as feed:
                yield feed
        finally:
            watched.subscribers -= 1
            if not watched.subscribers:
                self._leave(instance_id, watched)

    async def close(self) -> None:
        """Break off every feed, so that subscribers reconnect to another process."""
        self._is_closed = True
        for instance_id, watched in list(self._watched.items()):
            self._leave(instance_id, watched)
        await self.inbox.close()

    def _opened(self, tenant: str, instance_id: str) -> _Watched:
        # First listen, then read: no change in between is missed.
        opening = asyncio.ensure_future(self._open(tenant, instance_id))
        watched = self._watched[instance_id] = _Watched(opening)
        self._observer.start()
        return watched

    async def _open(self, tenant: str, instance_id: str) -> tuple[WatchedInstance, str]:
        """Open an instance that is this tenant's, as the store says."""
        engine = self._engine
        share = self._share_of(tenant)
        async with share.turn:
            # It may be large, and so may others that are opened at the same time.
            held = await held_by(engine, tenant, instance_id, is_known=True)
        instance = WatchedInstance(
            engine.store.seen_by(tenant),
            engine.clock,
            held.plan,
            held.state,
            share,
            retry_seconds=self._bounds.retry,
            make=partial(engine.plans.values.read, tenant=tenant, may_refuse=False),
        )
        watched = self._watched.get(instance_id)
        if watched is None:
            instance.close()
        else:
            instance.hint(watched.hinted)
        return instance, tenant

    def _share_of(self, tenant: str) -> TenantShare:
        share = self._shares.get(tenant)
        if share is None:
            engine = self._engine
            share = TenantShare(engine.clock, engine.shared.sharing, tenant)
            self._shares[tenant] = share
        return share

    def _leave(self, instance_id: str, watched: _Watched) -> None:
        if self._watched.get(instance_id) is watched:
            del self._watched[instance_id]
        instance = _instance_of(watched)
        if instance is not None:
            instance.close()
        else:
            watched.opening.cancel()
        if not self._watched:
            self._observer.stop()

    def _heard(self, draft: Draft) -> None:
        """Called for each durable change of this process, of which few are watched."""
        watched = self._watched.get(draft.instance_id)
        if watched is not None:
            self._hint(watched, draft.state.version, draft.rows)

    def _hint(self, watched: _Watched, seq: int, rows: Sequence[LogRow] = ()) -> None:
        watched.hinted = max(watched.hinted, seq)
        instance = _instance_of(watched)
        if instance is not None:
            instance.hint(seq, rows)

    async def _poll(self) -> None:
        engine = self._engine
        others_write = engine.store.is_shared or engine.settings.is_guest
        pause = engine.settings.watch_every if others_write else self._bounds.erased_poll
        while True:
            await engine.clock.sleep(pause)
            polled = dict(self._watched)
            try:
                newest = await engine.store.instances.newest_seqs(list(polled))
            except StoreUnavailable as error:
                log.warning("live: watched logs not polled: %s", error)
                continue
            except Exception:
                log.exception("live: watched logs not polled")
                continue
            for instance_id, watched in polled.items():
                seq = newest.get(instance_id)
                if seq is None:
                    self._miss(watched)
                else:
                    watched.missed = 0
                    self._hint(watched, seq)

    def _miss(self, watched: _Watched) -> None:
        watched.missed += 1
        instance = _instance_of(watched)
        if watched.missed >= _GONE and instance is not None:
            instance.gone()


def _instance_of(watched: _Watched) -> WatchedInstance | None:
    """The instance, once it is open."""
    opening = watched.opening
    if not opening.done() or opening.cancelled() or opening.exception() is not None:
        return None
    return opening.result()[0]
