"""Actions over many things; statements of one connection."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tenuto.model.durations import epoch_ms
from tenuto.store.bulk_columns import BulkColumns, bulk_bound, bulk_columns, bulk_row
from tenuto.store.bulk_protocol import BulkPlace, BulkRow
from tenuto.store.sqlite.session import Column, Session


def put_bulk(session: Session, row: BulkRow) -> BulkRow:
    session.run("insert_bulk", bulk_columns(row))
    there = bulk(session, row.tenant, row.id)
    assert there is not None
    return there


def bulk(session: Session, tenant: str, id: str) -> BulkRow | None:
    return _one(session.rows("bulk", (tenant, id)))


def bulks(session: Session, tenant: str, limit: int, below: BulkPlace | None) -> list[BulkRow]:
    created, id = bulk_bound(below)
    found = session.rows(
        "bulks", {"tenant": tenant, "below_created": created, "below_id": id, "limit": limit}
    )
    return [bulk_row(BulkColumns._make(row)) for row in found]


def claim_bulks(session: Session, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
    found = session.rows(
        "claim_bulks", {"now": epoch_ms(now), "until": epoch_ms(until), "limit": limit}
    )
    return [bulk_row(BulkColumns._make(row)) for row in found]


def save_bulk(session: Session, row: BulkRow, until: datetime) -> BulkRow | None:
    return _one(
        session.rows(
            "save_bulk",
            {
                "tenant": row.tenant,
                "id": row.id,
                "token": row.token,
                "progress": row.progress,
                "is_open": int(row.is_open),
                "until": epoch_ms(until),
            },
        )
    )


def stop_bulk(session: Session, tenant: str, id: str) -> BulkRow | None:
    return _one(session.rows("stop_bulk", (tenant, id)))


def _one(found: list[tuple[Any, ...]]) -> BulkRow | None:
    return bulk_row(BulkColumns._make(found[0])) if found else None


def prune_bulks(session: Session, tenant: str, before: int, limit: int) -> int:
    which: dict[str, Column] = {"tenant": tenant, "before": before, "limit": limit}
    return len(session.rows("prune_bulks", which))
