"""Jobs as columns: those of an offered job, the same for every store."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from tenuto.model.durations import epoch_ms
from tenuto.store.parts.jobs import JobRow, Overrun

_MILLISECOND = timedelta(milliseconds=1)


class JobColumns(NamedTuple):
    """An unclaimed job."""

    instance_id: str
    node: str
    iteration: str
    attempt: int
    task_id: str
    offered_at: int
    tenant: str
    timeout: int
    silence: int | None
    """Milliseconds that a worker may take, and may go without a heartbeat."""
    is_called_off: bool
    is_limited: bool


def job_columns(job: JobRow) -> JobColumns:
    silence = job.heartbeat_timeout
    return JobColumns(
        *job.key,
        job.task_id,
        epoch_ms(job.offered_at),
        job.tenant,
        job.timeout // _MILLISECOND,
        None if silence is None else silence // _MILLISECOND,
        job.is_cancelled,
        job.is_limited,
    )


def overrun(
    *,
    until: int,
    overdue_at: int,
    timeout: int,
    silence: int | None,
    lease: int,
    details: str | None,
) -> Overrun | None:
    """Why a worker's lease lapsed at `until`; None if it simply was not extended."""
    if until >= overdue_at:
        return Overrun("timeout", timeout / 1000, details)
    if silence is not None and silence <= lease:
        return Overrun("silence", silence / 1000, details)
    return None
