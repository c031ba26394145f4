"""Jobs and the leases on them, by the clock of the server."""

from __future__ import annotations

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
    Overrun,
    WorkerClaim,
)
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.queries import Column, statement
from tenuto.store.postgres.turn_rows import part

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
            **self._database.passing_over,
        }
        async with self._database.pool.session() as session:
            rows = await session.commit(statement("claim_for_worker", session.schema), wanted)
        return [
            Grant(Lease(JobKey(*key), token), from_epoch_ms(until)) for *key, token, until in rows
        ]

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
