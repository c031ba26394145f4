"""Jobs and the leases on them, on a disk in memory. Each function is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta

from tenuto.model.durations import from_epoch_ms
from tenuto.store.job_columns import overrun
from tenuto.store.job_protocol import (
    Beat,
    Extension,
    Grant,
    JobKey,
    Lapsed,
    Lease,
    Overrun,
    WorkerClaim,
)
from tenuto.store.memory.disk import Job, MemoryDisk, pack, unpack
from tenuto.store.memory.tasks import pushed_tasks

_MILLISECOND = timedelta(milliseconds=1)


def in_order(disk: MemoryDisk, passed_over: Collection[str] = ()) -> list[tuple[JobKey, Job]]:
    """Jobs by when they were offered."""
    found = ((key, unpack(Job, row)) for key, row in disk.jobs.items())
    return sorted(
        ((key, job) for key, job in found if key.instance_id not in passed_over),
        key=lambda pair: (pair[1].offered_at, pair[0]),
    )


def claim(
    disk: MemoryDisk,
    process_id: str,
    jobs: Sequence[tuple[JobKey, Job]],
    task_ids: Collection[str],
    *,
    limit: int,
    until: int,
) -> list[Lease]:
    """Lease to a process what nobody works on."""
    granted: list[Lease] = []
    for key, job in jobs:
        if len(granted) < limit and job.is_free and job.task_id in task_ids:
            granted.append(_lease(disk, key, job, process_id, until))
    return granted


def lapsed(
    disk: MemoryDisk,
    jobs: Sequence[tuple[JobKey, Job]],
    limit: int,
    now: int,
    stopped_cleanly: Callable[[str], bool],
) -> list[Lapsed]:
    """Leases that nobody holds any more."""
    gone: list[Lapsed] = []
    for key, job in jobs:
        if job.leased_by is None or len(gone) >= limit:
            continue
        lease = Lease(key, job.token)
        if job.is_outside:
            if job.leased_until <= now:
                gone.append(Lapsed(lease, clean=False, overrun=_overrun(job)))
        elif not disk.lives(job.leased_by) or job.leased_until <= now:
            gone.append(Lapsed(lease, stopped_cleanly(job.leased_by)))
    return gone


def claim_for_worker(
    disk: MemoryDisk, wanted: WorkerClaim, now: int, passed_over: Collection[str]
) -> list[Grant]:
    lease = wanted.lease // _MILLISECOND
    granted: list[Grant] = []
    pushed = {row.id for row in pushed_tasks(disk) if row.tenant == wanted.tenant}
    with disk.transaction():
        for key, job in in_order(disk, passed_over):
            fits = (
                job.task_id not in pushed
                if wanted.task_ids is None
                else job.task_id in wanted.task_ids
            )
            if len(granted) < wanted.limit and job.is_free and fits and job.tenant == wanted.tenant:
                taken = job._replace(
                    token=job.token + 1,
                    leased_by=wanted.worker_id,
                    is_outside=True,
                    lease=lease,
                    overdue_at=now + job.timeout,
                    details=None,
                )
                taken = taken._replace(leased_until=_until(taken, now))
                disk.put(disk.jobs, key, pack(taken))
                granted.append(Grant(Lease(key, taken.token), from_epoch_ms(taken.leased_until)))
    return granted


def pushed_with_jobs(disk: MemoryDisk) -> list[tuple[str, str]]:
    offered = {
        (job.tenant, job.task_id)
        for job in (unpack(Job, row) for row in disk.jobs.values())
        if job.is_free
    }
    return [(row.tenant, row.id) for row in pushed_tasks(disk) if (row.tenant, row.id) in offered]


def extend_for_workers(disk: MemoryDisk, beats: Sequence[Beat], now: int) -> dict[Lease, Extension]:
    extended: dict[Lease, Extension] = {}
    with disk.transaction():
        for lease, details in beats:
            job = _held(disk, lease)
            if job is None or not job.is_outside or job.leased_until <= now:
                continue
            told = job.details if details is None else details
            until = max(job.leased_until, _until(job, now))
            disk.put(disk.jobs, lease.key, pack(job._replace(leased_until=until, details=told)))
            extended[lease] = Extension(from_epoch_ms(until), job.is_called_off)
    return extended


def hand_over(disk: MemoryDisk, leases: Sequence[Lease], now: int) -> set[Lease]:
    handed: set[Lease] = set()
    with disk.transaction():
        for lease in leases:
            job = _held(disk, lease)
            if job is not None and job.is_outside and job.leased_until > now:
                disk.put(disk.jobs, lease.key, pack(job._replace(leased_until=job.overdue_at)))
                handed.add(lease)
    return handed


def put_back(disk: MemoryDisk, leases: Sequence[Lease]) -> None:
    with disk.transaction():
        for lease in leases:
            job = _held(disk, lease)
            if job is not None and job.is_outside:
                free = job._replace(leased_by=None, is_outside=False)
                disk.put(disk.jobs, lease.key, pack(free))


def take_called_off(
    disk: MemoryDisk, process_id: str, keys: Sequence[JobKey], until: int
) -> list[Lease]:
    taken: list[Lease] = []
    with disk.transaction():
        for key in sorted(keys):
            row = disk.jobs.get(key)
            job = None if row is None else unpack(Job, row)
            if job is not None and job.leased_by is None and job.is_called_off:
                taken.append(_lease(disk, key, job, process_id, until))
    return taken


def next_lapse(disk: MemoryDisk, now: int) -> timedelta | None:
    jobs = (unpack(Job, row) for row in disk.jobs.values())
    ahead = [job.leased_until - now for job in jobs if job.is_outside and job.leased_until > now]
    return min(ahead) * _MILLISECOND if ahead else None


def call_off(disk: MemoryDisk, keys: Sequence[JobKey]) -> None:
    """Part of a turn: nobody is to begin with these."""
    for key in keys:
        row = disk.jobs.get(key)
        if row is not None:
            disk.put(disk.jobs, key, pack(unpack(Job, row)._replace(is_called_off=True)))


def _lease(disk: MemoryDisk, key: JobKey, job: Job, process_id: str, until: int) -> Lease:
    taken = job._replace(token=job.token + 1, leased_by=process_id, leased_until=until)
    disk.put(disk.jobs, key, pack(taken))
    return Lease(key, taken.token)


def _held(disk: MemoryDisk, lease: Lease) -> Job | None:
    row = disk.jobs.get(lease.key)
    job = None if row is None else unpack(Job, row)
    is_held = job is not None and job.leased_by is not None and job.token == lease.token
    return job if is_held else None


def _until(job: Job, now: int) -> int:
    longest = job.lease if job.silence is None else min(job.lease, job.silence)
    return min(now + longest, job.overdue_at)


def _overrun(job: Job) -> Overrun | None:
    return overrun(
        until=job.leased_until,
        overdue_at=job.overdue_at,
        timeout=job.timeout,
        silence=job.silence,
        lease=job.lease,
        details=job.details,
    )
