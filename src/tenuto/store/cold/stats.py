"""Statistics about a tenant's instances and jobs."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.status import Status
from tenuto.store.cold.port import RowPort
from tenuto.store.columns import from_ms
from tenuto.store.parts.stats import Completed, Tally, WaitingJobs


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
        return [Completed(from_epoch_ms(at), took) for at, took in found]

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        [(count, oldest)] = await self._port.rows("waiting_jobs", {"tenant": tenant, "most": most})
        return WaitingJobs(count, from_ms(oldest))

    async def leases_of_workers(self, tenant: str, now: datetime, most: int) -> dict[str, int]:
        which = {"tenant": tenant, "now": epoch_ms(now), "most": most}
        return dict(await self._port.rows("leases_of_workers", which))
