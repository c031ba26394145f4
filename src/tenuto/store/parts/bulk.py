"""Bulk operations: the request of each, and its progress."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenuto.store.marks import for_tenants, writes


class BulkRow(Struct, frozen=True, gc=False, kw_only=True):
    """An action on many objects. Its content is opaque to the store."""

    tenant: str
    id: str
    content: bytes
    """The request."""
    progress: bytes
    """How far the operation has got."""
    created_at: datetime
    is_open: bool = True
    """Whether there is work left to do."""
    is_stopped: bool = False
    """Whether a stop was requested."""
    token: int = 0
    """Rises with every claim: the holder of an older token can write nothing."""


class BulkPlace(NamedTuple):
    """A place in the list of a tenant's operations, ordered by these fields, newest first."""

    created_at: datetime
    id: str


class Bulk(Protocol):
    """Bulk operations. All verbs are safe to repeat."""

    @writes
    async def put(self, row: BulkRow) -> BulkRow:
        """Store a new operation; if its id exists, return the stored one unchanged."""

    @for_tenants
    async def get(self, tenant: str, id: str) -> BulkRow | None:
        """An operation by its id; None if there is none."""

    @for_tenants
    async def page(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        """Operations of a tenant, newest first; with `below`, those after that place."""

    @writes
    async def claim(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        """Claim open operations whose claims have expired at `now`; the new claims last `until`.

        Operations that were never claimed go first, then those that were idle the longest.
        """

    @writes
    async def save(self, row: BulkRow, until: datetime) -> BulkRow | None:
        """Save the progress and extend the claim `until` then; None if the token is outdated.

        The row that is returned says whether a stop was requested meanwhile.
        """

    @writes
    async def stop(self, tenant: str, id: str) -> BulkRow | None:
        """Request a stop; None if there is no such operation."""

    @writes
    async def prune(self, tenant: str, before: datetime, limit: int) -> int:
        """Delete at most `limit` finished operations created before then; returns how many."""
