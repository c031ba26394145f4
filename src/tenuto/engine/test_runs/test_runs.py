"""Test runs: unsaved workflows that run like any other, and are erased when they are stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from tenuto.core import Plan
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.shared import Shared
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import Answer
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.inputs import CancelAsked, Input, Started
from tenuto.model.json import JSON
from tenuto.model.test_run import PREFIX, inbox_of, is_test_run
from tenuto.store.parts.instances import Erasure

log = logging.getLogger("tenuto.engine")

_BATCH = 100
_END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)
_PATIENCE = 10.0
"""Seconds that attempts have to end when a test run is stopped."""


_ENDED = Erasure(with_dead_letters=True, with_debts=True)
"""A test run is erased with all of its obligations."""


class TestRuns:
    """Keeps test runs until they are stopped or expire, and then erases every row of them."""

    def __init__(
        self,
        shared: Shared,
        plans: Plans,
        *,
        ask: Callable[[str, Input], Awaitable[Answer]],
        end_of: Callable[[str], Awaitable[Held]],
        forget: Callable[[str], None],
    ) -> None:
        """`forget` removes an instance from this process's memory."""
        self._store = shared.store
        self._plans = plans
        self._clock = shared.clock
        self._ask = ask
        self._end_of = end_of
        self._forget = forget
        self._keep_for = timedelta(seconds=shared.settings.test_run_retention)

    async def started(self, tenant: str, document: JSON, plan: Plan, input: JSON) -> Started:
        """Keep the document; returns the start of its one instance."""
        version = await self._plans.keep_test_run(tenant, document, plan)
        return Started(
            definition_id=plan.definition.id,
            definition_version=version,
            input=input,
            correlation_id=None,
            priority=0,
            deadline=None,
        )

    async def stop(self, tenant: str, instance_id: str) -> bool:
        """End a test run and erase it; returns whether all of it has ended. Safe to repeat."""
        # One that has ended needs no engine: a process that only does upkeep can erase it too.
        if await self._erased(tenant, instance_id):
            return True
        asked = CancelAsked(by="system", reason="the test run was stopped", should_compensate=False)
        # One that never began does not exist.
        with suppress(NotFound):
            await self._ask(instance_id, asked)
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await self._end_of(instance_id)
        if await self._erased(tenant, instance_id):
            return True
        # Its definition stays: by its age it is found again once all of it has ended.
        log.warning("test_run=%s is erased later: it has not ended yet", instance_id)
        return False

    async def _erased(self, tenant: str, instance_id: str) -> bool:
        """Erase every row of a test run that has ended; whether it had."""
        gone = await self._store.instances.erase(tenant, [instance_id], _ENDED)
        if not gone and await self._store.turns.load([instance_id]):
            return False
        self._forget(instance_id)
        inbox, after = inbox_of(instance_id), None
        while True:
            pruned = await self._store.inbox.prune(inbox, _END_OF_TIME, _BATCH, after)
            if (after := pruned.after) is None:
                break
        await self._store.definitions.erase(tenant, f"{PREFIX}{instance_id}")
        self._plans.forget(tenant, f"{PREFIX}{instance_id}")
        return True

    async def run_once(self) -> int:
        """Erase expired test runs; returns how many."""
        before = self._clock.now() - self._keep_for
        old = await self._store.definitions.old_test_runs(before, _BATCH)
        gone = 0
        for tenant, id in old:
            try:
                gone += await self.stop(tenant, id.removeprefix(PREFIX))
            except StoreUnavailable:
                raise
            except TenutoError as error:
                log.warning("test_run=%s is erased later: %s", id, error)
        for name in await self._store.upkeep.tenants():
            if is_test_run(name):
                # Events that were not matched when the run was stopped, or the newest of all.
                await self._store.inbox.prune(name, before, _BATCH)
        return gone
