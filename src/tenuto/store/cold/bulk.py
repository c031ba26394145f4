"""Bulk operations, which several processes take from each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.bulk_columns import BulkColumns, bulk_bound, bulk_columns, bulk_row
from tenuto.store.cold.port import Row, RowPort
from tenuto.store.looking import looked_for
from tenuto.store.parts.bulk import BulkPlace, BulkRow


class BulkRecords:
    """Bulk operations in a table."""

    def __init__(self, port: RowPort) -> None:
        self._port = port

    async def put(self, row: BulkRow) -> BulkRow:
        await self._port.write("insert_bulk", bulk_columns(row)._asdict())
        try:
            there = await self.get(row.tenant, row.id)
        except StoreUnavailable as error:
            raise may_be_written(f"it was kept, and not seen again: {error.message}") from error
        assert there is not None
        return there

    async def get(self, tenant: str, id: str) -> BulkRow | None:
        which = {"tenant": tenant, "id": id}
        return _one(await looked_for(self._port.rows("bulk", which), nothing=[]))

    async def page(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        created, id = bulk_bound(below)
        which = {"tenant": tenant, "below_created": created, "below_id": id, "limit": limit}
        return _rows(await looked_for(self._port.rows("bulks", which), nothing=[]))

    async def claim(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        which = {"now": epoch_ms(now), "until": epoch_ms(until), "limit": limit}
        return _rows(await self._port.write("claim_bulks", which))

    async def save(self, row: BulkRow, until: datetime) -> BulkRow | None:
        columns = bulk_columns(row)._asdict()
        names = ("tenant", "id", "token", "progress", "is_open")
        change = {name: columns[name] for name in names} | {"until": epoch_ms(until)}
        return _one(await self._port.write("save_bulk", change))

    async def stop(self, tenant: str, id: str) -> BulkRow | None:
        return _one(await self._port.write("stop_bulk", {"tenant": tenant, "id": id}))

    async def prune(self, tenant: str, before: datetime, limit: int) -> int:
        which = {"tenant": tenant, "before": epoch_ms(before), "limit": limit}
        return len(await self._port.write("prune_bulks", which))


def _rows(found: Sequence[Row]) -> list[BulkRow]:
    return [bulk_row(BulkColumns._make(row)) for row in found]


def _one(found: Sequence[Row]) -> BulkRow | None:
    return bulk_row(BulkColumns._make(found[0])) if found else None
