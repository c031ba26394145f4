"""The audit log, over tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from tenuto.store.access_columns import AuditColumns, append, audit_row
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import MemoryDisk, pack, unpack
from tenuto.store.parts.audit import NO_HEAD, AuditEntry, AuditHead, AuditQuery, AuditRow


class MemoryAudit(MemoryPart):
    """Chained lines by tenant and number."""

    async def append(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        self._context.require_open()
        disk = self._disk
        tenants = {entry.tenant for entry in entries}
        known = [
            _line(disk, (entry.tenant, number))
            for entry in entries
            if (number := disk.audit_numbers.get((entry.tenant, entry.id))) is not None
        ]
        with disk.transaction():
            made = append(entries, {tenant: _head(disk, tenant) for tenant in tenants}, known)
            for row in made.rows:
                disk.put(disk.audit_log, (row.tenant, row.number), pack(row))
                disk.put(disk.audit_numbers, (row.tenant, row.id), row.number)
            for tenant, head in made.heads.items():
                disk.put(disk.audit_heads, tenant, head)
        return made.answer

    async def query(self, query: AuditQuery) -> list[AuditRow]:
        disk = self._disk
        # From the end of the chain at most: counting down from a number far behind it takes long.
        end = _head(disk, query.tenant).number + 1
        below = min(query.below or end, end)
        lines = (
            _line(disk, (query.tenant, number))
            for number in range(below - 1, 0, -1)
            if (query.tenant, number) in disk.audit_log
        )
        return list(islice((row for row in lines if _fits(row.entry, query)), query.limit))

    async def lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        disk = self._disk
        numbers = range(after + 1, _head(disk, tenant).number + 1)
        keys = ((tenant, number) for number in numbers if (tenant, number) in disk.audit_log)
        return [_line(disk, key) for key in islice(keys, limit)]

    async def head(self, tenant: str) -> AuditHead:
        return _head(self._disk, tenant)


def _head(disk: MemoryDisk, tenant: str) -> AuditHead:
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
