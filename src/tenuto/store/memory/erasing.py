"""Forgetting for good, on a disk in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import TypeVar

from tenuto.model.durations import epoch_ms
from tenuto.model.status import FINAL
from tenuto.store.columns import DefinitionColumns, InstanceColumns, MailColumns
from tenuto.store.erasing_protocol import DefinitionKey, Erasure
from tenuto.store.memory.disk import MemoryDisk, unpack
from tenuto.store.memory.outbox import StoredNotice, StoredPosting
from tenuto.store.protocol import UsedKey

K = TypeVar("K")
V = TypeVar("V")


def erase_instances(
    disk: MemoryDisk, tenant: str, ids: Collection[str], manner: Erasure
) -> list[str]:
    rows = [unpack(InstanceColumns, row) for row in disk.instances.values()]
    roots = {
        row.id for row in rows if row.id in ids and row.tenant == tenant and row.root_id is None
    }
    families = {root: [root] for root in roots}
    for row in rows:
        if row.root_id in families:
            families[row.root_id].append(row.id)
    kept = {row.id for row in rows if row.status not in FINAL}
    if not manner.with_debts:
        kept |= _obliged(disk)
    if not manner.with_dead_letters:
        kept |= {key[0] for key in disk.dead_letters}
    gone = sorted(root for root, family in families.items() if kept.isdisjoint(family))
    if not manner.dry_run:
        with disk.transaction():
            _erase(disk, {each for root in gone for each in families[root]})
    return gone


def _obliged(disk: MemoryDisk) -> set[str]:
    """Instances that owe the world something, have a letter, or are still to be told of."""
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
    _drop(disk, disk.log, lambda key, _: key[0] in ids)
    _drop(disk, disk.turn_ids, lambda key, _: key[0] in ids)
    _drop(disk, disk.node_rows, lambda key, _: key[0] in ids)
    _drop(disk, disk.waits, lambda key, _: key[0] in ids)
    _drop(disk, disk.timers, lambda key, _: key[0] in ids)
    _drop(disk, disk.deliveries, lambda key, _: key[0] in ids)
    _drop(disk, disk.jobs, lambda key, _: key.instance_id in ids)
    _drop(disk, disk.dead_letters, lambda key, _: key[0] in ids)
    _drop(disk, disk.keys, lambda _, row: unpack(UsedKey, row).instance_id in ids)
    _drop(disk, disk.mail, lambda _, row: unpack(MailColumns, row).instance_id in ids)
    _drop(disk, disk.mail_numbers, lambda key, _: key[1] in ids)
    _drop(disk, disk.outbox, lambda _, row: unpack(StoredNotice, row).stretch.instance_id in ids)
    _drop(disk, disk.postings, lambda _, row: unpack(StoredPosting, row).posting.stream in ids)
    _drop(disk, disk.posting_numbers, lambda key, _: disk.posting_numbers[key] not in disk.postings)


def erase_definition(disk: MemoryDisk, tenant: str, id: str) -> None:
    with disk.transaction():
        _drop(disk, disk.definitions, lambda key, _: key[:2] == (tenant, id))
        disk.drop(disk.definition_versions, (tenant, id))


def old_rehearsals(disk: MemoryDisk, before: datetime, limit: int) -> list[DefinitionKey]:
    rows = [unpack(DefinitionColumns, row) for row in disk.definitions.values()]
    old = [row for row in rows if row.id.startswith("~test:") and row.created_at < epoch_ms(before)]
    old.sort(key=lambda row: row.created_at)
    return [DefinitionKey(row.tenant, row.id) for row in old[:limit]]


def _drop(disk: MemoryDisk, table: dict[K, V], is_about_it: Callable[[K, V], bool]) -> None:
    for key in [key for key, row in table.items() if is_about_it(key, row)]:
        disk.drop(table, key)
