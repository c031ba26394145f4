"""Listeners, the outbox, and what is on its way, over tables in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import stream_of
from tenuto.model.log import LogRow
from tenuto.store.columns import EventColumns
from tenuto.store.memory.disk import MemoryDisk, StoredEvent, pack, unpack
from tenuto.store.outbox_columns import (
    ListenerColumns,
    OutboxColumns,
    PostingColumns,
    listener_columns,
    listener_of,
    outbox_columns,
    outbox_row,
    posting_columns,
    posting_of,
    share_of,
)
from tenuto.store.outbox_protocol import (
    Backlog,
    DuePostings,
    Listener,
    OutboxRow,
    Posting,
    Settlement,
    Stretch,
)
from tenuto.store.protocol import Fenced, InstanceWrite


class StoredPosting(NamedTuple):
    """A row of webhook_deliveries."""

    posting: PostingColumns
    due: int | None
    """None: another of its stream goes first."""


class StoredNotice(NamedTuple):
    """A row of outbox: a stretch of a log, or the number of an event."""

    stretch: OutboxColumns
    event: int = 0


def write_stretches(disk: MemoryDisk, won: Sequence[InstanceWrite]) -> None:
    """What winners leave for those who listen."""
    if not disk.listeners:
        return
    for columns in outbox_columns(won):
        heard = max(
            (each.level for each in _listeners(disk) if each.tenant == columns.tenant), default=0
        )
        if columns.level <= heard:
            disk.put(disk.outbox, disk.next_number(), pack(StoredNotice(columns)))


def write_event(disk: MemoryDisk, event: EventColumns, number: int) -> None:
    """An event is new: whoever outside listens is told."""
    if event.pattern.startswith("workflow."):
        return
    if any(each.tenant == event.tenant and each.hears_inbox for each in _listeners(disk)):
        stream = stream_of(event.tenant, event.id)
        nothing = OutboxColumns(event.tenant, share_of(stream), stream, 0, 0, "", 0)
        disk.put(disk.outbox, disk.next_number(), pack(StoredNotice(nothing, number)))


def put_listener(disk: MemoryDisk, listener: Listener) -> None:
    columns = listener_columns(listener)
    with disk.transaction():
        disk.put(disk.listeners, columns[:3], pack(columns))
        disk.listening += 1


def enable_listener(disk: MemoryDisk, listener: Listener) -> bool:
    columns = listener_columns(listener)
    stored = disk.listeners.get(columns[:3])
    if stored is None:
        return False
    before = unpack(ListenerColumns, stored)
    if before.level or before.hears_inbox:
        return False
    with disk.transaction():
        enabled = before._replace(
            level=columns.level, hears_inbox=columns.hears_inbox, health=columns.health
        )
        disk.put(disk.listeners, columns[:3], pack(enabled))
        disk.listening += 1
    return True


def change_listener(disk: MemoryDisk, listener: Listener) -> bool:
    columns = listener_columns(listener)
    stored = disk.listeners.get(columns[:3])
    if stored is None:
        return False
    before = unpack(ListenerColumns, stored)
    changed = before._replace(patterns=columns.patterns, settings=columns.settings)
    if before.level or before.hears_inbox:
        changed = changed._replace(level=columns.level, hears_inbox=columns.hears_inbox)
    with disk.transaction():
        disk.put(disk.listeners, columns[:3], pack(changed))
        disk.listening += 1
    return True


def remove_listener(disk: MemoryDisk, key: tuple[str, str, str]) -> bool:
    with disk.transaction():
        was_there = key in disk.listeners
        disk.drop(disk.listeners, key)
        if was_there:
            _drop_postings(disk, key[2])
            disk.listening += 1
    return was_there


def listeners(disk: MemoryDisk, tenant: str | None) -> list[Listener]:
    found = [each for each in _listeners(disk) if tenant in {None, each.tenant}]
    return [listener_of(each) for each in sorted(found, key=lambda row: (row.created_at, row.id))]


def outbox(
    disk: MemoryDisk, process_id: str, limit: int, passing_over: Collection[str]
) -> list[OutboxRow]:
    rows: list[OutboxRow] = []
    for number, row in disk.outbox.items():
        notice = unpack(StoredNotice, row)
        if len(rows) >= limit or notice.stretch.instance_id in passing_over:
            continue
        if _take(disk, f"drain/{notice.stretch.share}", process_id):
            rows.append(_outbox_row(disk, number, notice))
    return rows


def stretches(disk: MemoryDisk, asked: Iterable[Stretch]) -> list[list[LogRow]]:
    return [
        [
            unpack(LogRow, disk.log[id, seq])
            for seq in range(first, last + 1)
            if (id, seq) in disk.log
        ]
        for id, first, last in asked
    ]


def drained(
    disk: MemoryDisk, process_id: str, numbers: Sequence[int], postings: Iterable[Posting]
) -> None:
    with disk.transaction():
        for number in numbers:
            disk.drop(disk.outbox, number)
        there = {each.id for each in _listeners(disk) if each.level or each.hears_inbox}
        for posting in postings:
            if posting.listener_id in there:
                _put_posting(disk, posting_columns(posting))
        for name in [name for name, holder in disk.shares.items() if holder == process_id]:
            if name.startswith("drain/"):
                disk.drop(disk.shares, name)


def due_postings(
    disk: MemoryDisk,
    process_id: str,
    now: datetime,
    *,
    most: int,
    each: int,
    busy: Collection[str],
    among: Collection[str] | None,
) -> DuePostings:
    heads: dict[str, list[tuple[int, int, PostingColumns]]] = {}
    for number, row in disk.postings.items():
        stored = unpack(StoredPosting, row)
        id = stored.posting.listener_id
        if stored.due is not None and id not in busy and (among is None or id in among):
            head = (stored.due, number, stored.posting)
            heads.setdefault(stored.posting.listener_id, []).append(head)
    moment = epoch_ms(now)
    first = sorted((min(found)[:2], id) for id, found in heads.items())
    ready = (id for (due, _), id in first if due <= moment and _take(disk, f"to/{id}", process_id))
    chosen = [
        posting_of(posting)
        for id in islice(ready, most)
        for posting in _by_turns(heads[id], moment)[:each]
    ]
    later = [due for (due, _), _ in first if due > moment]
    ids = {posting.listener_id for posting in chosen}
    to = [
        listener_of(columns)
        for columns in _listeners(disk)
        if columns.id in ids and columns.kind != "definition"
    ]
    return DuePostings(chosen, from_epoch_ms(later[0]) if later else None, to)


def _by_turns(heads: list[tuple[int, int, PostingColumns]], now: int) -> list[PostingColumns]:
    """What is due of one listener: what was never tried and what did not arrive, one by one."""
    ranked: list[tuple[int, bool, PostingColumns]] = []
    for is_tried in (False, True):
        found = sorted(
            each for each in heads if each[0] <= now and bool(each[2].attempts) == is_tried
        )
        ranked += [(turn, is_tried, posting) for turn, (_, _, posting) in enumerate(found)]
    return [posting for _, _, posting in sorted(ranked)]


def settle(disk: MemoryDisk, process_id: str, settlement: Settlement) -> None:
    id = settlement.listener_id
    if disk.shares.get(f"to/{id}") != process_id or not disk.lives(process_id):
        raise Fenced(f"what is on its way to {id} is not that of {process_id}")
    with disk.transaction():
        for event_id in settlement.delivered:
            _delivered(disk, id, event_id)
        for event_id, due in settlement.put_off:
            number = disk.posting_numbers.get((id, event_id))
            if number is not None:
                posting = unpack(StoredPosting, disk.postings[number]).posting
                tried = posting._replace(attempts=posting.attempts + 1)
                disk.put(disk.postings, number, pack(StoredPosting(tried, epoch_ms(due))))
        for key, row in list(disk.listeners.items()):
            if key[2] == id and key[1] != "definition":
                columns = unpack(ListenerColumns, row)
                if settlement.health is not None:
                    columns = columns._replace(health=settlement.health)
                if settlement.is_disabled:
                    columns = columns._replace(level=0, hears_inbox=0)
                    disk.listening += 1
                disk.put(disk.listeners, key, pack(columns))
        if settlement.is_disabled:
            _drop_postings(disk, id)
        disk.drop(disk.shares, f"to/{id}")


def backlogs(disk: MemoryDisk, tenant: str) -> dict[str, Backlog]:
    mine = {key[2] for key in disk.listeners if key[0] == tenant}
    found: dict[str, list[int]] = {}
    for row in disk.postings.values():
        posting = unpack(StoredPosting, row).posting
        if posting.listener_id in mine:
            found.setdefault(posting.listener_id, []).append(posting.created_at)
    return {id: Backlog(len(each), from_epoch_ms(min(each))) for id, each in found.items()}


def prune_events(disk: MemoryDisk, tenant: str, before: datetime, limit: int) -> int:
    in_outbox = {unpack(StoredNotice, row).event for row in disk.outbox.values()}
    under_way = {
        key[-1]
        for key, delivered in disk.deliveries.items()
        if delivered.outcome == "matched" and delivered.tenant == tenant
    }
    cutoff = epoch_ms(before)
    old = [
        (stored.event.received_at, number, stored.event.id)
        for number, row in disk.events.items()
        if (stored := unpack(StoredEvent, row)).matched_at is not None
        and stored.event.tenant == tenant
        and stored.event.received_at < cutoff
        and number not in in_outbox
        and stored.event.id not in under_way
        # The newest stays: the next is numbered after it.
        and number != disk.newest_event
    ]
    chosen = sorted(old)[:limit]
    ids = {id for _, _, id in chosen}
    with disk.transaction():
        for _, number, id in chosen:
            disk.drop(disk.events, number)
            disk.drop(disk.event_numbers, (tenant, id))
        for key, delivered in list(disk.deliveries.items()):
            if key[-1] in ids and delivered.tenant == tenant:
                disk.drop(disk.deliveries, key)
    return len(chosen)


def _listeners(disk: MemoryDisk) -> list[ListenerColumns]:
    return [unpack(ListenerColumns, row) for row in disk.listeners.values()]


def _take(disk: MemoryDisk, name: str, process_id: str) -> bool:
    """Have a share, unless another living process has it."""
    holder = disk.shares.get(name)
    if holder is not None and holder != process_id and disk.lives(holder):
        return False
    disk.shares[name] = process_id
    return True


def _outbox_row(disk: MemoryDisk, number: int, notice: StoredNotice) -> OutboxRow:
    tenant, _, stream, first_seq, last_seq, status, _ = notice.stretch
    stored = disk.events.get(notice.event)
    event = (None,) if stored is None else unpack(StoredEvent, stored).event
    return outbox_row((number, tenant, stream, first_seq, last_seq, status, *event))


def _put_posting(disk: MemoryDisk, columns: PostingColumns) -> None:
    if columns[:2] in disk.posting_numbers:
        return
    is_first = not any(
        _is_same_stream(unpack(StoredPosting, row).posting, columns)
        for row in disk.postings.values()
    )
    number = disk.next_number()
    due = columns.created_at if is_first else None
    disk.put(disk.postings, number, pack(StoredPosting(columns, due)))
    disk.put(disk.posting_numbers, columns[:2], number)


def _is_same_stream(one: PostingColumns, other: PostingColumns) -> bool:
    return (one.listener_id, one.stream) == (other.listener_id, other.stream)


def _delivered(disk: MemoryDisk, listener_id: str, event_id: str) -> None:
    number = disk.posting_numbers.get((listener_id, event_id))
    if number is None:
        return
    gone = unpack(StoredPosting, disk.postings[number]).posting
    disk.drop(disk.postings, number)
    disk.drop(disk.posting_numbers, (listener_id, event_id))
    for later, row in disk.postings.items():
        stored = unpack(StoredPosting, row)
        if _is_same_stream(stored.posting, gone):
            if stored.due is None:
                disk.put(disk.postings, later, pack(stored._replace(due=stored.posting.created_at)))
            return


def _drop_postings(disk: MemoryDisk, listener_id: str) -> None:
    for key in [key for key in disk.posting_numbers if key[0] == listener_id]:
        disk.drop(disk.postings, disk.posting_numbers[key])
        disk.drop(disk.posting_numbers, key)
    disk.drop(disk.shares, f"to/{listener_id}")
