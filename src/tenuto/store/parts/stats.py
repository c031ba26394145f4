"""Statistics about a tenant's instances and jobs, each from a bounded look."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from tenuto.model.status import Status
from tenuto.store.marks import for_tenants


class Tally(NamedTuple):
    """Instances that have something in common."""

    definition_id: str
    status: Status
    started_minute: int
    """Minutes since 1970 at which they came; 0 for those that came before what is told apart."""
    ended_minute: int
    """The same of their ends; 0 too where they have not ended."""
    instances: int


class WaitingJobs(NamedTuple):
    """Jobs that nobody has claimed."""

    jobs: int
    oldest: datetime | None


class Stats(Protocol):
    """Bounded counts."""

    @for_tenants
    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        """Instances that came since then, told apart by minute from another moment on.

        Of each status at most `most` are looked at, the newest.
        """

    @for_tenants
    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        """How many jobs of a tenant nobody has claimed, of `most` that are looked at."""
