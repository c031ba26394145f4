"""The queue of each task of one tenant: what waits, what is worked on, and what would take it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from tenuto.engine.engine import Engine
from tenuto.store.parts.stats import TaskJobs
from tenuto.store.parts.workers import CONNECTED_FOR, WorkerRow

_MOST_JOBS = 100_000
"""So many waiting jobs are counted, and so many that are worked on."""
_MOST_WORKERS = 1_000
_MOST_TASKS = 1_000


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


async def task_queues(engine: Engine, tenant: str) -> list[TaskQueue]:
    """The queues of all tasks that are declared, run here, or waited for, ordered by id."""
    seen, now = engine.store.seen_by(tenant), engine.clock.now()
    jobs = {each.task_id: each for each in await seen.stats.jobs_by_task(tenant, now, _MOST_JOBS)}
    declared = {row.id: row.is_pushed for row in await seen.tasks.page(tenant, limit=_MOST_TASKS)}
    workers = await seen.workers.page(tenant, now, within=CONNECTED_FOR, limit=_MOST_WORKERS)
    ids = sorted({*jobs, *declared, *engine.registry})
    none = TaskJobs("", 0, None, 0)
    return [
        _queue(id, jobs.get(id, none), workers, engine, is_pushed=declared.get(id)) for id in ids
    ]


def _queue(
    id: str,
    jobs: TaskJobs,
    workers: Collection[WorkerRow],
    engine: Engine,
    *,
    is_pushed: bool | None,
) -> TaskQueue:
    return TaskQueue(
        task_id=id,
        waiting=jobs.waiting,
        oldest_waiting=jobs.oldest,
        running=jobs.held,
        workers=sum(each.may_take(id) for each in workers),
        is_run_here=id in engine.registry,
        is_declared=is_pushed is not None,
        is_pushed=is_pushed is True,
    )
