"""The queue of each task of one tenant: what waits, what is worked on, and what would take it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from tenuto.engine.engine import Engine
from tenuto.store.parts.stats import TaskJobs
from tenuto.store.parts.workers import CONNECTED_FOR, WorkerRow

_MOST_JOBS = 100_000
"""So many waiting jobs are counted, and so many that are worked on."""
_MOST_WORKERS = 1_000
_MOST_TASKS = 1_000
"""So many declared tasks are read, and so many queues are listed."""


class TaskQueue(Struct, frozen=True, kw_only=True, rename="camel"):
    """The attempts of one task, and what takes them."""

    task_id: str
    waiting: int
    """Attempts that nothing has claimed."""
    oldest_waiting: datetime | None
    running: int
    """Attempts that a process or a worker has claimed."""
    workers: int
    """Connected workers that take it, as far as is known."""
    is_run_here: bool
    """Whether the service that answers runs it itself."""
    is_declared: bool
    is_pushed: bool
    """Whether it is sent to an address, so that it needs no worker."""


class Takers:
    """How many workers take a task, as far as is known."""

    def __init__(self, workers: Iterable[WorkerRow]) -> None:
        self._of_any = 0
        self._of = Counter[str]()
        for each in workers:
            if each.task_ids is None or each.left_out > 0:
                self._of_any += 1
            else:
                self._of.update(set(each.task_ids))

    def of(self, task_id: str) -> int:
        return self._of_any + self._of[task_id]


async def task_queues(engine: Engine, tenant: str) -> tuple[list[TaskQueue], bool]:
    """The queues of tasks that are waited for, declared, run here or taken, ordered by id.

    And whether these are all: those with jobs come before those without.
    """
    seen, now = engine.store.seen_by(tenant), engine.clock.now()
    jobs = {each.task_id: each for each in await seen.stats.jobs_by_task(tenant, now, _MOST_JOBS)}
    declared = await seen.tasks.names(tenant, limit=_MOST_TASKS)
    workers = await seen.workers.page(tenant, now, within=CONNECTED_FOR, limit=_MOST_WORKERS)
    taken = (id for each in workers for id in each.task_ids or ())
    known = [*dict.fromkeys([*jobs, *declared, *engine.registry, *taken])]
    takers = Takers(workers)
    none = TaskJobs("", 0, None, 0)
    queues = [
        _queue(id, jobs.get(id, none), takers, engine, is_pushed=declared.get(id))
        for id in sorted(known[:_MOST_TASKS])
    ]
    return queues, len(known) <= _MOST_TASKS and len(declared) < _MOST_TASKS


def _queue(
    id: str,
    jobs: TaskJobs,
    takers: Takers,
    engine: Engine,
    *,
    is_pushed: bool | None,
) -> TaskQueue:
    return TaskQueue(
        task_id=id,
        waiting=jobs.waiting,
        oldest_waiting=jobs.oldest,
        running=jobs.held,
        workers=takers.of(id),
        is_run_here=id in engine.registry,
        is_declared=is_pushed is not None,
        is_pushed=is_pushed is True,
    )
