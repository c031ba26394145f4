"""Data queries: statements that workflows run by their ids."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Script
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import for_tenants, writes


class DataQueryRow(Struct, frozen=True, gc=False, kw_only=True):
    """A data query. Its document is opaque to the store."""

    tenant: str
    id: str
    version: int
    """Rises with each change."""
    data_source_id: str
    document: bytes
    """JSON."""
    created_at: datetime
    created_by: str | None
    changed_at: datetime
    changed_by: str | None


class DataQueries(ColdPart):
    """The data queries of all tenants. All verbs are safe to repeat."""

    @writes
    async def save(self, row: DataQueryRow) -> bool:
        """Store a query; False unless its source exists and its version follows the stored one.

        The stored one must have the same `created_at`, too: one that was removed and made again
        begins with version 1. True also where exactly this row is stored.
        """
        verb = "insert_data_query" if row.version == 1 else "update_data_query"

        def script() -> Script[bool]:
            source = {"tenant": row.tenant, "id": row.data_source_id}
            if not (yield Ask("keep_data_source", source)):
                return False
            return bool((yield Ask(verb, columns_of(row))))

        if await self._port.transaction(script):
            return True
        # The same query, where the answer to the first attempt was lost.
        return await self.get(row.tenant, row.id) == row

    @for_tenants
    async def get(self, tenant: str, id: str) -> DataQueryRow | None:
        """A data query of a tenant."""
        return await self._one(DataQueryRow, "data_query", {"tenant": tenant, "id": id})

    @for_tenants
    async def page(
        self,
        tenant: str,
        *,
        after: str = "",
        limit: int = 1_000,
        data_source_id: str | None = None,
    ) -> list[DataQueryRow]:
        """The queries of a tenant, or of one of its sources, with ids after `after`, by id."""
        which = {"tenant": tenant, "after": after, "limit": limit}
        if data_source_id is None:
            return await self._found(DataQueryRow, "data_queries", which)
        which["data_source_id"] = data_source_id
        return await self._found(DataQueryRow, "data_queries_of_source", which)

    @for_tenants
    async def ids(self, tenant: str, limit: int) -> list[str]:
        """The first ids of a tenant's data queries, in order: each may have a megabyte."""
        found = await self._port.rows("data_query_ids", {"tenant": tenant, "limit": limit})
        return [str(id) for (id,) in found]

    @for_tenants
    async def stored(self, tenant: str, most: int) -> int:
        """How many data queries a tenant has; it counts to `most` at most."""
        [(count,)] = await self._port.rows("count_data_queries", {"tenant": tenant, "most": most})
        return int(count)

    @for_tenants
    async def stored_bytes(self, tenant: str) -> int:
        """How many bytes the documents of a tenant's data queries have."""
        [(size,)] = await self._port.rows("bytes_of_data_queries", {"tenant": tenant})
        return int(size)

    @writes
    async def remove(self, tenant: str, id: str) -> bool:
        """Delete a data query; returns whether it existed."""
        return bool(
            await self._port.write_beside("remove_data_query", {"tenant": tenant, "id": id})
        )
