"""The ports of one engine, and the objects that its parts have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenuto.built_in.protocol import Executors
from tenuto.engine.loops import BackgroundTasks, Loops
from tenuto.engine.outage import Outage
from tenuto.engine.settings import Settings
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.own_names import is_built_in
from tenuto.ports import Clock, Ids
from tenuto.store.protocol import Store
from tenuto.tasks.registry import Registry


class Shared:
    """Handed to each part of an engine."""

    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        clock: Clock,
        ids: Ids,
        settings: Settings,
        died: Callable[[str, BaseException], None],
        executors: Executors,
    ) -> None:
        """`died` takes the name of a loop that failed, and the error."""
        self.executors = executors
        self.store = store
        self.registry = registry
        self.clock = clock
        self.ids = ids
        self.settings = settings
        self.outage = Outage(clock)
        self.loops = Loops(clock, self.outage, died)
        self.background = BackgroundTasks()
        self.sharing = Sharing(clock.ticks)
        self.outbox_hint = asyncio.Event()
        """Set when there may be notifications, or new subscribers."""
        self.offers = self.is_offered if settings.unknown_tasks == "wait" else None
        """Whether a task waits for a worker, or a process, that has it; None: no task does."""

    def is_offered(self, task_id: str) -> bool:
        """Whether a task waits for a worker, or a process, that has it."""
        if is_built_in(task_id):
            return False
        return self.settings.unknown_tasks == "wait" and task_id not in self.registry

    def is_missing(self, task_id: str) -> bool:
        """Whether a step with this task fails, since no process can run it."""
        return self.settings.unknown_tasks == "fail" and task_id not in self.registry
