"""Bulk operations: the request of each, and its progress."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Parameters
from tenuto.store.cold.rows import columns_of, records_of
from tenuto.store.marks import for_tenants, writes

_FARTHEST = (1 << 63) - 1


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


class Bulk(ColdPart):
    """Bulk operations, which several processes take from each other. All verbs may be repeated."""

    @writes
    async def put(self, row: BulkRow) -> BulkRow:
        """Store a new operation; if its id exists, return the stored one unchanged."""
        await self._port.write("insert_bulk", columns_of(row))
        try:
            there = await self.get(row.tenant, row.id)
        except StoreUnavailable as error:
            raise may_be_written(f"it was kept, and not seen again: {error.message}") from error
        assert there is not None
        return there

    @for_tenants
    async def get(self, tenant: str, id: str) -> BulkRow | None:
        """An operation by its id; None if there is none."""
        return await self._one(BulkRow, "bulk", {"tenant": tenant, "id": id})

    @for_tenants
    async def page(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        """Operations of a tenant, newest first; with `below`, those after that place."""
        created, id = (_FARTHEST, "") if below is None else (epoch_ms(below.created_at), below.id)
        which = {"tenant": tenant, "below_created": created, "below_id": id, "limit": limit}
        return await self._found(BulkRow, "bulks", which)

    @for_tenants
    async def stored_bytes(self, tenant: str) -> int:
        """How many bytes the requests of a tenant's operations have."""
        [(size,)] = await self._port.rows("bytes_of_bulks", {"tenant": tenant})
        return int(size)

    @writes
    async def claim(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        """Claim open operations whose claims have expired at `now`; the new claims last `until`.

        Operations that were never claimed go first, then those that were idle the longest.
        """
        which = {"now": epoch_ms(now), "until": epoch_ms(until), "limit": limit}
        return records_of(BulkRow, await self._port.write("claim_bulks", which))

    @writes
    async def save(self, row: BulkRow, until: datetime) -> BulkRow | None:
        """Save the progress and extend the claim `until` then; None if the token is outdated.

        The row that is returned says whether a stop was requested meanwhile.
        """
        return await self._changed("save_bulk", columns_of(row) | {"until": epoch_ms(until)})

    @writes
    async def stop(self, tenant: str, id: str, content: bytes) -> BulkRow | None:
        """Request a stop, with the request as it is then; None if there is no such operation."""
        return await self._changed("stop_bulk", {"tenant": tenant, "id": id, "content": content})

    @writes
    async def prune(self, tenant: str, before: datetime, limit: int) -> int:
        """Delete at most `limit` finished operations created before then; returns how many."""
        which = {"tenant": tenant, "before": epoch_ms(before), "limit": limit}
        return len(await self._port.write("prune_bulks", which))

    async def _changed(self, name: str, change: Parameters) -> BulkRow | None:
        found = records_of(BulkRow, await self._port.write(name, change))
        return found[0] if found else None
