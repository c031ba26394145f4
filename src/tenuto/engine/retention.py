"""Forgets what is kept no longer: old events of the inbox, and those who listen no more."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from tenuto.engine.listening import STILL_WANTED, listener_id
from tenuto.model.status import Status
from tenuto.ports import Clock
from tenuto.store.outbox_protocol import Listener
from tenuto.store.protocol import DefinitionRow, InstanceQuery, Store

log = logging.getLogger("tenuto.retention")

BATCH = 1_000
"""Events that are forgotten together: nobody waits for more than that."""
_PAGES = 10
"""Pages of instances that are looked at for the sake of an old version; it stays if there are more.
"""
_MAY_GO_ON = tuple(
    status for status in Status if status not in (Status.COMPLETED, Status.CANCELLED)
)


class Pruner:
    """Goes through what is old, a batch at a time."""

    def __init__(self, *, store: Store, clock: Clock, keep_events: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._keep_events = keep_events

    async def run_once(self) -> int:
        """Forget what is old, of one tenant after the other; how much that was."""
        gone = 0
        for tenant in await self._store.tenants():
            gone += await self._forget(tenant, self._clock.now())
        if gone:
            log.info("forgot %d old events and listeners", gone)
        return gone

    async def _forget(self, tenant: str, now: datetime) -> int:
        listeners = await self._store.listeners(tenant)
        gone = await self._remove(await self._expired(tenant, listeners, now))
        gone += await self._remove(await self._of_old_versions(tenant, listeners, now))
        before = now - self._keep_events
        while True:
            count = await self._store.prune_events(tenant, before, BATCH)
            gone += count
            if count < BATCH:
                return gone

    async def _remove(self, over: Iterable[Listener]) -> int:
        count = 0
        for each in over:
            count += await self._store.remove_listener(each.tenant, each.kind, each.id)
        return count

    async def _expired(
        self, tenant: str, listeners: Iterable[Listener], now: datetime
    ) -> list[Listener]:
        """Subscriptions that have expired, and to which all has gone that happened before.

        By then what was in the outbox when they expired has long been on its way.
        """
        over = [
            each
            for each in listeners
            if each.expires_at is not None and each.expires_at + STILL_WANTED <= now
        ]
        waiting = await self._store.backlogs(tenant) if over else {}
        return [each for each in over if each.id not in waiting]

    async def _of_old_versions(
        self, tenant: str, listeners: Iterable[Listener], now: datetime
    ) -> list[Listener]:
        """Versions of definitions of which there is a newer one and no instance that may go on."""
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
        newest = await self._store.definition(tenant, definition_id)
        kept = set() if newest is None else {listener_id(newest.id, newest.content_hash)}
        old = [each for each in found if each.id not in kept]
        if not old or newest is None:
            return old
        versions = await self._versions_in_use(newest, max(each.created_at for each in old))
        if versions is None:
            return []
        for version in versions - {newest.version}:
            row = await self._store.definition(tenant, definition_id, version)
            if row is not None:
                kept.add(listener_id(row.id, row.content_hash))
        return [each for each in old if each.id not in kept]

    async def _versions_in_use(
        self, newest: DefinitionRow, listened_at: datetime
    ) -> set[int] | None:
        """Those of instances that may go on; None when there are too many to look at.

        Who starts an old version, later than the newest came, has it listen anew shortly before.
        """
        versions: set[int] = set()
        after: str | None = None
        for _ in range(_PAGES):
            page = await self._store.instances(
                InstanceQuery(
                    statuses=_MAY_GO_ON,
                    definition_id=newest.id,
                    created_before=max(newest.created_at, listened_at) + STILL_WANTED,
                    tenant=newest.tenant,
                    limit=BATCH,
                    after=after,
                )
            )
            versions |= {row.definition_version for row in page.items}
            after = page.next_after
            if after is None:
                return versions
        return None
