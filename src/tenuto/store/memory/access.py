"""Keys and the audit log, over tables in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice

from tenuto.model.durations import epoch_ms
from tenuto.store.access_columns import (
    AuditColumns,
    KeyColumns,
    append,
    audit_row,
    key_columns,
    key_row,
)
from tenuto.store.access_protocol import (
    NO_HEAD,
    AuditEntry,
    AuditHead,
    AuditQuery,
    AuditRow,
    KeyRow,
)
from tenuto.store.memory.disk import MemoryDisk, pack, unpack


def put_key(disk: MemoryDisk, new: KeyRow) -> bool:
    there = key(disk, new.id)
    if there is not None:
        return there.hash == new.hash
    with disk.transaction():
        disk.put(disk.access_keys, new.id, pack(key_columns(new)))
    return True


def key(disk: MemoryDisk, id: str) -> KeyRow | None:
    found = disk.access_keys.get(id)
    return None if found is None else key_row(unpack(KeyColumns, found))


def keys(disk: MemoryDisk, tenant: str) -> list[KeyRow]:
    found = [unpack(KeyColumns, row) for row in disk.access_keys.values()]
    mine = [row for row in found if row.tenant == tenant]
    return [key_row(row) for row in sorted(mine, key=lambda row: (row.created_at, row.id))]


def revoke_key(disk: MemoryDisk, tenant: str, id: str, now: datetime) -> KeyRow | None:
    found = disk.access_keys.get(id)
    columns = None if found is None else unpack(KeyColumns, found)
    if columns is None or columns.tenant != tenant:
        return None
    if columns.revoked_at is None:
        columns = columns._replace(revoked_at=epoch_ms(now))
        with disk.transaction():
            disk.put(disk.access_keys, id, pack(columns))
    return key_row(columns)


def touch_keys(disk: MemoryDisk, used: Mapping[str, datetime]) -> None:
    with disk.transaction():
        for id, at in used.items():
            found = disk.access_keys.get(id)
            if found is not None:
                columns = unpack(KeyColumns, found)
                latest = max(columns.last_used_at or 0, epoch_ms(at))
                disk.put(disk.access_keys, id, pack(columns._replace(last_used_at=latest)))


def append_audit(disk: MemoryDisk, entries: Sequence[AuditEntry]) -> list[AuditRow]:
    tenants = {entry.tenant for entry in entries}
    there = [
        _line(disk, (entry.tenant, number))
        for entry in entries
        if (number := disk.audit_numbers.get((entry.tenant, entry.id))) is not None
    ]
    with disk.transaction():
        made = append(entries, {tenant: audit_head(disk, tenant) for tenant in tenants}, there)
        for row in made.rows:
            disk.put(disk.audit_log, (row.tenant, row.number), pack(row))
            disk.put(disk.audit_numbers, (row.tenant, row.id), row.number)
        for tenant, head in made.heads.items():
            disk.put(disk.audit_heads, tenant, head)
    return made.answer


def audit(disk: MemoryDisk, query: AuditQuery) -> list[AuditRow]:
    # From the end of the chain at most: a number far behind it would take for ever to come down.
    behind = audit_head(disk, query.tenant).number + 1
    below = min(query.below or behind, behind)
    lines = (
        _line(disk, (query.tenant, number))
        for number in range(below - 1, 0, -1)
        if (query.tenant, number) in disk.audit_log
    )
    return list(islice((row for row in lines if _fits(row.entry, query)), query.limit))


def audit_lines(disk: MemoryDisk, tenant: str, after: int, limit: int) -> list[AuditRow]:
    last = audit_head(disk, tenant).number
    numbers = range(after + 1, last + 1)
    there = ((tenant, number) for number in numbers if (tenant, number) in disk.audit_log)
    return [_line(disk, key) for key in islice(there, limit)]


def audit_head(disk: MemoryDisk, tenant: str) -> AuditHead:
    return disk.audit_heads.get(tenant, NO_HEAD)


def _line(disk: MemoryDisk, key: tuple[str, int]) -> AuditRow:
    return audit_row(unpack(AuditColumns, disk.audit_log[key]))


def _fits(entry: AuditEntry, query: AuditQuery) -> bool:
    return (
        query.actor in (None, entry.actor)
        and query.action in (None, entry.action)
        and query.target in (None, entry.target)
        and (query.since is None or entry.at >= query.since)
        and (query.until is None or entry.at < query.until)
    )
