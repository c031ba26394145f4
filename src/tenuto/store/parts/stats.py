"""Statistics about a tenant's instances and jobs, each from a bounded query."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from tenuto.model.status import Status
from tenuto.store.marks import for_tenants


class Tally(NamedTuple):
    """The number of instances with the same definition, status and times."""

    definition_id: str
    status: Status
    started_minute: int
    """When they were created, in minutes since 1970; 0 if that was before `apart_from`."""
    ended_minute: int
    """When they ended, likewise; 0 also if they have not ended."""
    instances: int


class Completed(NamedTuple):
    """One completed instance."""

    at: int
    """When it ended, in milliseconds since 1970."""
    milliseconds: int
    """From its creation to its end."""


class WaitingJobs(NamedTuple):
    """Unclaimed jobs."""

    jobs: int
    oldest: datetime | None


class TaskJobs(NamedTuple):
    """The jobs of one task."""

    task_id: str
    waiting: int
    """Unclaimed ones."""
    oldest: datetime | None
    """Since when the first of them has waited."""
    held: int
    """Those with a valid lease, of a process or a worker."""


class Stats(Protocol):
    """Bounded counts."""

    @for_tenants
    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        """Count the instances created from `since` on; by minute for times from `apart_from` on.

        Of each status only the newest `most` instances are counted.
        """

    @for_tenants
    async def durations(self, tenant: str, since: datetime, most: int) -> list[Completed]:
        """How long completed instances took that were created from `since` on.

        Of them the newest `most`, newest first; test runs do not count.
        """

    @for_tenants
    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        """Count the unclaimed jobs of a tenant, at most `most`."""

    @for_tenants
    async def jobs_by_task(self, tenant: str, now: datetime, most: int) -> list[TaskJobs]:
        """By task, count a tenant's jobs, at most `most` unclaimed and `most` held ones in all.

        The store's own clock counts if it has one, else `now`.
        """

    @for_tenants
    async def leases_of_workers(self, tenant: str, now: datetime, most: int) -> dict[str, int]:
        """By worker, count the valid leases of a tenant's jobs, at most `most` in all.

        The store's own clock counts if it has one, else `now`.
        """
