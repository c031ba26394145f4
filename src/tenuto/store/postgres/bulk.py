"""Actions over many things, which several processes take from each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.bulk_columns import BulkColumns, bulk_bound, bulk_columns, bulk_row
from tenuto.store.bulk_protocol import BulkPlace, BulkRow
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.pool import Pool


async def put_bulk(pool: Pool, row: BulkRow) -> BulkRow:
    await pool.rows("insert_bulk", bulk_columns(row)._asdict())
    try:
        there = await bulk(pool, row.tenant, row.id)
    except StoreUnavailable as error:
        raise may_be_written(f"it was kept, and not seen again: {error.message}") from error
    assert there is not None
    return there


async def bulk(pool: Pool, tenant: str, id: str) -> BulkRow | None:
    return _one(await pool.rows("bulk", {"tenant": tenant, "id": id}))


async def bulks(pool: Pool, tenant: str, limit: int, below: BulkPlace | None) -> list[BulkRow]:
    created, id = bulk_bound(below)
    found = await pool.rows(
        "bulks", {"tenant": tenant, "below_created": created, "below_id": id, "limit": limit}
    )
    return [bulk_row(BulkColumns._make(row)) for row in found]


async def claim_bulks(pool: Pool, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
    found = await pool.rows(
        "claim_bulks", {"now": epoch_ms(now), "until": epoch_ms(until), "limit": limit}
    )
    return [bulk_row(BulkColumns._make(row)) for row in found]


async def save_bulk(pool: Pool, row: BulkRow, until: datetime) -> BulkRow | None:
    given = {
        "tenant": row.tenant,
        "id": row.id,
        "token": row.token,
        "progress": row.progress,
        "is_open": int(row.is_open),
        "until": epoch_ms(until),
    }
    return _one(await pool.rows("save_bulk", given))


async def stop_bulk(pool: Pool, tenant: str, id: str) -> BulkRow | None:
    return _one(await pool.rows("stop_bulk", {"tenant": tenant, "id": id}))


def _one(found: Sequence[Row]) -> BulkRow | None:
    return bulk_row(BulkColumns._make(found[0])) if found else None


async def prune_bulks(pool: Pool, tenant: str, before: int, limit: int) -> int:
    which = {"tenant": tenant, "before": before, "limit": limit}
    return len(await pool.rows("prune_bulks", which))
