"""Forgets what is kept no longer: old events of the inbox, and subscriptions that have expired."""

from __future__ import annotations

import logging
from datetime import timedelta

from tenuto.ports import Clock
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.retention")

BATCH = 1_000
"""Events that are forgotten together: nobody waits for more than that."""


class Pruner:
    """Goes through what is old, a batch at a time."""

    def __init__(
        self, *, store: Store, clock: Clock, keep_events: timedelta, tenant: str = "default"
    ) -> None:
        self._store = store
        self._clock = clock
        self._keep_events = keep_events
        self._tenant = tenant

    async def run_once(self) -> int:
        """Forget what is old; how much that was."""
        now = self._clock.now()
        gone = await self._expired()
        before = now - self._keep_events
        while True:
            count = await self._store.prune_events(self._tenant, before, BATCH)
            gone += count
            if count < BATCH:
                break
        if gone:
            log.info("forgot %d old events and subscriptions", gone)
        return gone

    async def _expired(self) -> int:
        now = self._clock.now()
        over = [
            each
            for each in await self._store.listeners(self._tenant)
            if each.expires_at is not None and each.expires_at <= now
        ]
        for each in over:
            await self._store.remove_listener(each.tenant, each.kind, each.id)
        return len(over)
