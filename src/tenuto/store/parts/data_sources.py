"""Data sources: the databases that the queries of a tenant read."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Script
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import for_tenants, writes


class DataSourceRow(Struct, frozen=True, gc=False, kw_only=True):
    """A data source. Its document is opaque to the store, and has no password in it."""

    tenant: str
    id: str
    version: int
    """Rises with each change."""
    document: bytes
    """JSON."""
    created_at: datetime
    created_by: str | None
    changed_at: datetime
    changed_by: str | None


class DataSources(ColdPart):
    """The data sources of all tenants. All verbs are safe to repeat."""

    @writes
    async def save(self, row: DataSourceRow) -> bool:
        """Store a data source; False unless its version follows the stored version.

        The stored one must have the same `created_at`, too: one that was removed and made again
        begins with version 1. True also where exactly this row is stored.
        """
        verb = "insert_data_source" if row.version == 1 else "update_data_source"
        if await self._port.write_beside(verb, columns_of(row)):
            return True
        # The same data source, where the answer to the first attempt was lost.
        return await self.get(row.tenant, row.id) == row

    @for_tenants
    async def get(self, tenant: str, id: str) -> DataSourceRow | None:
        """A data source of a tenant."""
        return await self._one(DataSourceRow, "data_source", {"tenant": tenant, "id": id})

    @for_tenants
    async def page(
        self, tenant: str, *, after: str = "", limit: int = 1_000
    ) -> list[DataSourceRow]:
        """The data sources of a tenant with ids after `after`, ordered by id."""
        which = {"tenant": tenant, "after": after, "limit": limit}
        return await self._found(DataSourceRow, "data_sources", which)

    @for_tenants
    async def stored(self, tenant: str, most: int) -> int:
        """How many data sources a tenant has; it counts to `most` at most."""
        [(count,)] = await self._port.rows("count_data_sources", {"tenant": tenant, "most": most})
        return int(count)

    @writes
    async def remove(self, tenant: str, id: str) -> bool:
        """Delete a data source; False if there is none, or a query names it."""

        def script() -> Script[bool]:
            which = {"tenant": tenant, "id": id}
            # A query is stored under a lock of its source: the next statement sees it.
            yield Ask("lock_data_source", which)
            return bool((yield Ask("remove_data_source", which)))

        return await self._port.transaction(script)
