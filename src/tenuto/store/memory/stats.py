"""Statistics, over tables in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.status import Status
from tenuto.model.test_run import is_test_run
from tenuto.store.cold.stats import together
from tenuto.store.columns import InstanceColumns, from_ms
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import Job, unpack
from tenuto.store.parts.stats import Completed, Tally, TaskJobs, WaitingJobs

_MINUTE = 60_000


class MemoryStats(MemoryPart):
    """Counts of instances and jobs."""

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        apart = epoch_ms(apart_from)
        by_status: defaultdict[str, list[InstanceColumns]] = defaultdict(list)
        for row in self._disk.instances.values():
            columns = unpack(InstanceColumns, row)
            if columns.tenant == tenant and columns.created_at >= epoch_ms(since):
                by_status[columns.status].append(columns)
        counts = Counter(
            (
                row.definition_id,
                status,
                _minute(row.created_at, apart),
                _minute(row.completed_at, apart),
            )
            for status, rows in by_status.items()
            for row in sorted(rows, key=lambda row: row.created_at, reverse=True)[:most]
        )
        return [
            Tally(id, Status(status), started, ended, count)
            for (id, status, started, ended), count in counts.items()
        ]

    async def durations(self, tenant: str, since: datetime, most: int) -> list[Completed]:
        rows = [unpack(InstanceColumns, row) for row in self._disk.instances.values()]
        found = [
            (row.created_at, row.completed_at)
            for row in rows
            if row.tenant == tenant
            and row.status == Status.COMPLETED
            and row.created_at >= epoch_ms(since)
            and row.completed_at is not None
            and not is_test_run(row.definition_id)
        ]
        found.sort(reverse=True)
        return [Completed(ended, ended - made) for made, ended in found[:most]]

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        jobs = [unpack(Job, row) for row in self._disk.jobs.values()]
        offered = [job.offered_at for job in jobs if job.tenant == tenant and job.leased_by is None]
        return WaitingJobs(len(offered[:most]), from_ms(min(offered, default=None)))

    async def jobs_by_task(self, tenant: str, now: datetime, most: int) -> list[TaskJobs]:
        jobs = [unpack(Job, row) for row in self._disk.jobs.values()]
        own = [job for job in jobs if job.tenant == tenant]
        waiting: defaultdict[str, list[int]] = defaultdict(list)
        for job in [job for job in own if job.leased_by is None][:most]:
            waiting[job.task_id].append(job.offered_at)
        leased = [job for job in own if job.leased_by and job.leased_until > epoch_ms(now)]
        held = Counter(job.task_id for job in leased[:most])
        counted = [(id, len(offered), from_ms(min(offered))) for id, offered in waiting.items()]
        return together(counted, held)

    async def leases_of_workers(self, tenant: str, now: datetime, most: int) -> dict[str, int]:
        jobs = [unpack(Job, row) for row in self._disk.jobs.values()]
        holders = [
            job.leased_by
            for job in jobs
            if job.tenant == tenant
            and job.is_outside
            and job.leased_by is not None
            and job.leased_until > epoch_ms(now)
        ]
        return dict(Counter(holders[:most]))


def _minute(at: int | None, apart_from: int) -> int:
    return 0 if at is None or at < apart_from else at // _MINUTE
