"""Instances, their logs and their erasure, over tables in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from tenuto.model.durations import epoch_ms
from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import FINAL
from tenuto.store.columns import InstanceColumns, MailColumns, WaitColumns, instance_row
from tenuto.store.cursor import Position, write_cursor
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import MemoryDisk, unpack
from tenuto.store.memory.outbox import StoredNotice, StoredPosting
from tenuto.store.pages import begins_below, is_by_change
from tenuto.store.parts.instances import CAREFULLY, Erasure, InstancePage, InstanceQuery, UsedKey
from tenuto.store.parts.turns import Searchable

_decode_names = msgspec.json.Decoder(list[str]).decode


class MemoryInstances(MemoryPart):
    """Instances by id, and log rows by instance and seq."""

    async def page(self, query: InstanceQuery) -> InstancePage:
        below, place = begins_below(query), _changed if is_by_change(query) else _position
        rows = (unpack(InstanceColumns, row) for row in self._disk.instances.values())
        fitting = sorted(
            (row for row in rows if place(row) < below and _fits(self._disk, row, query)),
            key=place,
            reverse=True,
        )
        shown = fitting[: query.limit]
        has_more = len(fitting) > query.limit and bool(shown)
        next_after = write_cursor(place(shown[-1])) if has_more else None
        return InstancePage([instance_row(row) for row in shown], next_after)

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        return log_after(self._disk, instance_id, after)[:limit]

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        log = self._disk.log
        return [
            unpack(LogRow, log[instance_id, seq])
            for seq in sorted(set(seqs))
            if (instance_id, seq) in log
        ]

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        ends = self._disk.log_ends
        return {id: ends[id] for id in instance_ids if ends.get(id)}

    async def ended(self, instance_ids: Collection[str]) -> dict[str, bool]:
        stored = self._disk.instances
        found = {id: unpack(InstanceColumns, stored[id]) for id in instance_ids if id in stored}
        return {id: row.completed_at is not None for id, row in found.items()}

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        stored = self._disk.keys.get((tenant, key))
        return None if stored is None else unpack(UsedKey, stored)

    async def keys(self, tenant: str, instance_ids: Collection[str]) -> dict[str, str]:
        wanted = set(instance_ids)
        used = {key: unpack(UsedKey, row) for key, row in self._disk.keys.items()}
        found = {each.instance_id: key for (of, key), each in used.items() if of == tenant}
        return {id: key for id, key in found.items() if id in wanted}

    async def open_of_origin(self, origin_id: str, most: int) -> int:
        rows = (unpack(InstanceColumns, row) for row in self._disk.instances.values())
        found = sum(row.origin_id == origin_id and row.completed_at is None for row in rows)
        return min(found, most)

    async def erase(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        self._context.require_open()
        disk = self._disk
        rows = [unpack(InstanceColumns, row) for row in disk.instances.values()]
        families = {
            row.id: [row.id]
            for row in rows
            if row.id in ids and row.tenant == tenant and row.root_id is None
        }
        for row in rows:
            if row.root_id in families:
                families[row.root_id].append(row.id)
        kept = {row.id for row in rows if row.status not in FINAL}
        if not manner.with_debts:
            kept |= _with_obligations(disk)
        if not manner.with_dead_letters:
            kept |= {key[0] for key in disk.dead_letters}
        gone = sorted(root for root, family in families.items() if kept.isdisjoint(family))
        if not manner.dry_run:
            with disk.transaction():
                _erase(disk, {each for root in gone for each in families[root]})
        return gone


def log_after(disk: MemoryDisk, instance_id: str, after: int) -> list[LogRow]:
    """The log of an instance behind a seq."""
    end = disk.log_ends.get(instance_id, 0)
    return [unpack(LogRow, disk.log[instance_id, seq]) for seq in range(after + 1, end + 1)]


def _position(row: InstanceColumns) -> Position:
    return Position(row.created_at, row.id)


def _changed(row: InstanceColumns) -> Position:
    return Position(row.updated_at, row.id)


def _fits(disk: MemoryDisk, row: InstanceColumns, query: InstanceQuery) -> bool:
    return (
        row.tenant == query.tenant
        and (not query.statuses or row.status in query.statuses)
        and query.definition_id in {None, row.definition_id}
        and query.correlation_id in {None, row.correlation_id}
        and (not query.ids or row.id in query.ids)
        and _is_within(row.created_at, query.created_from, query.created_before)
        and _is_within(row.updated_at, query.updated_from, query.updated_before)
        and (not query.roots or row.parent_id is None)
        and query.parent_id in {None, row.parent_id}
        and (query.waiting_for is None or _waits(disk, row, query.waiting_for))
        and (query.current_step is None or query.current_step in _decode_names(row.current_steps))
        and (not query.terms or _has(disk, row.id, query.terms))
        and (query.mark is None or _is_marked(disk, row.id, query.mark))
    )


def _is_within(ms: int, begin: datetime | None, end: datetime | None) -> bool:
    return (begin is None or ms >= epoch_ms(begin)) and (end is None or ms < epoch_ms(end))


def _waits(disk: MemoryDisk, row: InstanceColumns, pattern: str) -> bool:
    """Whether a step of it waits; triggers that cancel it have no step."""
    return any(
        unpack(WaitColumns, arm).pattern == pattern
        for key, arms in disk.waits.items()
        if key[0] == row.id and key[1]
        for arm in arms.values()
    )


def _has(disk: MemoryDisk, id: str, terms: Sequence[SearchTerm]) -> bool:
    found = disk.searchable.get(id)
    return found is not None and set(terms) <= set(unpack(Searchable, found).terms)


def _is_marked(disk: MemoryDisk, id: str, mark: SearchTerm) -> bool:
    found = disk.searchable.get(id)
    return found is not None and mark in unpack(Searchable, found).marks


def _with_obligations(disk: MemoryDisk) -> set[str]:
    """Instances that owe something, have a mailbox message, or have undelivered notifications."""
    return (
        set(disk.owners)
        | {key[0] for key in disk.timers}
        | {key[0] for key in disk.waits}
        | {key.instance_id for key in disk.jobs}
        | {unpack(MailColumns, row).instance_id for row in disk.mail.values()}
        | {unpack(StoredNotice, row).stretch.instance_id for row in disk.outbox.values()}
        | {unpack(StoredPosting, row).posting.stream for row in disk.postings.values()}
    )


def _erase(disk: MemoryDisk, ids: set[str]) -> None:
    for id in ids:
        for table in (disk.instances, disk.searchable, disk.snapshots, disk.owners):
            disk.drop(table, id)
        for numbers in (disk.followed, disk.log_ends):
            disk.drop(numbers, id)
    drop = disk.drop_where
    for rows in disk.about_instances:
        drop(rows, lambda key, _: key[0] in ids)
    drop(disk.keys, lambda _, row: unpack(UsedKey, row).instance_id in ids)
    drop(disk.mail, lambda _, row: unpack(MailColumns, row).instance_id in ids)
    drop(disk.mail_numbers, lambda key, _: key[1] in ids)
    drop(disk.outbox, lambda _, row: unpack(StoredNotice, row).stretch.instance_id in ids)
    drop(disk.postings, lambda _, row: unpack(StoredPosting, row).posting.stream in ids)
    drop(disk.posting_numbers, lambda _, number: number not in disk.postings)
    disk.cold.erase(ids)
