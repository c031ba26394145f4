"""Figures about a whole store, for metrics and operators."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from tenuto.model.durations import epoch_ms

COUNTED = 100_000
"""Counts stop here, so that counting a backlog stays cheap."""


Stored: TypeAlias = Literal["instances", "waits", "events"]
STORED: dict[Stored, str] = {
    "instances": "stored_instances",
    "waits": "stored_waits",
    "events": "stored_events",
}
"""The statements that count them."""

Weighed: TypeAlias = Literal["logs", "lines", "events", "definitions"]
WEIGHED: dict[Weighed, str] = {
    "logs": "bytes_of_logs",
    "lines": "bytes_of_lines",
    "events": "bytes_of_events",
    "definitions": "bytes_of_definitions",
}
"""The statements that add up their bytes."""
ROW_BYTES = 100
"""What a row takes beside its payload, about."""


class Place(NamedTuple):
    """Where a part of a tenant's rows ends: a moment, an id and a number, by which they are sorted.

    Of an entry: when its instance changed, that instance, its number. Of lines of a task: the same,
    and when they were written. Of an event: when it was
    received, its number. Of a definition: its id and version.
    """

    at: int = 0
    id: str = ""
    number: int = 0


class Weight(NamedTuple):
    """The bytes of some rows, and where the next ones begin."""

    size: int
    after: Place | None
    """None: there are no more."""


def weighing(tenant: str, after: Place, until: datetime, limit: int) -> dict[str, int | str]:
    """The parameters of the statements that weigh."""
    return {
        "tenant": tenant,
        **after._asdict(),
        "until": epoch_ms(until),
        "limit": limit,
        "row_bytes": ROW_BYTES,
    }


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

    async def weigh(
        self, what: Weighed, tenant: str, *, after: Place, until: datetime, limit: int
    ) -> Weight:
        """The bytes of the next rows of a kind that a tenant has, by an index: `limit` at most.

        With `ROW_BYTES` for each. `until`: rows that are newer, and logs that have changed since,
        are left out.
        """

    async def tenants(self) -> list[str]:
        """The tenants that have a definition, an event or a listener, sorted."""
