"""Actions over many things, as rows; the same for every store."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.parts.bulk import BulkPlace, BulkRow

_FARTHEST = (1 << 63) - 1


class BulkColumns(NamedTuple):
    """A row of bulk_operations, without the expiry of its claim."""

    tenant: str
    id: str
    content: bytes
    progress: bytes
    created_at: int
    is_open: int
    is_stopped: int
    token: int


def bulk_columns(row: BulkRow) -> BulkColumns:
    return BulkColumns(
        row.tenant,
        row.id,
        row.content,
        row.progress,
        epoch_ms(row.created_at),
        int(row.is_open),
        int(row.is_stopped),
        row.token,
    )


def bulk_row(columns: BulkColumns) -> BulkRow:
    return BulkRow(
        tenant=columns.tenant,
        id=columns.id,
        content=columns.content,
        progress=columns.progress,
        created_at=from_epoch_ms(columns.created_at),
        is_open=bool(columns.is_open),
        is_stopped=bool(columns.is_stopped),
        token=columns.token,
    )


def bulk_bound(below: BulkPlace | None) -> tuple[int, str]:
    """The position below which a page begins."""
    return (_FARTHEST, "") if below is None else (epoch_ms(below.created_at), below.id)
