"""The audit log: a chain of lines for each tenant, which several processes may write."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.store.access_columns import Append, AuditColumns, append, audit_filter, audit_row
from tenuto.store.cold.port import Ask, Insert, Row, RowPort, Script
from tenuto.store.looking import looked_for
from tenuto.store.parts.audit import NO_HEAD, AuditEntry, AuditHead, AuditQuery, AuditRow


class AuditRecords:
    """Lines in one table, the end of each chain in another."""

    def __init__(self, port: RowPort) -> None:
        self._port = port

    async def append(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        return await self._port.transaction(lambda: self._append(entries))

    async def query(self, query: AuditQuery) -> list[AuditRow]:
        return _lines(await looked_for(self._port.rows("audit", audit_filter(query)), nothing=[]))

    async def lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        which = {"tenant": tenant, "after": after, "limit": limit}
        return _lines(await looked_for(self._port.rows("audit_lines", which), nothing=[]))

    async def head(self, tenant: str) -> AuditHead:
        found = await self._port.rows("audit_head", {"tenant": tenant})
        return AuditHead(*found[0]) if found else NO_HEAD

    def _append(self, entries: Sequence[AuditEntry]) -> Script[list[AuditRow]]:
        tenants = sorted({entry.tenant for entry in entries})
        heads = yield from self._locked(tenants)
        which = {
            "tenants": [entry.tenant for entry in entries],
            "ids": [entry.id for entry in entries],
        }
        there = _lines((yield Ask("audit_by_id", which)))
        made = append(entries, heads, there)
        if made.rows:
            yield from self._insert(made, tenants)
        return made.answer

    def _locked(self, tenants: list[str]) -> Script[dict[str, AuditHead]]:
        """Where the chains end; no other process extends them before the transaction is over."""
        found = yield Ask("lock_audit_heads", {"tenants": tenants})
        if len(found) < len(tenants):
            yield Ask("begin_audit", {"tenants": tenants})
            found = yield Ask("lock_audit_heads", {"tenants": tenants})
        return {tenant: AuditHead(*end) for tenant, *end in found}

    def _insert(self, made: Append, tenants: list[str]) -> Script[None]:
        """Write the lines, and where their chains end."""
        yield Insert("insert_audit", AuditColumns._fields, made.rows)
        for tenant in tenants:
            yield Ask("put_audit_head", {"tenant": tenant, **made.heads[tenant]._asdict()})


def _lines(rows: Sequence[Row]) -> list[AuditRow]:
    return [audit_row(AuditColumns._make(row)) for row in rows]
