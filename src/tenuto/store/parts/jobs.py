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
from tenuto.model.task_definition import TaskLimits
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
    is_limited: bool = False
    """Whether its task has limits: only `claim_limited` leases it to a process."""


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
    but: tuple[str, ...] = ()
    """Jobs of these tasks are left out: they have limits."""


class LimitedTask(NamedTuple):
    """A task with limits, of which at most so many jobs are wanted."""

    tenant: str
    task_id: str
    most: int
    limits: TaskLimits


class LimitedClaim(NamedTuple):
    """A request for jobs of tasks that have limits."""

    tasks: tuple[LimitedTask, ...]
    """In order, each once."""
    limit: int
    lease: timedelta
    worker_id: str | None = None
    """The worker outside that asks; None: the calling process."""


class Hindrance(NamedTuple):
    """Why no further job of a task is granted, where one may be waiting."""

    tenant: str
    task_id: str
    obstacle: Literal["concurrency", "rate"]
    seconds: float | None = None
    """Until the rate lets one begin."""


class TaskHolder(NamedTuple):
    """An attempt that counts for the limit of its task."""

    key: JobKey
    leased_by: str
    is_outside: bool
    """Whether a worker has it, and not a process of the service."""


class TaskUse(NamedTuple):
    """How much of the limits of a task is used."""

    held: int
    """Attempts under way."""
    holders: tuple[TaskHolder, ...]
    """Some of them."""
    tokens: int | None = None
    """How many more the rate let begin at `tokens_at`, in millionths; None: it was never asked."""
    tokens_at: int = 0


class Grant(NamedTuple):
    """A job leased to a worker until that time, unless the lease is extended."""

    lease: Lease
    until: datetime


class LimitedGrants(NamedTuple):
    """The answer to a claim of jobs of limited tasks."""

    granted: list[Grant]
    hindered: list[Hindrance]


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

        Jobs of tasks with limits are left out. A lease that lapsed, or whose process is gone, is
        returned to every caller, at most `lapsed` of them, until its job is withdrawn: such a job
        is not leased again. The store's own clock counts if it has one, else `now`. Raises
        CommitUnknown when the answer was lost.
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
    async def claim_limited(self, claim: LimitedClaim, now: datetime) -> LimitedGrants:
        """Lease jobs of tasks with limits to this process or to a worker, in the order offered.

        At no moment are more jobs of such a task leased than its limit, nor are more granted than
        its rate allows, whoever claims: claims of one task wait for one another. A lease that
        lapsed counts until its job is withdrawn. Raises CommitUnknown when the answer was lost.
        """

    @claims
    async def mark_limited(self, tenant: str, task_id: str) -> None:
        """The unclaimed jobs of a task count for its limits, which it had not before."""

    async def limited_tasks(self) -> list[tuple[str, str]]:
        """Tasks with limits that have unclaimed jobs, as pairs (tenant, id), in order."""

    async def use_of(self, tenant: str, task_id: str, *, most: int = 5) -> TaskUse:
        """How much of the limits of a task is used, with at most so many holders."""

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
