"""Jobs and the leases on them, over tables in memory. Each verb is one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.job_columns import overrun
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import Job, MemoryDisk, Process, pack, unpack
from tenuto.store.parts.jobs import (
    Beat,
    Extension,
    Grant,
    JobClaims,
    JobKey,
    Lapsed,
    Lease,
    LimitedClaim,
    LimitedGrants,
    LimitedTask,
    Overrun,
    TaskHolder,
    TaskUse,
    WorkerClaim,
)
from tenuto.store.task_room import Room, Tokens, room

_MILLISECOND = timedelta(milliseconds=1)


class MemoryJobs(MemoryPart):
    """Jobs by attempt, each with its lease."""

    async def claim(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        process_id, disk = self._context.require_open(), self._disk
        jobs = self._in_order()
        gone = _lapsed(disk, jobs, lapsed, epoch_ms(now))
        wanted = () if self._context.only_own else task_ids
        until = epoch_ms(now + lease)
        granted: list[Lease] = []
        with disk.transaction():
            for key, job in jobs:
                is_wanted = job.is_free and not job.is_limited and job.task_id in wanted
                if len(granted) < limit and is_wanted:
                    granted.append(_lease(disk, key, job, process_id, until))
        return JobClaims(granted, gone)

    async def leases(self, now: datetime) -> list[Lease]:
        process_id = self._context.require_open()
        found = ((key, unpack(Job, row)) for key, row in sorted(self._disk.jobs.items()))
        return [
            Lease(key, job.token)
            for key, job in found
            if (job.leased_by, job.is_outside) == (process_id, False)
            and epoch_ms(now) < job.leased_until
        ]

    async def extend(self, leases: Sequence[Lease], lease: timedelta, now: datetime) -> set[Lease]:
        process_id, disk = self._context.require_open(), self._disk
        held: set[Lease] = set()
        for each in leases:
            job = _job(disk, each.key)
            if job and job.is_of(process_id, each.token):
                held.add(each)
                until = max(job.leased_until, epoch_ms(now + lease))
                disk.jobs[each.key] = pack(job._replace(leased_until=until))
        return held

    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        self._context.require_open()
        if self._context.only_own:
            return []
        disk, moment = self._disk, epoch_ms(now)
        granted: list[Grant] = []
        pushed = {id for (id,) in disk.cold.rows("pushed_of_tenant", (claim.tenant,))}
        with disk.transaction():
            for key, job in self._in_order():
                fits = (
                    job.task_id not in pushed
                    if claim.task_ids is None
                    else job.task_id in claim.task_ids
                )
                if (
                    len(granted) < claim.limit
                    and job.is_free
                    and fits
                    and job.task_id not in claim.but
                    and job.tenant == claim.tenant
                ):
                    granted.append(
                        _lease_to_worker(
                            disk, key, job, worker_id=claim.worker_id, lease=claim.lease, now=moment
                        )
                    )
        return granted

    async def claim_limited(self, claim: LimitedClaim, now: datetime) -> LimitedGrants:
        process_id, disk, moment = self._context.require_open(), self._disk, epoch_ms(now)
        granted: list[Grant] = []
        with disk.transaction():
            rooms = {(task.tenant, task.task_id): self._room(task, moment) for task in claim.tasks}
            begun = dict.fromkeys(rooms, 0)
            jobs = () if self._context.only_own else self._in_order()
            for key, job in jobs:
                place = rooms.get(pair := (job.tenant, job.task_id))
                if place is None or not job.is_free or begun[pair] >= place.jobs:
                    continue
                if len(granted) >= claim.limit:
                    break
                begun[pair] += 1
                limited = job._replace(is_limited=True)
                if claim.worker_id is None:
                    until = epoch_ms(now + claim.lease)
                    lease = _lease(disk, key, limited, process_id, until)
                    granted.append(Grant(lease, from_epoch_ms(until)))
                else:
                    granted.append(
                        _lease_to_worker(
                            disk,
                            key,
                            limited,
                            worker_id=claim.worker_id,
                            lease=claim.lease,
                            now=moment,
                        )
                    )
            for pair, place in rooms.items():
                if begun[pair] and place.tokens is not None:
                    left = Tokens(place.spent(begun[pair]), moment)
                    disk.put(disk.task_rates, pair, pack(left))
        found = (place.hindrance(begun[pair]) for pair, place in rooms.items())
        return LimitedGrants(granted, [each for each in found if each is not None])

    def _room(self, task: LimitedTask, now: int) -> Room:
        held = len(self._held(task.tenant, task.task_id))
        return room(task, held, self._tokens(task.tenant, task.task_id), now)

    def _tokens(self, tenant: str, task_id: str) -> Tokens:
        found = self._disk.task_rates.get((tenant, task_id))
        return Tokens() if found is None else unpack(Tokens, found)

    def _held(self, tenant: str, task_id: str) -> list[tuple[JobKey, Job]]:
        found = ((key, unpack(Job, row)) for key, row in self._disk.jobs.items())
        return [
            (key, job)
            for key, job in found
            if job.is_limited
            and job.leased_by is not None
            and (job.tenant, job.task_id) == (tenant, task_id)
        ]

    async def mark_limited(self, tenant: str, task_id: str) -> None:
        self._context.require_open()
        disk = self._disk
        with disk.transaction():
            for key, row in list(disk.jobs.items()):
                job = unpack(Job, row)
                if job.leased_by is None and (job.tenant, job.task_id) == (tenant, task_id):
                    disk.put(disk.jobs, key, pack(job._replace(is_limited=True)))

    async def limited_tasks(self) -> list[tuple[str, str]]:
        jobs = (unpack(Job, row) for row in self._disk.jobs.values())
        waiting = (job for job in jobs if job.is_limited and job.leased_by is None)
        return sorted({(job.tenant, job.task_id) for job in waiting})

    async def use_of(self, tenant: str, task_id: str, *, most: int = 5) -> TaskUse:
        held, tokens = self._held(tenant, task_id), self._tokens(tenant, task_id)
        holders = [
            TaskHolder(key, job.leased_by, job.is_outside)
            for key, job in sorted(held)[:most]
            if job.leased_by is not None
        ]
        return TaskUse(len(held), tuple(holders), tokens.left, tokens.at)

    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        self._context.require_open()
        disk, moment = self._disk, epoch_ms(now)
        extended: dict[Lease, Extension] = {}
        with disk.transaction():
            for lease, details in beats:
                job = _leased_outside(disk, lease)
                if job is None or job.leased_until <= moment:
                    continue
                until = max(job.leased_until, _until(job, moment))
                job = job._replace(
                    leased_until=until, details=job.details if details is None else details
                )
                disk.put(disk.jobs, lease.key, pack(job))
                assert job.leased_by is not None
                extended[lease] = Extension(from_epoch_ms(until), job.is_cancelled, job.leased_by)
        return extended

    async def set_timeouts(
        self, timeouts: Mapping[Lease, timedelta], now: datetime
    ) -> dict[Lease, datetime]:
        self._context.require_open()
        disk, moment = self._disk, epoch_ms(now)
        changed: dict[Lease, datetime] = {}
        with disk.transaction():
            for lease, length in timeouts.items():
                job = _leased_outside(disk, lease)
                if job is None or job.leased_until <= moment:
                    continue
                claimed_at, timeout = job.overdue_at - job.timeout, length // _MILLISECOND
                job = job._replace(timeout=timeout, overdue_at=claimed_at + timeout)
                until = _until(job, claimed_at)
                disk.put(disk.jobs, lease.key, pack(job._replace(leased_until=until)))
                changed[lease] = from_epoch_ms(until)
        return changed

    async def put_back(self, leases: Sequence[Lease]) -> None:
        self._context.require_open()
        disk = self._disk
        with disk.transaction():
            for lease in leases:
                job = _leased_outside(disk, lease)
                if job is not None:
                    free = job._replace(leased_by=None, is_outside=False)
                    disk.put(disk.jobs, lease.key, pack(free))

    async def take_cancelled(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        process_id, disk = self._context.require_open(), self._disk
        until = epoch_ms(now + lease)
        taken: list[Lease] = []
        with disk.transaction():
            for key in sorted(keys):
                job = _job(disk, key)
                if job is not None and job.leased_by is None and job.is_cancelled:
                    taken.append(_lease(disk, key, job, process_id, until))
        return taken

    async def tasks_to_push(self) -> list[tuple[str, str]]:
        disk = self._disk
        jobs = [job for _, job in self._in_order() if job.is_free]
        tenants = sorted({job.tenant for job in jobs})
        offered = {(job.tenant, job.task_id) for job in jobs}
        return [
            (tenant, id)
            for tenant in tenants
            for (id,) in disk.cold.rows("pushed_of_tenant", (tenant,))
            if (tenant, id) in offered
        ]

    async def next_lapse(self, now: datetime) -> timedelta | None:
        self._context.require_open()
        moment = epoch_ms(now)
        jobs = (unpack(Job, row) for row in self._disk.jobs.values())
        ahead = [
            job.leased_until - moment
            for job in jobs
            if job.is_outside and job.leased_until > moment
        ]
        return min(ahead) * _MILLISECOND if ahead else None

    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        self._context.require_open()
        disk, moment = self._disk, epoch_ms(now)
        handed: set[Lease] = set()
        with disk.transaction():
            for lease in leases:
                job = _leased_outside(disk, lease)
                if job is not None and job.leased_until > moment:
                    disk.put(disk.jobs, lease.key, pack(job._replace(leased_until=job.overdue_at)))
                    handed.add(lease)
        return handed

    def _in_order(self) -> list[tuple[JobKey, Job]]:
        """Jobs that are not passed over, by when they were offered."""
        found = ((key, unpack(Job, row)) for key, row in self._disk.jobs.items())
        passed_over = self._context.passed_over
        return sorted(
            ((key, job) for key, job in found if key.instance_id not in passed_over),
            key=lambda pair: (pair[1].offered_at, pair[0]),
        )


def cancel_jobs(disk: MemoryDisk, keys: Sequence[JobKey]) -> None:
    """Part of a turn: jobs that are not leased yet stay so, and workers are notified."""
    for key in keys:
        job = _job(disk, key)
        if job is not None:
            disk.put(disk.jobs, key, pack(job._replace(is_cancelled=True)))


def _lapsed(
    disk: MemoryDisk, jobs: Sequence[tuple[JobKey, Job]], limit: int, now: int
) -> list[Lapsed]:
    """Leases that have lapsed, or whose process is gone."""
    gone: list[Lapsed] = []
    for key, job in jobs:
        if job.leased_by is None or len(gone) >= limit:
            continue
        lease = Lease(key, job.token)
        if job.is_outside:
            if job.leased_until <= now:
                gone.append(Lapsed(lease, clean=False, overrun=_overrun(job)))
        elif not disk.lives(job.leased_by) or job.leased_until <= now:
            gone.append(Lapsed(lease, _stopped_cleanly(disk, job.leased_by)))
    return gone


def _stopped_cleanly(disk: MemoryDisk, process_id: str) -> bool:
    row = disk.processes.get(process_id)
    return row is not None and unpack(Process, row).clean


def _job(disk: MemoryDisk, key: JobKey) -> Job | None:
    row = disk.jobs.get(key)
    return None if row is None else unpack(Job, row)


def _leased_outside(disk: MemoryDisk, lease: Lease) -> Job | None:
    """The job that a worker holds under a lease."""
    job = _job(disk, lease.key)
    is_held = job is not None and job.leased_by is not None and job.token == lease.token
    return job if job is not None and is_held and job.is_outside else None


def _lease(disk: MemoryDisk, key: JobKey, job: Job, process_id: str, until: int) -> Lease:
    taken = job._replace(token=job.token + 1, leased_by=process_id, leased_until=until)
    disk.put(disk.jobs, key, pack(taken))
    return Lease(key, taken.token)


def _lease_to_worker(
    disk: MemoryDisk, key: JobKey, job: Job, *, worker_id: str, lease: timedelta, now: int
) -> Grant:
    taken = job._replace(
        token=job.token + 1,
        leased_by=worker_id,
        is_outside=True,
        lease=lease // _MILLISECOND,
        overdue_at=now + job.timeout,
        details=None,
    )
    until = _until(taken, now)
    disk.put(disk.jobs, key, pack(taken._replace(leased_until=until)))
    return Grant(Lease(key, taken.token), from_epoch_ms(until))


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
