"""Which instances a query asks for, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenuto.model.durations import epoch_ms
from tenuto.model.search_terms import SearchTerm
from tenuto.store.columns import InstanceColumns, instance_row
from tenuto.store.cursor import Position, write_cursor
from tenuto.store.memory.disk import MemoryDisk, unpack
from tenuto.store.pages import begins_below
from tenuto.store.protocol import InstancePage, InstanceQuery, Searchable

_decode_names = msgspec.json.Decoder(list[str]).decode


def list_instances(disk: MemoryDisk, query: InstanceQuery) -> InstancePage:
    below = begins_below(query)
    rows = (unpack(InstanceColumns, row) for row in disk.instances.values())
    fitting = sorted(
        (row for row in rows if _position(row) < below and _fits(disk, row, query)),
        key=_position,
        reverse=True,
    )
    shown = fitting[: query.limit]
    has_more = len(fitting) > query.limit and bool(shown)
    next_after = write_cursor(_position(shown[-1])) if has_more else None
    return InstancePage([instance_row(row) for row in shown], next_after)


def _position(row: InstanceColumns) -> Position:
    return Position(row.created_at, row.id)


def _fits(disk: MemoryDisk, row: InstanceColumns, query: InstanceQuery) -> bool:
    return (
        row.tenant == query.tenant
        and (not query.statuses or row.status in query.statuses)
        and query.definition_id in {None, row.definition_id}
        and query.correlation_id in {None, row.correlation_id}
        and (not query.ids or row.id in query.ids)
        and (query.created_from is None or row.created_at >= epoch_ms(query.created_from))
        and (query.current_step is None or query.current_step in _decode_names(row.current_steps))
        and (not query.terms or _has(disk, row.id, query.terms))
    )


def _has(disk: MemoryDisk, id: str, terms: Sequence[SearchTerm]) -> bool:
    found = disk.searchable.get(id)
    return found is not None and set(terms) <= set(unpack(Searchable, found).terms)
