"""Tells those who listen what has become of instances, and what has come into the inbox.

A row of the outbox is written with what it tells of, and taken off once everything that follows is
durable: events are in the inbox for workflows that wait for them, and on their way to addresses
outside. Whatever breaks off in between is done again, under the same ids. What cannot be told at
all holds up its own instance and nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tenuto.core.lifecycle import Told, events_of
from tenuto.engine.outbox.fan_out import Audiences
from tenuto.engine.outbox.parked_streams import ParkedStreams
from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.ports import Clock
from tenuto.store.errors import DataRefused, Fenced
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import OutboxRow, Stretch
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.outbox")

PAGE = 200
"""Rows of the outbox that are told together."""
MOST_EVENTS = 1_000
"""Past so many events the rest of them is told next time."""


class _Notice(NamedTuple):
    """A row of the outbox, and the events that it makes."""

    row: OutboxRow
    events: list[Event]


class Drainer:
    """Empties the outbox."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        publish: Callable[[Event], Awaitable[object]],
        known: Callable[[Sequence[Listener]], None] = lambda _: None,
    ) -> None:
        """`publish` stores an event that is there once, and finds whom it is for.

        `known` is called with all who listen, whenever that has changed.
        """
        self._known = known
        self._store = store
        self._clock = clock
        self._publish = publish
        self._audiences = Audiences()
        self.is_listened_to = False
        """Whether anybody heard anything when this process looked last; every step asks."""
        self._listening: int | None = None
        """Of which change of those who listen the audiences are."""
        self._aside = ParkedStreams(clock)
        self._page = PAGE

    @property
    def undelivered(self) -> Mapping[str, str]:
        """What this process cannot tell, an instance or an event, and why; whom, by its id."""
        return {**self._aside.reasons, **self._audiences.unreadable}

    @property
    def next_try(self) -> datetime | None:
        """When the first of that is tried again."""
        return self._aside.next_try

    async def is_quiet(self) -> bool:
        """Whether nobody listens, as when this process looked last.

        Then nothing is left to tell, but for what was written just before the last of them went.
        """
        if self.is_listened_to or self._listening is None:
            return False
        return await self._store.listeners.version() == self._listening

    async def run_once(self) -> bool:
        """Tell what there is, a page of it; whether there may be more."""
        aside = self._aside.resting()
        rows = await self._store.outbox.claim(self._page, passing_over=aside)
        if len(rows) < self._page:
            self._aside.went(self._aside.reasons.keys() - aside - {row.stream for row in rows})
        # Afterwards: whoever had a row written is among them, also if nobody was a moment ago.
        await self._look_who_listens()
        rows = [row for row in rows if row.stream not in aside]
        if not rows:
            return False
        await self._tell(_together(rows))
        return True

    async def _look_who_listens(self) -> None:
        listening = await self._store.listeners.version()
        if listening != self._listening:
            listeners = await self._store.listeners.of(None)
            self._audiences = Audiences(listeners)
            self.is_listened_to = self._audiences.is_listened_to
            self._known(listeners)
            # Read before they were: should they have changed meanwhile, they are read again.
            self._listening = listening

    async def _tell(self, rows: Sequence[OutboxRow]) -> None:
        notices = await self._in_inbox(await self._read(rows))
        now = self._clock.now()
        postings = [
            posting
            for notice in notices
            for event in notice.events
            for posting in self._audiences.of(event.tenant).postings_of(event, now)
        ]
        try:
            await self._store.outbox.drain([notice.row.number for notice in notices], postings)
        except DataRefused as error:
            # Taken apart by halves, until the guilty one stands alone.
            self._page = max(1, len(rows) // 2)
            if len(rows) == 1:
                self._aside.put(rows[0].stream, error)
            return
        self._page = min(PAGE, self._page * 2)
        self._aside.went({notice.row.stream for notice in notices} - self._aside.resting())

    async def _read(self, rows: Sequence[OutboxRow]) -> list[_Notice]:
        """What the rows tell, in order; what cannot be read is set aside, all of its stream."""
        stretches = [row.stretch for row in rows if row.event is None]
        tenants = {row.stream: row.tenant for row in rows if row.event is None}
        instances = await self._instances(tenants)
        # An instance's first entry says how many starts by lifecycle events led to it.
        firsts = [id for id in tenants if self._audiences.of(tenants[id]).has_definitions]
        asked = [*stretches, *(Stretch(id, 1, 1) for id in firsts)]
        found = await self._store.outbox.stretches(asked) if asked else []
        entries = iter(found)
        chains = dict(zip(firsts, found[len(stretches) :], strict=True))
        notices: list[_Notice] = []
        unread: set[str] = set()
        for row in rows:
            log_rows = next(entries) if row.event is None else []
            if row.stream in unread:
                continue
            try:
                events = [row.event] if row.event is not None else []
                if (instance := instances.get(row.stream)) is not None and row.event is None:
                    facts = _told(instance, chains.get(row.stream, ()))
                    events = list(events_of(facts, row.status, log_rows))
            except Exception as error:  # noqa: BLE001 - one that cannot be read keeps no other
                unread.add(row.stream)
                self._aside.put(row.stream, error)
            else:
                notices.append(_Notice(row, events))
        return notices

    async def _instances(self, tenants: Mapping[str, str]) -> dict[str, InstanceRow]:
        """The instances that have these tenants, as their rows say."""
        ids: dict[str, list[str]] = {}
        for id, tenant in tenants.items():
            ids.setdefault(tenant, []).append(id)
        found: list[InstanceRow] = []
        for tenant, its_own in ids.items():
            query = InstanceQuery(ids=tuple(its_own), limit=len(its_own), tenant=tenant)
            found += (await self._store.instances.page(query)).items
        return {row.id: row for row in found}

    async def _in_inbox(self, notices: Sequence[_Notice]) -> list[_Notice]:
        """Put what workflows listen for into the inbox; those for which that went well.

        Nobody else reads there what Tenuto itself tells. Of one instance one goes in after the
        other, in the order in which it happened.
        """
        wanted: dict[str, list[tuple[int, Event]]] = {}
        for notice in notices:
            if notice.row.event is None:
                wanted.setdefault(notice.row.stream, []).extend(
                    (notice.row.number, event)
                    for event in notice.events
                    if self._audiences.of(event.tenant).is_for_workflows(event)
                )
        streams = [stream for stream, events in wanted.items() if events]
        refused = await asyncio.gather(*(self._put_all(wanted[each]) for each in streams))
        first_refused: dict[str, int] = {}
        for stream, refusal in zip(streams, refused, strict=True):
            if refusal is not None:
                number, error = refusal
                first_refused[stream] = number
                self._aside.put(stream, error)
        return [
            notice
            for notice in notices
            if notice.row.number < first_refused.get(notice.row.stream, notice.row.number + 1)
        ]

    async def _put_all(self, events: Iterable[tuple[int, Event]]) -> tuple[int, Exception] | None:
        """The number of the row whose event cannot be put, if there is one."""
        for number, event in events:
            try:
                await self._put(event)
            except (StoreUnavailable, Overloaded, Fenced):
                raise
            except Exception as error:  # noqa: BLE001 - one that is refused keeps no other
                return number, error
        return None

    async def _put(self, event: Event) -> None:
        # One that is there from a try before keeps its moment: whoever matches takes that copy.
        received = msgspec.structs.replace(event, received_at=self._clock.now())
        try:
            await self._publish(received)
        except (StoreUnavailable, Overloaded):
            raise
        except TenutoError as error:
            # There is another event of this id, and that will never change.
            log.error("the event %s is not in the inbox: %s", event.id, error)  # noqa: TRY400


def _together(rows: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
    """As many of them as are told at once: one turn may have written thousands of entries."""
    events = 0
    for place, row in enumerate(rows):
        events += row.last_seq - row.first_seq + 1
        if events > MOST_EVENTS and place:
            return rows[:place]
    return rows


def _told(row: InstanceRow, first: Sequence[LogRow]) -> Told:
    payload = first[0].payload if first else None
    chain = 0 if payload is None else int(msgspec.json.decode(payload).get("chain", 0))
    return Told(
        instance_id=row.id,
        workflow_id=row.definition_id,
        version=row.definition_version,
        correlation_id=row.correlation_id,
        output=row.output,
        cancellation=row.cancellation,
        chain=chain,
        tenant=row.tenant,
    )
