"""Numbers about a tenant's instances and jobs."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.status import Status
from tenuto.store.columns import from_ms
from tenuto.store.postgres.pool import Pool
from tenuto.store.stats_protocol import Tally, WaitingJobs


async def tallies(
    pool: Pool, tenant: str, since: datetime, apart_from: datetime, most: int
) -> list[Tally]:
    which = {
        "tenant": tenant,
        "statuses": [status.value for status in Status],
        "since": epoch_ms(since),
        "apart_from": epoch_ms(apart_from),
        "most": most,
    }
    found = await pool.rows("tallies", which)
    return [Tally(id, Status(status), *counts) for id, status, *counts in found]


async def waiting_jobs(pool: Pool, tenant: str, most: int) -> WaitingJobs:
    [(count, oldest)] = await pool.rows("waiting_jobs", {"tenant": tenant, "most": most})
    return WaitingJobs(count, from_ms(oldest))
