"""The audit log: one statement where the chains end with lines of this process."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.store.cold.port import RowPort
from tenuto.store.parts.audit import Audit, AuditEntry, AuditHead, AuditRow, chained, line_columns

_MOST_KNOWN = 10_000
"""The ends of so many chains are remembered."""


class PostgresAudit(Audit):
    """Chains of lines, with the ends that this process wrote.

    Requests wait for their line: where no other process has extended a chain since, it takes one
    round trip instead of five.
    """

    def __init__(self, port: RowPort) -> None:
        super().__init__(port)
        self._last: dict[str, AuditHead] = {}
        """The last lines of this process in each chain."""
        self._alone: set[str] = set()
        """The tenants in whose chains it was followed by a further one of this process."""

    async def append(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        rows = self._following(entries)
        if rows:
            # Sent again, because the answer was lost, it finds other ends, and adds nothing.
            columns = [line_columns(row) for row in rows]
            arrays = {name: [each[name] for each in columns] for name in columns[0]}
            added = {tenant for (tenant,) in await self._port.write_beside("extend_audit", arrays)}
        else:
            added = set()
        left = [entry for entry in entries if entry.tenant not in added]
        written = {(row.entry.tenant, row.entry.id): row for row in rows}
        if left:
            for row in await super().append(left):
                written[row.entry.tenant, row.entry.id] = row
        found = [written[entry.tenant, entry.id] for entry in entries]
        for tenant in {entry.tenant for entry in entries}:
            self._remember(tenant, [row for row in found if row.entry.tenant == tenant])
        return found

    def _following(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """The lines of entries in whose chains this process is alone, as far as is known."""
        by_tenant: dict[str, dict[str, AuditEntry]] = {}
        for entry in entries:
            if entry.tenant in self._alone:
                by_tenant.setdefault(entry.tenant, {})[entry.id] = entry
        return [
            row
            for tenant, some in by_tenant.items()
            for row in chained(self._last[tenant], some.values())
        ]

    def _remember(self, tenant: str, rows: Sequence[AuditRow]) -> None:
        """Where processes write by turns, a statement that finds another end would be in vain."""
        if len(self._last) > _MOST_KNOWN:
            self._last.clear()
            self._alone.clear()
        before = self._last.get(tenant)
        if before is not None and before.hash == rows[0].previous_hash:
            self._alone.add(tenant)
        else:
            self._alone.discard(tenant)
        self._last[tenant] = AuditHead(rows[-1].number, rows[-1].hash)
