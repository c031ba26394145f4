"""What a store promises about jobs: attempts that are left to others, and the leases on them.

A lease belongs to an engine process, or to a worker outside, which no process answers for. What a
worker holds runs on whichever process goes, and lapses by the store's clock alone: by its own
length, by the time-out of the attempt, or by the silence that its task is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from tenuto.model.policy import DEFAULT_TIMEOUT
from tenuto.store.marks import claims, writes


class JobKey(NamedTuple):
    """Which attempt of which instance."""

    instance_id: str
    node: str
    iteration: str
    attempt: int


class JobRow(Struct, frozen=True, gc=False, kw_only=True):
    """An attempt that is left to whichever process, or worker, has its task."""

    key: JobKey
    task_id: str
    offered_at: datetime
    tenant: str = "default"
    timeout: timedelta = DEFAULT_TIMEOUT
    """How long a worker may take, from its claim."""
    heartbeat_timeout: timedelta | None = None
    """How long a worker may be silent."""
    is_called_off: bool = False
    """Whether nobody is to begin with it any more."""


class Lease(NamedTuple):
    """The right to work on a job while it is extended; the token rises with each grant."""

    key: JobKey
    token: int


class Overrun(NamedTuple):
    """Why a worker's lease lapsed, where that is a failure of its task and no loss."""

    cause: Literal["timeout", "silence"]
    seconds: float
    """How long the task, or its silence, was allowed to be."""
    details: str | None = None
    """What its last heartbeat said, as JSON."""


class Lapsed(NamedTuple):
    """A lease that nobody holds any more; `clean` when its process stopped in good order."""

    lease: Lease
    clean: bool
    overrun: Overrun | None = None


class JobClaims(NamedTuple):
    """Jobs that a process may work on from now on, and leases of others that nobody extended."""

    granted: list[Lease]
    lapsed: list[Lapsed]


class WorkerClaim(NamedTuple):
    """What a worker outside asks for."""

    tenant: str
    worker_id: str
    task_ids: tuple[str, ...] | None
    """Of which tasks; None: of any."""
    limit: int
    lease: timedelta


class Grant(NamedTuple):
    """A job that a worker may work on from now on, until then unless it is extended."""

    lease: Lease
    until: datetime


class Beat(NamedTuple):
    """A worker says that it is at work under a lease; `details` is JSON for people."""

    lease: Lease
    details: str | None = None


class Extension(NamedTuple):
    """A worker's lease goes on; `is_called_off` when its instance wants no more of the job."""

    until: datetime
    is_called_off: bool


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
        """Lease jobs of these tasks, those that were offered first first, `limit` at most.

        A lease that lapsed, or whose process is gone, is shown to everybody who asks, `lapsed` at
        most, until its job is withdrawn: such a job is not leased again. Time is the store's own
        where it has a clock, else `now`. CommitUnknown when the answer got lost.
        """

    async def leases(self, now: datetime) -> list[Lease]:
        """The leases of this process that have not lapsed, also those that it never heard of."""

    async def extend(self, leases: Sequence[Lease], lease: timedelta, now: datetime) -> set[Lease]:
        """Hold on to jobs for another while; which of them are still this process's."""

    @claims
    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        """Lease jobs to a worker outside.

        Those that were offered first first, and none that was called off; of any task: none of one
        that is pushed. The lease ends with
        `claim.lease`, the job's time-out or the silence that it is allowed, whichever is first, and
        not with any process. CommitUnknown when the answer got lost.
        """

    @claims
    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        """Let workers' leases go on for as long as they were asked for, whoever serves them.

        Never past the job's time-out. Those that have lapsed, or are not there, are left out.
        """

    @claims
    async def put_back(self, leases: Sequence[Lease]) -> None:
        """Have jobs that a worker never heard of as if they had not been leased to it."""

    @claims
    async def take_cancelled(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        """Lease to this process those of these jobs that were called off and that nobody has."""

    async def next_lapse(self, now: datetime) -> timedelta | None:
        """How long it is until the next of the workers' leases lapses."""

    @writes
    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        """Let leases of workers go on until their attempts' time-outs, without a word from anybody.

        Those that have lapsed, or are not there, are left out.
        """
