"""What a store promises to whoever keeps it in order: how much waits in it, and forgetting."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from msgspec import Struct

COUNTED = 100_000
"""Counting stops there: how much waits is never worth more than a short look."""


class Depths(Struct, frozen=True, gc=False, kw_only=True):
    """How much waits in a store, of all tenants, and for how long; counts end at `COUNTED`."""

    active: int = 0
    """Instances that have not ended."""
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


class Upkeep(Protocol):
    """The verbs of metrics and retention."""

    async def depths(self, now: datetime) -> Depths:
        """How much waits. One short look, whatever is stored."""

    async def erase_instances(
        self,
        tenant: str,
        ids: Collection[str],
        *,
        with_dead_letters: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        """Forget roots with all that is below them, every row of theirs; which of `ids` are gone.

        One stays where it is no root, is not the tenant's, or where it or something below it has
        not ended, has an owner, timer, wait or job, or something in the outbox; and, unless
        `with_dead_letters`, where it left a dead letter. An idempotency key goes with its instance.
        All of one root or nothing; with `dry_run` nothing at all, and the answer is what would go.
        """
