"""Jobs and the leases on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Any

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.job_columns import overrun
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
    TaskHolder,
    TaskUse,
    WorkerClaim,
)
from tenuto.store.sqlite.part import SqlitePart, commits, looks, writes, writes_beside
from tenuto.store.sqlite.session import Session, as_json
from tenuto.store.task_room import Room, Tokens, room

_MILLISECOND = timedelta(milliseconds=1)
_LONG_AGO = -(1 << 62)
_MOST_COUNTED = 1 << 31


class SqliteJobs(SqlitePart):
    """Jobs in a table of the file."""

    @commits
    def claim(
        self,
        session: Session,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        gone = session.packed("lapsed_jobs", {"now": epoch_ms(now), "limit": lapsed})
        [(has_offered,)] = session.rows("has_offered_jobs")
        offered = (
            job
            for task_id in (dict.fromkeys(task_ids) if has_offered else ())
            for job in session.packed("first_jobs", {"task_id": task_id, "limit": limit})
        )
        chosen = nsmallest(limit, offered)
        if chosen:
            self._lease(session, [job[1:5] for job in chosen], now + lease)
        return JobClaims(
            [Lease(JobKey(*key), token + 1) for _, *key, token in chosen],
            [
                Lapsed(Lease(JobKey(*key), token), bool(is_clean), overrun(**end) if end else None)
                for is_clean, *key, token, end in gone
            ],
        )

    @looks
    def leases(self, session: Session, now: datetime) -> list[Lease]:
        return _held(session, self._file.require_writer(), epoch_ms(now))

    @commits
    def extend(
        self, session: Session, leases: Sequence[Lease], lease: timedelta, now: datetime
    ) -> set[Lease]:
        process_id, until = self._file.require_writer(), epoch_ms(now + lease)
        wanted = as_json([(*lease.key, lease.token) for lease in leases])
        session.run("extend_leases", {"process_id": process_id, "until": until, "leases": wanted})
        # Including lapsed leases that no process has acted on.
        return set(leases).intersection(_held(session, process_id, _LONG_AGO))

    @writes
    def claim_for_worker(self, session: Session, claim: WorkerClaim, now: datetime) -> list[Grant]:
        task_ids = _offered(session, claim.tenant) if claim.task_ids is None else claim.task_ids
        offered = (
            job
            for task_id in dict.fromkeys(task_ids)
            if task_id not in claim.but
            for job in session.packed(
                "first_jobs_of_tenant",
                {"tenant": claim.tenant, "task_id": task_id, "limit": claim.limit},
            )
        )
        chosen = nsmallest(claim.limit, offered)
        return _lease_to_worker(session, chosen, claim.worker_id, claim.lease, now)

    @writes
    def claim_limited(self, session: Session, claim: LimitedClaim, now: datetime) -> LimitedGrants:
        rooms = [_room(session, task, epoch_ms(now)) for task in claim.tasks]
        offered = [
            (*job, number)
            for number, each in enumerate(rooms)
            if each.jobs
            for job in session.packed(
                "first_jobs_of_tenant",
                {"tenant": each.task.tenant, "task_id": each.task.task_id, "limit": each.jobs},
            )
        ]
        chosen = nsmallest(claim.limit, offered)
        begun = [0] * len(rooms)
        for job in chosen:
            begun[job[-1]] += 1
        granted: list[Grant] = []
        if chosen:
            jobs = [job[:-1] for job in chosen]
            session.run("limit_jobs", {"keys": as_json([job[1:5] for job in jobs])})
            if claim.worker_id is None:
                self._lease(session, [job[1:5] for job in jobs], now + claim.lease)
                granted = [
                    Grant(Lease(JobKey(*key), token + 1), now + claim.lease)
                    for _, *key, token in jobs
                ]
            else:
                granted = _lease_to_worker(session, jobs, claim.worker_id, claim.lease, now)
        hindered = [each.hindrance(count) for each, count in zip(rooms, begun, strict=True)]
        for each, count in zip(rooms, begun, strict=True):
            if count and each.tokens is not None:
                which = {"tenant": each.task.tenant, "task_id": each.task.task_id}
                left = {"tokens": each.spent(count), "now": epoch_ms(now)}
                session.run("put_task_rate", {**which, **left})
        return LimitedGrants(granted, [each for each in hindered if each is not None])

    @writes
    def mark_limited(self, session: Session, tenant: str, task_id: str) -> None:
        session.run("mark_limited", {"tenant": tenant, "task_id": task_id})

    @looks
    def limited_tasks(self, session: Session) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        last = ("", "")
        while rows := session.rows("next_limited_task", {"tenant": last[0], "task_id": last[1]}):
            [last] = rows
            found.append(last)
        return found

    @looks
    def use_of(self, session: Session, tenant: str, task_id: str, *, most: int = 5) -> TaskUse:
        which = {"tenant": tenant, "task_id": task_id}
        [(held,)] = session.rows("held_of_task", {**which, "most": _MOST_COUNTED})
        holders = session.packed("holders_of_task", {**which, "most": most})
        tokens = _tokens(session, tenant, task_id)
        return TaskUse(
            held,
            tuple(
                TaskHolder(JobKey(*key), leased_by, bool(is_outside))
                for *key, leased_by, is_outside in holders
            ),
            tokens.left,
            tokens.at,
        )

    @writes
    def extend_for_workers(
        self, session: Session, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        rows = as_json([(*lease.key, lease.token, details) for lease, details in beats])
        session.run("extend_for_workers", {"beats": rows, "now": epoch_ms(now)})
        keys = as_json(list(dict.fromkeys(beat.lease.key for beat in beats)))
        held = _of_workers(session, keys, epoch_ms(now))
        return {lease: held[lease] for lease, _ in beats if lease in held}

    @writes
    def set_timeouts(
        self, session: Session, timeouts: Mapping[Lease, timedelta], now: datetime
    ) -> dict[Lease, datetime]:
        rows = as_json(
            [(*lease.key, lease.token, each // _MILLISECOND) for lease, each in timeouts.items()]
        )
        keys = as_json([lease.key for lease in timeouts])
        held = _of_workers(session, keys, epoch_ms(now))
        session.run("set_timeouts", {"timeouts": rows, "now": epoch_ms(now)})
        changed = _of_workers(session, keys, _LONG_AGO)
        return {lease: changed[lease].until for lease in timeouts if lease in held}

    @writes
    def put_back(self, session: Session, leases: Sequence[Lease]) -> None:
        rows = as_json([(*lease.key, lease.token) for lease in leases])
        session.run("put_back_jobs", {"leases": rows})

    @writes
    def take_cancelled(
        self, session: Session, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        found = sorted(session.packed("called_off_jobs", {"keys": as_json(list(keys))}))
        if found:
            self._lease(session, [job[:4] for job in found], now + lease)
        return [Lease(JobKey(*key), token + 1) for *key, token in found]

    @looks
    def tasks_to_push(self, session: Session) -> list[tuple[str, str]]:
        return session.rows("pushed_with_jobs")

    @looks
    def next_lapse(self, session: Session, now: datetime) -> timedelta | None:
        moment = epoch_ms(now)
        [(until,)] = session.rows("next_lapse", {"now": moment})
        return None if until is None else (until - moment) * _MILLISECOND

    @writes_beside
    def hand_over(self, session: Session, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        rows = as_json([(*lease.key, lease.token) for lease in leases])
        session.run("hand_over", {"leases": rows, "now": epoch_ms(now)})
        keys = as_json([lease.key for lease in leases])
        return _of_workers(session, keys, epoch_ms(now)).keys() & set(leases)

    def _lease(self, session: Session, keys: Sequence[Sequence[Any]], until: datetime) -> None:
        """Lease jobs to this process."""
        process_id = self._file.require_writer()
        session.run(
            "lease_jobs",
            {"process_id": process_id, "until": epoch_ms(until), "keys": as_json(keys)},
        )


def _room(session: Session, task: LimitedTask, now: int) -> Room:
    held, tokens = 0, Tokens()
    if task.limits.concurrency is not None:
        most = task.limits.concurrency
        which = {"tenant": task.tenant, "task_id": task.task_id}
        [(held,)] = session.rows("held_of_task", {**which, "most": most})
    if task.limits.rate_per_second is not None:
        tokens = _tokens(session, task.tenant, task.task_id)
    return room(task, held, tokens, now)


def _tokens(session: Session, tenant: str, task_id: str) -> Tokens:
    found = session.rows("task_rate", {"tenant": tenant, "task_id": task_id})
    return Tokens(*found[0]) if found else Tokens()


def _lease_to_worker(
    session: Session,
    chosen: Sequence[Sequence[Any]],
    worker_id: str,
    lease: timedelta,
    now: datetime,
) -> list[Grant]:
    if not chosen:
        return []
    keys = as_json([job[1:5] for job in chosen])
    length = lease // _MILLISECOND
    session.run(
        "lease_to_worker",
        {"worker_id": worker_id, "lease": length, "now": epoch_ms(now), "keys": keys},
    )
    granted = _of_workers(session, keys, _LONG_AGO)
    leases = (Lease(JobKey(*key), token + 1) for _, *key, token in chosen)
    return [Grant(each, granted[each].until) for each in leases]


def _held(session: Session, process_id: str, now: int) -> list[Lease]:
    """The leases of a process, including those whose grant it never received."""
    found = session.packed("leases_of", {"process_id": process_id, "now": now})
    return sorted(Lease(JobKey(*key), token) for *key, token in found)


def _offered(session: Session, tenant: str) -> Iterator[str]:
    """The tasks of a tenant that are not pushed and have unclaimed jobs."""
    after = ""
    pushed = {id for (id,) in session.rows("pushed_of_tenant", (tenant,))}
    while True:
        [(task_id,)] = session.rows("next_offered_task", {"tenant": tenant, "after": after})
        if task_id is None:
            return
        if task_id not in pushed:
            yield task_id
        after = task_id


def _of_workers(session: Session, keys: str, now: int) -> dict[Lease, Extension]:
    return {
        Lease(JobKey(*key), token): Extension(from_epoch_ms(until), bool(is_cancelled), worker_id)
        for *key, token, until, is_cancelled, worker_id in session.packed(
            "workers_leases", {"keys": keys, "now": now}
        )
    }
