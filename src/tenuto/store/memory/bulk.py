"""Actions over many things, on a disk in memory."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.bulk_columns import BulkColumns, bulk_bound, bulk_columns, bulk_row
from tenuto.store.bulk_protocol import BulkPlace, BulkRow
from tenuto.store.memory.disk import MemoryDisk, pack, unpack


def put_bulk(disk: MemoryDisk, row: BulkRow) -> BulkRow:
    there = bulk(disk, row.tenant, row.id)
    if there is None:
        _put(disk, bulk_columns(row), 0)
    return there or row


def bulk(disk: MemoryDisk, tenant: str, id: str) -> BulkRow | None:
    found = disk.bulks.get((tenant, id))
    return None if found is None else bulk_row(_columns(found))


def bulks(disk: MemoryDisk, tenant: str, limit: int, below: BulkPlace | None) -> list[BulkRow]:
    bound = bulk_bound(below)
    rows = [_columns(row) for row in disk.bulks.values()]
    mine = [row for row in rows if row.tenant == tenant and (row.created_at, row.id) < bound]
    mine.sort(key=lambda row: (row.created_at, row.id), reverse=True)
    return [bulk_row(row) for row in mine[:limit]]


def claim_bulks(disk: MemoryDisk, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
    free = [
        _columns(row)
        for key, row in disk.bulks.items()
        if _columns(row).is_open and disk.bulks_held.get(key, 0) <= epoch_ms(now)
    ]
    taken = [row._replace(token=row.token + 1) for row in free[:limit]]
    for row in taken:
        _put(disk, row, epoch_ms(until))
    return [bulk_row(row) for row in taken]


def save_bulk(disk: MemoryDisk, row: BulkRow, until: datetime) -> BulkRow | None:
    found = disk.bulks.get((row.tenant, row.id))
    there = None if found is None else _columns(found)
    if there is None or there.token != row.token:
        return None
    saved = there._replace(progress=row.progress, is_open=int(row.is_open))
    _put(disk, saved, epoch_ms(until))
    return bulk_row(saved)


def stop_bulk(disk: MemoryDisk, tenant: str, id: str) -> BulkRow | None:
    found = disk.bulks.get((tenant, id))
    if found is None:
        return None
    stopped = _columns(found)._replace(is_stopped=1)
    _put(disk, stopped, disk.bulks_held.get((tenant, id), 0))
    return bulk_row(stopped)


def prune_bulks(disk: MemoryDisk, tenant: str, before: datetime, limit: int) -> int:
    rows = [_columns(row) for row in disk.bulks.values()]
    old = [
        row
        for row in rows
        if row.tenant == tenant and row.created_at < epoch_ms(before) and not row.is_open
    ]
    old.sort(key=lambda row: (row.created_at, row.id))
    with disk.transaction():
        for row in old[:limit]:
            disk.drop(disk.bulks, (row.tenant, row.id))
            disk.drop(disk.bulks_held, (row.tenant, row.id))
    return len(old[:limit])


def _columns(row: bytes) -> BulkColumns:
    return unpack(BulkColumns, row)


def _put(disk: MemoryDisk, row: BulkColumns, held_until: int) -> None:
    with disk.transaction():
        disk.put(disk.bulks, (row.tenant, row.id), pack(row))
        disk.put(disk.bulks_held, (row.tenant, row.id), held_until)
