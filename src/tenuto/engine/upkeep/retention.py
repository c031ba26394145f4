"""Retention beside instances: deletes expired events, listeners, bulk operations and workers."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from tenuto.engine.bounds import DEFAULT_BOUNDS
from tenuto.engine.definitions.listener_rows import STILL_WANTED, listener_id
from tenuto.model.status import Status
from tenuto.ports import Clock
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.parts.inbox import PrunedUpTo
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.listeners import Listener
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.retention")
T = TypeVar("T")

BATCHES = 1_000
"""The most batches of one pass, of all tenants together; the next pass continues."""
MOST_UNLOOKED = 1_000
"""The most waits that may have still to look back while events are deleted."""
_PAGES = 10
"""Pages of instances that one pass looks at for the sake of a definition's old versions; the next
goes on from there, so that any number of instances is looked through in the end."""
_MAY_GO_ON = tuple(
    status for status in Status if status not in (Status.COMPLETED, Status.CANCELLED)
)


class Pruned(Struct, frozen=True, kw_only=True):
    """How much is gone, by kind."""

    events: int = 0
    listeners: int = 0
    bulk_operations: int = 0


class _InUse(Struct):
    """Versions of a definition with instances that may go on, as far as known."""

    newest: int
    created_before: datetime
    versions: set[int]
    after: str | None = None
    """Where the next page begins."""


class Pruner:
    """Deletes expired rows, a batch of each tenant in turn."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        keep_events: timedelta,
        keep_bulks: timedelta,
        pages: int = _PAGES,
        batch: int = DEFAULT_BOUNDS.retention_batch,
    ) -> None:
        self._store = store
        self._clock = clock
        self._keep_events = keep_events
        self._keep_bulks = keep_bulks
        self._pages = pages
        self._batch = batch
        self._in_use: dict[tuple[str, str], _InUse] = {}
        """Definitions of which there are more instances than one pass looks at."""

    async def run_once(self) -> Pruned:
        """Delete expired rows; tenants take turns, so that none delays the others."""
        now, tenants = self._clock.now(), await self._store.upkeep.tenants()
        listeners = 0
        for tenant in tenants:
            listeners += await self._forget_listeners(tenant, now)
        before = now - self._keep_events
        events = await self._prune_events(tenants, before)
        long_ago = now - self._keep_bulks
        bulks = await self._in_turns(
            tenants, lambda tenant: self._store.bulk.prune(tenant, long_ago, self._batch)
        )
        await self._in_turns((None,), lambda _: self._store.workers.forget(now, self._batch))
        gone = Pruned(events=events, listeners=listeners, bulk_operations=bulks)
        if any((events, listeners, bulks)):
            log.info(
                "retention: deleted %d events, %d listeners, %d bulk operations",
                events,
                listeners,
                bulks,
            )
        return gone

    async def _prune_events(self, tenants: Iterable[str], before: datetime) -> int:
        """A batch of each tenant in turn; events that are kept are looked at once in a pass."""
        unlooked = await self._store.waits.unlooked(MOST_UNLOOKED)
        if len(unlooked) == MOST_UNLOOKED:
            return 0  # after an outage, most often: once the waits have looked back, it goes on
        until: dict[str, datetime] = {}
        for wait in unlooked:
            # It has not looked back yet, and may take any event since then.
            until[wait.tenant] = min(wait.since, until.get(wait.tenant, before))
        gone = 0
        left: deque[tuple[str, PrunedUpTo | None]] = deque((tenant, None) for tenant in tenants)
        for _ in range(BATCHES):
            if not left:
                break
            tenant, after = left.popleft()
            limit = until.get(tenant, before)
            pruned = await self._store.inbox.prune(tenant, limit, self._batch, after)
            gone += pruned.gone
            if pruned.after is not None:
                left.append((tenant, pruned.after))
        return gone

    async def _in_turns(self, tenants: Iterable[T], forget: Callable[[T], Awaitable[int]]) -> int:
        """A batch of each tenant in turn, until no batch is full; returns how many rows."""
        gone, left = 0, deque(tenants)
        for _ in range(BATCHES):
            if not left:
                break
            tenant = left.popleft()
            count = await forget(tenant)
            gone += count
            if count == self._batch:
                left.append(tenant)
        return gone

    async def _forget_listeners(self, tenant: str, now: datetime) -> int:
        listeners = await self._store.listeners.of(tenant)
        gone = await self._remove(await self._expired(tenant, listeners, now))
        return gone + await self._remove(await self._of_old_versions(tenant, listeners, now))

    async def _remove(self, over: Iterable[Listener]) -> int:
        count = 0
        for each in over:
            count += await self._store.listeners.remove(each.tenant, each.kind, each.id)
        return count

    async def _expired(
        self, tenant: str, listeners: Iterable[Listener], now: datetime
    ) -> list[Listener]:
        """Subscriptions that have expired, and whose earlier events are all delivered.

        By then the rows that were in the outbox when they expired have been handled.
        """
        over = [
            each
            for each in listeners
            if each.expires_at is not None and each.expires_at + STILL_WANTED <= now
        ]
        waiting = await self._store.listeners.backlogs(tenant) if over else {}
        return [each for each in over if each.id not in waiting]

    async def _of_old_versions(
        self, tenant: str, listeners: Iterable[Listener], now: datetime
    ) -> list[Listener]:
        """Versions with a newer one, and without instances that may go on."""
        by_definition: dict[str, list[Listener]] = {}
        for each in listeners:
            if each.kind == "definition" and each.created_at + STILL_WANTED <= now:
                by_definition.setdefault(each.id.rpartition("/")[0], []).append(each)
        return [
            each
            for id, found in by_definition.items()
            for each in await self._unheard(tenant, id, found)
        ]

    async def _unheard(
        self, tenant: str, definition_id: str, found: list[Listener]
    ) -> list[Listener]:
        newest = await self._store.definitions.get(tenant, definition_id)
        kept = set() if newest is None else {listener_id(newest.id, newest.content_hash)}
        old = [each for each in found if each.id not in kept]
        if not old or newest is None:
            return old
        versions = await self._versions_in_use(newest, max(each.created_at for each in old))
        if versions is None:
            return []
        for version in versions - {newest.version}:
            row = await self._store.definitions.get(tenant, definition_id, version)
            if row is not None:
                kept.add(listener_id(row.id, row.content_hash))
        return [each for each in old if each.id not in kept]

    async def _versions_in_use(
        self, newest: DefinitionRow, listened_at: datetime
    ) -> set[int] | None:
        """The versions of instances that may go on; None until all of those were read.

        Starting an old version renews its listener shortly before.
        """
        place = (newest.tenant, newest.id)
        before = max(newest.created_at, listened_at) + STILL_WANTED
        known = self._in_use.pop(place, None)
        if known is None or (known.newest, known.created_before) != (newest.version, before):
            known = _InUse(newest.version, before, set())
        for _ in range(self._pages):
            page = await self._store.instances.page(
                InstanceQuery(
                    statuses=_MAY_GO_ON,
                    definition_id=newest.id,
                    created_before=before,
                    tenant=newest.tenant,
                    limit=self._batch,
                    after=known.after,
                )
            )
            known.versions |= {row.definition_version for row in page.items}
            known.after = page.next_after
            if known.after is None:
                return known.versions
        self._in_use[place] = known
        return None
