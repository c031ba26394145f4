"""Jobs: attempts that any process or worker with the task may run, and the leases on them.

A lease is held by an engine process or by an external worker. A worker's lease is independent of
any engine process: it goes on when processes stop, and lapses by the store's clock alone, at the
end of the lease, at the time-out of the attempt, or at the heartbeat time-out of its task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from tenuto.model.policy import DEFAULT_TIMEOUT
from tenuto.store.marks import claims, writes


class JobKey(NamedTuple):
    """The key of a job: an attempt of a node of an instance."""

    instance_id: str
    node: str
    iteration: str
    attempt: int


class JobRow(Struct, frozen=True, gc=False, kw_only=True):
    """An attempt that may be run by any process or worker that has its task."""

    key: JobKey
    task_id: str
    offered_at: datetime
    tenant: str = "default"
    timeout: timedelta = DEFAULT_TIMEOUT
    """How long a worker may take, from its claim."""
    heartbeat_timeout: timedelta | None = None
    """How long a worker may go without a heartbeat."""
    is_cancelled: bool = False
    """Whether it must not be started any more."""


class Lease(NamedTuple):
    """The right to work on a job until the lease lapses; the token rises with each grant."""

    key: JobKey
    token: int


class Overrun(NamedTuple):
    """Why a worker's lease lapsed, if that is a failure of the task and not a lost attempt."""

    cause: Literal["timeout", "silence"]
    seconds: float
    """The time-out that was exceeded."""
    details: str | None = None
    """The details of the last heartbeat, as JSON."""


class Lapsed(NamedTuple):
    """A lease that is held no longer; `clean` if its process shut down cleanly."""

    lease: Lease
    clean: bool
    overrun: Overrun | None = None


class JobClaims(NamedTuple):
    """Jobs leased to the calling process, and leases of other holders that have lapsed."""

    granted: list[Lease]
    lapsed: list[Lapsed]


class WorkerClaim(NamedTuple):
    """An external worker's request for jobs."""

    tenant: str
    worker_id: str
    task_ids: tuple[str, ...] | None
    """Jobs of these tasks; None: of any task."""
    limit: int
    lease: timedelta


class Grant(NamedTuple):
    """A job leased to a worker until that time, unless the lease is extended."""

    lease: Lease
    until: datetime


class Beat(NamedTuple):
    """A worker's heartbeat for a lease; `details` is JSON, for display only."""

    lease: Lease
    details: str | None = None


class Extension(NamedTuple):
    """An extended lease of a worker; `is_cancelled` if the instance has cancelled the job."""

    until: datetime
    is_cancelled: bool
    worker_id: str


class Jobs(Protocol):
    """Jobs and the leases on them."""

    @claims
    async def claim(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        """Lease at most `limit` jobs of these tasks, in the order in which they were offered.

        A lease that lapsed, or whose process is gone, is returned to every caller, at most `lapsed`
        of them, until its job is withdrawn: such a job is not leased again. The store's own clock
        counts if it has one, else `now`. Raises CommitUnknown when the answer was lost.
        """

    async def leases(self, now: datetime) -> list[Lease]:
        """The valid leases of this process, including those whose grant it never received."""

    async def extend(self, leases: Sequence[Lease], lease: timedelta, now: datetime) -> set[Lease]:
        """Extend leases of this process by `lease`; returns those that it still holds."""

    @claims
    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        """Lease jobs to an external worker, in the order in which they were offered.

        Cancelled jobs are left out; so are jobs of pushed tasks if `claim.task_ids` is None. The
        lease lapses after `claim.lease`, at the job's time-out or at its heartbeat time-out,
        whichever is first; it does not depend on any process. Raises CommitUnknown when the answer
        was lost.
        """

    @claims
    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        """Extend workers' leases by the length that was claimed; any process may do this.

        Never beyond the job's time-out. Leases that have lapsed or do not exist are left out.
        """

    @claims
    async def set_timeouts(
        self, timeouts: Mapping[Lease, timedelta], now: datetime
    ) -> dict[Lease, datetime]:
        """Change the time-outs of jobs that were just leased to workers: each from its claim.

        Returns until when each lease lasts then. Leases that have lapsed or do not exist are left
        out.
        """

    @claims
    async def put_back(self, leases: Sequence[Lease]) -> None:
        """Undo leases whose grants never reached the worker: the jobs count as never leased."""

    @claims
    async def take_cancelled(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        """Lease to this process those of these jobs that are cancelled and not leased."""

    async def tasks_to_push(self) -> list[tuple[str, str]]:
        """The pushed tasks of all tenants that have unclaimed jobs, as pairs (tenant, id).

        A hint only: a claim decides which of these jobs are available.
        """

    async def next_lapse(self, now: datetime) -> timedelta | None:
        """The time until the next lease of a worker lapses; None if there is none."""

    @writes
    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        """Extend workers' leases to their attempts' time-outs; no heartbeats are needed until then.

        Returns those that were extended: not those that have lapsed or do not exist.
        """
