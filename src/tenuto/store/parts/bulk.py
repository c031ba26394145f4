"""Bulk operations: what was asked for, and how far it has come."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes


class BulkRow(Struct, frozen=True, gc=False, kw_only=True):
    """An action over many things. The store does not know what it means."""

    tenant: str
    id: str
    content: bytes
    """What was asked for."""
    progress: bytes
    """How far it has come."""
    created_at: datetime
    is_open: bool = True
    """Whether somebody has to go on with it."""
    is_stopped: bool = False
    """Whether somebody asked that nobody goes on with it."""
    token: int = 0
    """Rises with every claim: who has an older one writes nothing."""


class BulkPlace(NamedTuple):
    """A place in the list of a tenant's, which is ordered by these, newest first."""

    created_at: datetime
    id: str


class Bulk(Protocol):
    """Bulk operations. All verbs are safe to repeat."""

    @writes
    async def put(self, row: BulkRow) -> BulkRow:
        """Keep a new one; where its id is there already, what is there."""

    @for_tenants
    async def get(self, tenant: str, id: str) -> BulkRow | None:
        """One of them, if it is there."""

    @for_tenants
    async def page(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        """Those of a tenant, newest first; those below a place, where one is named."""

    @writes
    async def claim(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        """Take open ones that nobody holds at `now`; they are held `until` then.

        Those that rest the longest go first, and before them those that nobody has held yet.
        """

    @writes
    async def save(self, row: BulkRow, until: datetime) -> BulkRow | None:
        """Write how far it has come, and hold it `until` then; None where the token is old.

        What is given back says whether it was stopped meanwhile.
        """

    @writes
    async def stop(self, tenant: str, id: str) -> BulkRow | None:
        """Ask that nobody goes on with it; None where there is none."""

    @writes
    async def prune(self, tenant: str, before: datetime, limit: int) -> int:
        """Forget those that were made before then and are over; at most `limit`; how many."""
