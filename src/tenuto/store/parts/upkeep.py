"""What metrics and operators ask of a store."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from msgspec import Struct

COUNTED = 100_000
"""Counting stops there: how much waits is never worth more than a short look."""


class Depths(Struct, frozen=True, gc=False, kw_only=True):
    """How much waits in a store, of all tenants, and for how long; counts end at `COUNTED`."""

    active: int = 0
    """Instances that have not ended, without those that are only tried out (`~test:`)."""
    waits: int = 0
    """Open waits and triggers."""
    mail: int = 0
    jobs: int = 0
    """Those that nobody has claimed."""
    timers_due: int = 0
    untold: int = 0
    """Rows of the outbox."""
    postings: int = 0
    oldest_mail: datetime | None = None
    oldest_job: datetime | None = None
    oldest_timer: datetime | None = None
    """When the first of those that are due was."""
    oldest_untold: datetime | None = None
    oldest_posting: datetime | None = None
    connections: int = 0
    """How many looks may be under way at once; 0 where a store has no such bound."""
    connections_in_use: int = 0


class RowSecurity(Struct, frozen=True, gc=False, kw_only=True):
    """Whether the store itself keeps what is read for one tenant from another's rows."""

    is_up: bool
    advice: str = ""
    """What raises it."""


class Upkeep(Protocol):
    """What operators ask of a store."""

    async def row_security(self) -> RowSecurity | None:
        """How the second wall between tenants stands; None where a store has none."""

    async def depths(self, now: datetime) -> Depths:
        """How much waits. One short look, whatever is stored."""

    async def tenants(self) -> list[str]:
        """Whoever has a definition, an event or a listener, in order."""
