"""The outbox, and events on their way to listeners, over tables in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import Event, stream_of
from tenuto.model.log import LogRow
from tenuto.store.columns import EventColumns
from tenuto.store.errors import Fenced
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import MemoryDisk, StoredEvent, pack, unpack
from tenuto.store.outbox_columns import (
    ListenerColumns,
    OutboxColumns,
    PostingColumns,
    listener_of,
    outbox_columns,
    outbox_event,
    outbox_row,
    posting_columns,
    posting_of,
    share_of,
)
from tenuto.store.outbox_turns import chosen
from tenuto.store.parts.outbox import (
    MOST_EVENT_BYTES,
    DuePostings,
    OutboxRow,
    Posting,
    Settlement,
    Stretch,
)
from tenuto.store.parts.turns import InstanceWrite


class StoredPosting(NamedTuple):
    """A row of webhook_deliveries."""

    posting: PostingColumns
    due: int | None
    """None: another of its stream goes first."""


class StoredNotice(NamedTuple):
    """A row of outbox: a stretch of a log, or the number of an event."""

    stretch: OutboxColumns
    event: int = 0


class MemoryOutbox(MemoryPart):
    """Outbox rows and postings by number; shares of both are claimed by processes."""

    async def claim(
        self, limit: int, *, passing_over: Collection[str] = (), after: str = ""
    ) -> list[OutboxRow]:
        process_id, disk = self._context.require_open(), self._disk
        rows: list[OutboxRow] = []
        shares: dict[int, str] = {}
        for number, row in disk.outbox.items():
            notice = unpack(StoredNotice, row)
            share = shares[number] = f"drain/{notice.stretch.share}"
            if notice.stretch.instance_id not in passing_over and _is_free(disk, share, process_id):
                rows.append(_outbox_row(number, notice))
        taken = chosen(rows, after, limit)
        for each in taken:
            disk.shares[shares[each.number]] = process_id
        return taken

    async def events(self, rows: Sequence[OutboxRow]) -> list[Event | None]:
        found: list[Event | None] = []
        read = 0
        for row in rows:
            stored = self._disk.events.get(row.event_number)
            columns = (None,) if stored is None else unpack(StoredEvent, stored).event
            read += 0 if columns[0] is None else len(columns[3])
            if found and read > MOST_EVENT_BYTES:
                break
            found.append(outbox_event(columns))
        return found

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        log = self._disk.log
        return [
            [unpack(LogRow, log[id, seq]) for seq in range(first, last + 1) if (id, seq) in log]
            for id, first, last in asked
        ]

    async def drain(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        process_id, disk = self._context.require_living(), self._disk
        with disk.transaction():
            for number in numbers:
                disk.drop(disk.outbox, number)
            hearing = {each.id for each in listener_rows(disk) if each.level or each.hears_inbox}
            for posting in postings:
                if posting.listener_id in hearing:
                    _put_posting(disk, posting_columns(posting))
            disk.drop_where(
                disk.shares,
                lambda name, holder: holder == process_id and name.startswith("drain/"),
            )

    async def claim_due(
        self,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        process_id, disk = self._context.require_open(), self._disk
        heads: dict[str, list[tuple[int, int, PostingColumns]]] = {}
        for number, row in disk.postings.items():
            posting, due = unpack(StoredPosting, row)
            id = posting.listener_id
            if due is not None and id not in busy and (among is None or id in among):
                heads.setdefault(id, []).append((due, number, posting))
        moment = epoch_ms(now)
        first = sorted((min(waiting)[:2], id) for id, waiting in heads.items())
        ready = (
            id
            for (due, _), id in first
            if due <= moment and _claim_share(disk, f"to/{id}", process_id)
        )
        found = [
            posting_of(posting)
            for id in islice(ready, most)
            for posting in _by_turns(heads[id], moment)[:each]
        ]
        later = [due for (due, _), _ in first if due > moment]
        ids = {posting.listener_id for posting in found}
        to = [
            listener_of(columns)
            for columns in listener_rows(disk)
            if columns.id in ids and columns.kind != "definition"
        ]
        return DuePostings(found, from_epoch_ms(later[0]) if later else None, to)

    async def settle(self, settlement: Settlement) -> None:
        process_id, disk = self._context.require_open(), self._disk
        id = settlement.listener_id
        if disk.shares.get(f"to/{id}") != process_id or not disk.lives(process_id):
            raise Fenced(f"postings to {id} are not claimed by {process_id}")
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
                drop_postings(disk, id)
            disk.drop(disk.shares, f"to/{id}")


def listener_rows(disk: MemoryDisk) -> list[ListenerColumns]:
    """All listeners, of all tenants."""
    return [unpack(ListenerColumns, row) for row in disk.listeners.values()]


def drop_postings(disk: MemoryDisk, listener_id: str) -> None:
    """Forget all postings to a listener."""
    for key in [key for key in disk.posting_numbers if key[0] == listener_id]:
        disk.drop(disk.postings, disk.posting_numbers[key])
        disk.drop(disk.posting_numbers, key)
    disk.drop(disk.shares, f"to/{listener_id}")


def write_stretches(disk: MemoryDisk, won: Sequence[InstanceWrite]) -> None:
    """Part of a turn: an outbox row for each winner that a listener listens for."""
    if not disk.listeners:
        return
    for columns in outbox_columns(won):
        heard = max(
            (each.level for each in listener_rows(disk) if each.tenant == columns.tenant), default=0
        )
        if columns.level <= heard:
            disk.put(disk.outbox, disk.next_number(), pack(StoredNotice(columns)))


def write_event(disk: MemoryDisk, event: EventColumns, number: int) -> None:
    """Part of a turn: an outbox row for a new event, where a listener listens for such events."""
    if event.pattern.startswith("workflow."):
        return
    if any(each.tenant == event.tenant and each.hears_inbox for each in listener_rows(disk)):
        stream = stream_of(event.tenant, event.id)
        nothing = OutboxColumns(event.tenant, share_of(stream), stream, 0, 0, "", 0)
        disk.put(disk.outbox, disk.next_number(), pack(StoredNotice(nothing, number)))


def _claim_share(disk: MemoryDisk, name: str, process_id: str) -> bool:
    """Claim a share, unless another living process has it."""
    if not _is_free(disk, name, process_id):
        return False
    disk.shares[name] = process_id
    return True


def _is_free(disk: MemoryDisk, name: str, process_id: str) -> bool:
    """Whether no other living process has a share."""
    holder = disk.shares.get(name)
    return holder is None or holder == process_id or not disk.lives(holder)


def _outbox_row(number: int, notice: StoredNotice) -> OutboxRow:
    tenant, _, stream, first_seq, last_seq, status, _ = notice.stretch
    return outbox_row((number, tenant, stream, first_seq, last_seq, status, notice.event, None))


def _by_turns(heads: list[tuple[int, int, PostingColumns]], now: int) -> list[PostingColumns]:
    """Due postings to one listener: new ones and those that failed before, by turns."""
    ranked: list[tuple[int, bool, PostingColumns]] = []
    for is_tried in (False, True):
        found = sorted(
            each for each in heads if each[0] <= now and bool(each[2].attempts) == is_tried
        )
        ranked += [(turn, is_tried, posting) for turn, (_, _, posting) in enumerate(found)]
    return [posting for _, _, posting in sorted(ranked)]


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
