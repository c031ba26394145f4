"""Figures about a whole store, for metrics and operators."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

COUNTED = 100_000
"""Counts stop here, so that counting a backlog stays cheap."""


Stored: TypeAlias = Literal["instances", "waits", "events"]
STORED: dict[Stored, str] = {
    "instances": "stored_instances",
    "waits": "stored_waits",
    "events": "stored_events",
}
"""The statements that count them."""


class Depths(Struct, frozen=True, gc=False, kw_only=True):
    """The backlogs of a store, over all tenants, and their age; counts stop at `COUNTED`."""

    active: int = 0
    """Instances that have not ended, without test runs (`~test:`)."""
    waits: int = 0
    """Open waits and triggers."""
    mail: int = 0
    jobs: int = 0
    """Unclaimed jobs."""
    timers_due: int = 0
    untold: int = 0
    """Outbox rows."""
    postings: int = 0
    oldest_mail: datetime | None = None
    oldest_job: datetime | None = None
    oldest_timer: datetime | None = None
    """When the oldest of the due timers was due."""
    oldest_untold: datetime | None = None
    oldest_posting: datetime | None = None
    connections: int = 0
    """The size of the connection pool; 0 if the store has no such bound."""
    connections_in_use: int = 0


class RowSecurity(Struct, frozen=True, gc=False, kw_only=True):
    """Whether the database itself isolates tenants from each other's rows."""

    is_up: bool
    advice: str = ""
    """How to switch it on."""


class Upkeep(Protocol):
    """Figures for metrics and operators."""

    async def row_security(self) -> RowSecurity | None:
        """The state of row-level security; None if the store does not support it."""

    async def depths(self, now: datetime) -> Depths:
        """The backlogs. A cheap query, however much is stored."""

    async def stored(self, what: Stored, tenant: str, most: int) -> int:
        """How many of a kind a tenant has, by an index; it counts to `most` at most.

        Instances that have not ended; open waits, with their arms, and triggers; events.
        """

    async def tenants(self) -> list[str]:
        """The tenants that have a definition, an event or a listener, sorted."""
