"""Statistics about a tenant's instances and jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.status import Status
from tenuto.store.cold.port import RowPort
from tenuto.store.columns import from_ms
from tenuto.store.parts.stats import Completed, Tally, TaskJobs, WaitingJobs


class StatsRecords:
    """Counts, each from one statement."""

    def __init__(self, port: RowPort) -> None:
        self._port = port

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        which = {
            "tenant": tenant,
            "statuses": [status.value for status in Status],
            "since": epoch_ms(since),
            "apart_from": epoch_ms(apart_from),
            "most": most,
        }
        found = await self._port.rows("tallies", which)
        return [Tally(id, Status(status), *counts) for id, status, *counts in found]

    async def durations(self, tenant: str, since: datetime, most: int) -> list[Completed]:
        which = {"tenant": tenant, "since": epoch_ms(since), "most": most}
        found = await self._port.rows("durations", which)
        return [*map(Completed._make, found)]

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        [(count, oldest)] = await self._port.rows("waiting_jobs", {"tenant": tenant, "most": most})
        return WaitingJobs(count, from_ms(oldest))

    async def jobs_by_task(self, tenant: str, now: datetime, most: int) -> list[TaskJobs]:
        which = {"tenant": tenant, "most": most}
        waiting = await self._port.rows("waiting_by_task", which)
        held = await self._port.rows("held_by_task", which | {"now": epoch_ms(now)})
        counted = [(id, count, from_ms(oldest)) for id, count, oldest in waiting]
        return together(counted, dict(held))

    async def leases_of_workers(self, tenant: str, now: datetime, most: int) -> dict[str, int]:
        which = {"tenant": tenant, "now": epoch_ms(now), "most": most}
        return dict(await self._port.rows("leases_of_workers", which))


def together(
    waiting: Iterable[tuple[str, int, datetime | None]], held: Mapping[str, int]
) -> list[TaskJobs]:
    """Waiting and held jobs by task, ordered by the task's id."""
    by_task = {id: TaskJobs(id, count, oldest, held.get(id, 0)) for id, count, oldest in waiting}
    others = {id: TaskJobs(id, 0, None, count) for id, count in held.items()}
    return [each for _, each in sorted((others | by_task).items())]
