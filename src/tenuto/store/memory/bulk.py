"""Bulk operations, over tables in memory."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.bulk_columns import BulkColumns, bulk_bound, bulk_columns, bulk_row
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import pack, unpack
from tenuto.store.parts.bulk import BulkPlace, BulkRow


class MemoryBulk(MemoryPart):
    """Bulk operations by tenant and id."""

    async def put(self, row: BulkRow) -> BulkRow:
        self._context.require_open()
        found = self._get(row.tenant, row.id)
        if found is None:
            self._put(bulk_columns(row), 0)
        return row if found is None else bulk_row(found)

    async def get(self, tenant: str, id: str) -> BulkRow | None:
        found = self._get(tenant, id)
        return None if found is None else bulk_row(found)

    async def page(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        bound = bulk_bound(below)
        mine = [
            row for row in self._rows() if row.tenant == tenant and (row.created_at, row.id) < bound
        ]
        mine.sort(key=lambda row: (row.created_at, row.id), reverse=True)
        return [bulk_row(row) for row in mine[:limit]]

    async def claim(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        self._context.require_open()
        held = self._disk.bulks_held
        free = [
            (held_until, row)
            for row in self._rows()
            if row.is_open and (held_until := held.get((row.tenant, row.id), 0)) <= epoch_ms(now)
        ]
        free.sort(key=lambda each: each[0])
        claimed = [row._replace(token=row.token + 1) for _, row in free[:limit]]
        for row in claimed:
            self._put(row, epoch_ms(until))
        return [bulk_row(row) for row in claimed]

    async def save(self, row: BulkRow, until: datetime) -> BulkRow | None:
        self._context.require_open()
        found = self._get(row.tenant, row.id)
        if found is None or found.token != row.token:
            return None
        saved = found._replace(progress=row.progress, is_open=int(row.is_open))
        self._put(saved, epoch_ms(until))
        return bulk_row(saved)

    async def stop(self, tenant: str, id: str) -> BulkRow | None:
        self._context.require_open()
        found = self._get(tenant, id)
        if found is None:
            return None
        stopped = found._replace(is_stopped=1)
        self._put(stopped, self._disk.bulks_held.get((tenant, id), 0))
        return bulk_row(stopped)

    async def prune(self, tenant: str, before: datetime, limit: int) -> int:
        self._context.require_open()
        disk = self._disk
        old = [
            row
            for row in self._rows()
            if row.tenant == tenant and row.created_at < epoch_ms(before) and not row.is_open
        ]
        old.sort(key=lambda row: (row.created_at, row.id))
        with disk.transaction():
            for row in old[:limit]:
                disk.drop(disk.bulks, (row.tenant, row.id))
                disk.drop(disk.bulks_held, (row.tenant, row.id))
        return len(old[:limit])

    def _get(self, tenant: str, id: str) -> BulkColumns | None:
        found = self._disk.bulks.get((tenant, id))
        return None if found is None else unpack(BulkColumns, found)

    def _rows(self) -> list[BulkColumns]:
        return [unpack(BulkColumns, row) for row in self._disk.bulks.values()]

    def _put(self, row: BulkColumns, held_until: int) -> None:
        disk = self._disk
        with disk.transaction():
            disk.put(disk.bulks, (row.tenant, row.id), pack(row))
            disk.put(disk.bulks_held, (row.tenant, row.id), held_until)
