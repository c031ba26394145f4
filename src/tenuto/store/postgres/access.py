"""Keys and the audit log, which several processes write at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.access_columns import (
    AuditColumns,
    KeyColumns,
    append,
    audit_filter,
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
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.outbox import together
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column
from tenuto.store.postgres.session import Transaction


async def put_key(pool: Pool, new: KeyRow) -> bool:
    if await pool.rows("insert_access_key", key_columns(new)._asdict()):
        return True
    try:
        there = await key(pool, new.id)
    except StoreUnavailable as error:
        raise may_be_written(f"not known to be written: {error.message}") from error
    # The same one, where the answer to the first try got lost.
    return there is not None and there.hash == new.hash


async def key(pool: Pool, id: str) -> KeyRow | None:
    found = await pool.rows("access_key", {"id": id})
    return key_row(KeyColumns._make(found[0])) if found else None


async def has_keys(pool: Pool) -> bool:
    return bool(await pool.rows("any_access_key"))


async def keys(pool: Pool, tenant: str) -> list[KeyRow]:
    found = await pool.rows("access_keys", {"tenant": tenant})
    return [key_row(KeyColumns._make(row)) for row in found]


async def revoke_key(pool: Pool, tenant: str, id: str, now: datetime) -> KeyRow | None:
    found = await pool.rows("revoke_access_key", {"tenant": tenant, "id": id, "now": epoch_ms(now)})
    return key_row(KeyColumns._make(found[0])) if found else None


async def touch_keys(pool: Pool, used: Mapping[str, datetime]) -> None:
    # All in one order, as others touch them too.
    ids = sorted(used)
    await pool.rows("touch_access_keys", {"ids": ids, "at": [epoch_ms(used[id]) for id in ids]})


async def append_audit(pool: Pool, entries: Sequence[AuditEntry]) -> list[AuditRow]:
    tenants = sorted({entry.tenant for entry in entries})
    which: dict[str, Column] = {
        "tenants": [entry.tenant for entry in entries],
        "ids": [entry.id for entry in entries],
    }

    async def work(transaction: Transaction) -> list[AuditRow]:
        heads = await _locked(transaction, tenants)
        there = [_audit_row(row) for row in await transaction.rows("audit_by_id", which)]
        made = append(entries, heads, there)
        if made.rows:
            columns = zip(AuditColumns._fields, zip(*made.rows, strict=True), strict=True)
            rows: dict[str, Column] = {name: list(values) for name, values in columns}
            ends: dict[str, Column] = {
                "head_tenants": tenants,
                "head_numbers": [made.heads[tenant].number for tenant in tenants],
                "head_hashes": [made.heads[tenant].hash for tenant in tenants],
            }
            await transaction.rows("insert_audit", rows | ends)
        return made.answer

    return await together(pool, work)


async def audit(pool: Pool, query: AuditQuery) -> list[AuditRow]:
    return [_audit_row(row) for row in await pool.rows("audit", audit_filter(query))]


async def audit_lines(pool: Pool, tenant: str, after: int, limit: int) -> list[AuditRow]:
    which: dict[str, Column] = {"tenant": tenant, "after": after, "limit": limit}
    return [_audit_row(row) for row in await pool.rows("audit_lines", which)]


async def audit_head(pool: Pool, tenant: str) -> AuditHead:
    found = await pool.rows("audit_head", {"tenant": tenant})
    return AuditHead(*found[0]) if found else NO_HEAD


async def _locked(transaction: Transaction, tenants: list[str]) -> dict[str, AuditHead]:
    """Where the chains end; nobody else goes on with them before the transaction is over."""
    found = await transaction.rows("lock_audit_heads", {"tenants": tenants})
    if len(found) < len(tenants):
        await transaction.rows("begin_audit", {"tenants": tenants})
        found = await transaction.rows("lock_audit_heads", {"tenants": tenants})
    return {tenant: AuditHead(*end) for tenant, *end in found}


def _audit_row(row: Row) -> AuditRow:
    return audit_row(AuditColumns._make(row))
