"""Jobs and the leases on them, by the clock of the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from tenuto.model.durations import from_epoch_ms
from tenuto.store.job_columns import overrun
from tenuto.store.parts.jobs import (
    Beat,
    Extension,
    Grant,
    JobClaims,
    JobKey,
    Jobs,
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
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.queries import Column, statement
from tenuto.store.postgres.session import Transaction
from tenuto.store.postgres.turn_rows import part
from tenuto.store.task_room import Tokens, room

_MILLISECOND = timedelta(milliseconds=1)


class PostgresJobs(Jobs):
    """Jobs in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        del now  # the server has a clock
        claim = {
            "process_id": self._database.require_writer(),
            "task_ids": list(dict.fromkeys(task_ids)),
            "limit": limit,
            "lease": lease // _MILLISECOND,
            "lapsed": lapsed,
            **self._database.passing_over,
        }
        async with self._database.pool.session() as session:
            # Not repeated by itself: the leases of a first one whose answer was lost would be
            # unknown.
            rows = await session.commit(statement("claim_jobs", session.schema), claim)
        claims = JobClaims([], [])
        for row in rows:
            found = Lease(JobKey(*row[1:5]), row[5])
            if row[0] is None:
                claims.granted.append(found)
            else:
                claims.lapsed.append(Lapsed(found, row[0], _overrun(row)))
        return claims

    async def leases(self, now: datetime) -> list[Lease]:
        del now  # the server has a clock
        mine = {"process_id": self._database.require_writer()}
        return _leases(await self._database.pool.rows("leases_of", mine))

    async def extend(self, leases: Sequence[Lease], lease: timedelta, now: datetime) -> set[Lease]:
        del now  # the server has a clock
        process_id = self._database.require_writer()
        held = _held(leases) | {"process_id": process_id, "lease": lease // _MILLISECOND}
        return set(_leases(await self._database.pool.rows("extend_leases", held)))

    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        del now  # the server has a clock
        self._database.require_writer()
        wanted = {
            "tenant": claim.tenant,
            "worker_id": claim.worker_id,
            "task_ids": list(dict.fromkeys(claim.task_ids or ())),
            "any_task": claim.task_ids is None,
            "limit": claim.limit,
            "lease": claim.lease // _MILLISECOND,
            "but": list(claim.but),
            **self._database.passing_over,
        }
        async with self._database.pool.session() as session:
            rows = await session.commit(statement("claim_for_worker", session.schema), wanted)
        return [
            Grant(Lease(JobKey(*key), token), from_epoch_ms(until)) for *key, token, until in rows
        ]

    async def claim_limited(self, claim: LimitedClaim, now: datetime) -> LimitedGrants:
        del now  # the server has a clock
        holder = self._database.require_writer() if claim.worker_id is None else claim.worker_id
        self._database.require_writer()

        async def claimed(transaction: Transaction) -> LimitedGrants:
            return await self._claim_limited(transaction, claim, holder)

        async with self._database.pool.session() as session:
            return await session.transaction(claimed)

    async def _claim_limited(
        self, transaction: Transaction, claim: LimitedClaim, holder: str
    ) -> LimitedGrants:
        """Under the locks of the tasks, so that what is counted stays so until the commit."""
        tasks = claim.tasks
        names = _names(tasks)
        locked = await transaction.rows("lock_task_rates", names)
        if len(locked) < len(tasks):
            await transaction.rows("put_task_rates", names)
            locked = await transaction.rows("lock_task_rates", names)
        tokens = {(tenant, id): Tokens(count, at) for tenant, id, count, at in locked}
        most = [task.limits.concurrency or 0 for task in tasks]
        held = await transaction.rows("held_of_tasks", {**names, "most": most})
        now = held[0][1]
        rooms = [
            room(task, count, tokens[task.tenant, task.task_id], now)
            for task, (count, _) in zip(tasks, held, strict=True)
        ]
        wanted = {
            **names,
            "room": [each.jobs for each in rooms],
            "limit": claim.limit,
            "holder": holder,
            "is_outside": claim.worker_id is not None,
            "lease": claim.lease // _MILLISECOND,
            **self._database.passing_over,
        }
        rows = []
        if any(each.jobs for each in rooms):
            rows = await transaction.rows("lease_limited", wanted)
        begun = Counter((row[6], row[7]) for row in rows)
        spent = [
            (each, left)
            for each in rooms
            if (count := begun[each.task.tenant, each.task.task_id])
            and (left := each.spent(count)) is not None
        ]
        if spent:
            tokens_left = [left for _, left in spent]
            of_tasks = _names([each.task for each, _ in spent])
            await transaction.rows(
                "spend_task_rates", {**of_tasks, "tokens": tokens_left, "now": now}
            )
        hindered = (each.hindrance(begun[each.task.tenant, each.task.task_id]) for each in rooms)
        return LimitedGrants(
            [Grant(Lease(JobKey(*row[:4]), row[4]), from_epoch_ms(row[5])) for row in rows],
            [each for each in hindered if each is not None],
        )

    async def mark_limited(self, tenant: str, task_id: str) -> None:
        self._database.require_writer()
        which = {"tenant": tenant, "task_id": task_id}
        await self._database.pool.rows("mark_limited", which)

    async def limited_tasks(self) -> list[tuple[str, str]]:
        found = await self._database.connections.rows("limited_tasks", {})
        return [(tenant, id) for tenant, id in found]

    async def use_of(self, tenant: str, task_id: str, *, most: int = 5) -> TaskUse:
        which = {"tenant": tenant, "task_id": task_id, "most": most}
        rows = await self._database.connections.rows("use_of_task", which)
        holders = tuple(
            TaskHolder(JobKey(*row[:4]), row[4], row[5]) for row in rows if row[0] is not None
        )
        held, tokens, at = rows[0][6:]
        return TaskUse(held, holders, tokens, at or 0)

    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        del now  # the server has a clock
        self._database.require_writer()
        # Of two for one lease one is enough: a statement may take either row.
        rows = {lease: (*lease.key, lease.token, details) for lease, details in beats}
        wanted = part("beats", list(rows.values())).parameters()
        found = await self._database.pool.rows("extend_for_workers", wanted)
        return {
            Lease(JobKey(*key), token): Extension(from_epoch_ms(until), is_cancelled, worker_id)
            for *key, token, until, is_cancelled, worker_id in found
        }

    async def set_timeouts(
        self, timeouts: Mapping[Lease, timedelta], now: datetime
    ) -> dict[Lease, datetime]:
        del now  # the server has a clock
        self._database.require_writer()
        rows = [(*lease.key, lease.token, each // _MILLISECOND) for lease, each in timeouts.items()]
        wanted = part("set_timeouts", rows).parameters()
        found = await self._database.pool.rows("set_timeouts", wanted)
        return {Lease(JobKey(*key), token): from_epoch_ms(until) for *key, token, until in found}

    async def put_back(self, leases: Sequence[Lease]) -> None:
        self._database.require_writer()
        await self._database.pool.rows("put_back_jobs", _held(leases))

    async def take_cancelled(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        del now  # the server has a clock
        process_id = self._database.require_writer()
        wanted = part("jobs_called_off", list(keys)).parameters()
        wanted |= {"process_id": process_id, "lease": lease // _MILLISECOND}
        return sorted(_leases(await self._database.pool.rows("take_called_off", wanted)))

    async def tasks_to_push(self) -> list[tuple[str, str]]:
        found = await self._database.connections.rows("pushed_with_jobs", {})
        return [(tenant, id) for tenant, id in found]

    async def next_lapse(self, now: datetime) -> timedelta | None:
        del now  # the server has a clock
        found = await self._database.connections.rows("next_lapse", {})
        return found[0][0] * _MILLISECOND if found else None

    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        del now  # the server has a clock
        self._database.require_writer()
        return set(_leases(await self._database.pool.rows("hand_over", _held(leases))))


def _names(tasks: Sequence[LimitedTask]) -> dict[str, Column]:
    return {
        "tenant": [task.tenant for task in tasks],
        "task_id": [task.task_id for task in tasks],
    }


def _held(leases: Sequence[Lease]) -> dict[str, Column]:
    return part("leases", [(*each.key, each.token) for each in leases]).parameters()


def _leases(rows: Iterable[Row]) -> list[Lease]:
    return [Lease(JobKey(*key), token) for *key, token in rows]


def _overrun(row: Row) -> Overrun | None:
    """Why the lease ended that a row of `claim_jobs` shows as lapsed, if it is a worker's."""
    until, is_outside, overdue_at, timeout, silence, lease, details = row[6:]
    if not is_outside:
        return None
    return overrun(
        until=until,
        overdue_at=overdue_at,
        timeout=timeout,
        silence=silence,
        lease=lease,
        details=details,
    )
