"""Stored events and their deliveries, over tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from heapq import nlargest
from itertools import islice
from operator import itemgetter

import msgspec

from tenuto.model.durations import epoch_ms
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.model.status import Status
from tenuto.store.columns import (
    EventColumns,
    InstanceColumns,
    event_columns,
    event_value,
)
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import Delivered, MemoryDisk, StoredEvent, pack, unpack
from tenuto.store.memory.outbox import StoredNotice, write_event
from tenuto.store.outcomes import known_event, may_follow
from tenuto.store.parts.inbox import (
    MOST_READ,
    Delivery,
    EventPlace,
    InboxEvent,
    PastEvents,
    PastPage,
    PastTerm,
    PrunedEvents,
    PrunedUpTo,
)
from tenuto.store.parts.turns import EventResult

_decode = msgspec.json.Decoder().decode
_CLOSE = 1e-9
"""Numbers that differ by less, in relation to the wanted one, may be equal."""


class MemoryInbox(MemoryPart):
    """Events by number, and deliveries by the place that they went to."""

    async def past(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        begin, since = _looks_back_from(self._disk, asked)
        begin = max(after, begin)
        page = list(islice(self._after(begin, asked.tenant, asked.pattern), limit))
        taken = {
            key[-1]
            for key, (outcome, _, _) in self._disk.deliveries.items()
            if outcome == "resumed" and key[0] == asked.instance_id
        }
        found = (
            (number, event_value(event))
            for number, event in page
            if event.received_at >= since and event.id not in taken
        )
        # As in a database: how many pages are read, and what is remembered of them, is the same.
        items = [
            each for each in found if all(_may_fit(each[1].payload, term) for term in asked.terms)
        ]
        return PastPage(items, page[-1][0] if page else begin, len(page) < limit)

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        found = (
            self._after(_looks_back_from(self._disk, each)[0], each.tenant, each.pattern)
            for each in asked
        )
        return [next((number for number, _ in events), None) for events in found]

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        page = islice(self._after(first - 1, tenant, pattern), limit)
        return [(number, _text_at(event.payload, path)) for number, event in page]

    async def latest(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[InboxEvent]:
        start = epoch_ms(since)
        found = [
            (number, stored)
            for number, stored in self._events()
            if stored.event.tenant == tenant and pattern in {None, stored.event.pattern}
        ]
        if pattern is not None:
            if below is not None:
                found = [each for each in found if each[0] < below.number]
            found = nlargest(limit, found, key=itemgetter(0))
        elif below is not None:
            end = epoch_ms(below.received_at), below.number
            found = [each for each in found if (each[1].event.received_at, each[0]) < end]
        recent = (
            ((stored.event.received_at, number), stored)
            for number, stored in found
            if stored.event.received_at >= start
        )
        newest = nlargest(limit, recent, key=itemgetter(0))
        return [_inbox_event(number, stored) for (_, number), stored in newest]

    async def get(self, tenant: str, id: str) -> InboxEvent | None:
        number = self._disk.event_numbers.get((tenant, id))
        if number is None:
            return None
        return _inbox_event(number, unpack(StoredEvent, self._disk.events[number]))

    async def unmatched(self, limit: int) -> list[tuple[int, Event]]:
        found = (item for item in self._events() if item[1].matched_at is None)
        return [(number, event_value(stored.event)) for number, stored in islice(found, limit)]

    async def deliveries_to(self, instance_id: str) -> list[Delivery]:
        return [each for each in self._deliveries() if each.instance_id == instance_id]

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        wanted = (tenant, event_id)
        return [each for each in self._deliveries() if (each.tenant, each.event_id) == wanted]

    async def prune(
        self, tenant: str, before: datetime, limit: int, after: PrunedUpTo | None = None
    ) -> PrunedEvents:
        self._context.require_open()
        disk, cutoff, begin = self._disk, epoch_ms(before), after or PrunedUpTo(-1, -1)
        found = (
            (PrunedUpTo(stored.event.received_at, number), stored)
            for number, row in disk.events.items()
            if (stored := unpack(StoredEvent, row)).event.tenant == tenant
            and stored.event.received_at < cutoff
        )
        seen = sorted((each for each in found if each[0] > begin), key=lambda each: each[0])[:limit]
        kept = self._kept(tenant)
        chosen = [
            (place.number, stored.event.id)
            for place, stored in seen
            if stored.matched_at is not None and not kept(place.number, stored.event)
        ]
        ids = {id for _, id in chosen}
        with disk.transaction():
            for number, id in chosen:
                disk.drop(disk.events, number)
                disk.drop(disk.event_numbers, (tenant, id))
            disk.drop_where(
                disk.deliveries, lambda key, row: key[-1] in ids and row.tenant == tenant
            )
        return PrunedEvents(len(chosen), seen[-1][0] if len(seen) == limit else None)

    def _kept(self, tenant: str) -> Callable[[int, EventColumns], bool]:
        """Which events are kept whatever their age."""
        disk = self._disk
        in_outbox = {unpack(StoredNotice, row).event for row in disk.outbox.values()}
        under_way = {
            key[-1]
            for key, delivered in disk.deliveries.items()
            if delivered.outcome == "matched" and delivered.tenant == tenant
        }

        def is_kept(number: int, event: EventColumns) -> bool:
            return (
                # The newest stays: the next is numbered after it.
                number == disk.newest_event
                or number in in_outbox
                or event.id in under_way
                or self._is_of_one_under_way(event)
            )

        return is_kept

    def _is_of_one_under_way(self, event: EventColumns) -> bool:
        """Whether an instance that has not ended emitted an event."""
        if event.pattern.startswith("workflow.") or event.id[36:37] != ":":
            return False
        packed = self._disk.instances.get(event.id[:36])
        if packed is None:
            return False
        return not Status(unpack(InstanceColumns, packed).status).is_final

    def _after(
        self, number: int, tenant: str, pattern: str | None
    ) -> Iterator[tuple[int, EventColumns]]:
        """Events of a name, or of any, in the order of storing."""
        for each in range(number + 1, self._disk.newest_event + 1):
            if each in self._disk.events:
                event = unpack(StoredEvent, self._disk.events[each]).event
                if event.tenant == tenant and pattern in {None, event.pattern}:
                    yield each, event

    def _events(self) -> Iterator[tuple[int, StoredEvent]]:
        return (
            (number, unpack(StoredEvent, row)) for number, row in sorted(self._disk.events.items())
        )

    def _deliveries(self) -> Iterator[Delivery]:
        for key, (outcome, reason, tenant) in sorted(self._disk.deliveries.items()):
            id, node, iteration, arm, event_id = key
            yield Delivery(event_id, id, node, iteration, outcome, arm, reason, tenant)


def put_event(disk: MemoryDisk, event: Event, turn_id: str) -> EventResult:
    """Part of a turn: store an event, or find that its id is there."""
    columns = event_columns(event)
    number = disk.event_numbers.get((columns.tenant, columns.id))
    if number is None:
        number = disk.newest_event + 1
        disk.put(disk.event_numbers, (columns.tenant, columns.id), number)
        disk.put(disk.events, number, pack(StoredEvent(columns, turn_id, (0, 0, 0), None)))
        write_event(disk, columns, number)
        return EventResult("stored", number=number)
    stored = unpack(StoredEvent, disk.events[number])
    return known_event(
        is_same=stored.event.content_hash == columns.content_hash,
        is_own=stored.turn_id == turn_id,
        is_matched=stored.matched_at is not None,
        number=number,
        counts=stored.counts,
    )


def put_delivery(disk: MemoryDisk, delivery: Delivery) -> None:
    """Part of a turn: record a delivery, unless its outcome is final."""
    key = (*delivery[1:4], delivery.arm, delivery.event_id)
    before = disk.deliveries.get(key)
    if before is None or may_follow(before.outcome, delivery.outcome):
        pack((key, delivery.reason))
        tenant = delivery.tenant if before is None else before.tenant
        disk.put(disk.deliveries, key, Delivered(delivery.outcome, delivery.reason, tenant))


def _looks_back_from(disk: MemoryDisk, asked: PastEvents) -> tuple[int, int]:
    """After which event, and from when on."""
    follows = disk.followed.get(asked.instance_id)
    packed = disk.instances.get(asked.instance_id)
    received_from = epoch_ms(asked.received_from)
    if follows is None or packed is None:
        return 0, received_from
    created_at = unpack(InstanceColumns, packed).created_at
    return (follows, 0) if created_at == epoch_ms(asked.since) else (0, received_from)


def _inbox_event(number: int, stored: StoredEvent) -> InboxEvent:
    is_matched = stored.matched_at is not None
    return InboxEvent(number, event_value(stored.event), is_matched, *stored.counts)


def _may_fit(payload: JSON, term: PastTerm) -> bool:
    """Whether a payload may have the value of a term; only another text or number tells."""
    found = _value_at(payload, term.path)
    if not isinstance(found, str | int | float) or isinstance(found, bool):
        return True
    if term.number is None:
        return found == term.text
    wanted = float(term.number)
    try:
        return not abs(float(found) - wanted) > abs(wanted) * _CLOSE
    except OverflowError:
        return True  # too large to be compared
    except ValueError:
        return False  # a text


def _value_at(payload: JSON, path: str) -> JSON:
    found = payload
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _text_at(payload: bytes, path: str) -> str | None:
    found = _value_at(_decode(payload), path) if len(payload) <= MOST_READ else None
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, int | float) else None
