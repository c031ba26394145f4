"""The upkeep part of an engine: retention of events, instances, bulk operations and test runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from tenuto.engine.definitions.plans import Plans
from tenuto.engine.shared import Shared
from tenuto.engine.test_runs.test_runs import TestRuns
from tenuto.engine.upkeep.instance_retention import InstanceRetention
from tenuto.engine.upkeep.retention import Pruner


class Upkeep:
    """Deletes data that is kept no longer."""

    def __init__(
        self,
        shared: Shared,
        plans: Plans,
        test_runs: TestRuns,
        *,
        look_for_unfinished: Callable[[], None],
    ) -> None:
        """`look_for_unfinished` is called with each pass."""
        self._shared = shared
        self._test_runs = test_runs
        self._look_for_unfinished = look_for_unfinished
        settings = shared.settings
        self.pruner = Pruner(
            store=shared.store,
            clock=shared.clock,
            keep_events=timedelta(seconds=settings.inbox_retention),
            keep_bulks=timedelta(seconds=settings.bulk_retention),
            batch=settings.bounds.retention_batch,
        )
        keep = settings.instance_retention
        self.instances = InstanceRetention(
            store=shared.store,
            plans=plans,
            clock=shared.clock,
            keep=None if keep is None else timedelta(seconds=keep),
        )

    def start(self) -> None:
        self._shared.loops.tick("retention", self._shared.settings.prune_every, self.run_once)

    async def run_once(self) -> int:
        """One pass; returns how many rows it deleted."""
        # A process may have stopped before it had caught up; no takeover finds that.
        self._look_for_unfinished()
        pruned = await self.pruner.run_once()
        forgotten = await self.instances.run_once() + await self._test_runs.run_once()
        return forgotten + pruned.events + pruned.listeners + pruned.bulk_operations
