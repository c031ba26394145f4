"""Tells those who listen what has become of instances, and what has come into the inbox.

A row of the outbox is written with what it tells of, and taken off once everything that follows is
durable: events are in the inbox for workflows that wait for them, and on their way to addresses
outside. Whatever breaks off in between is done again, under the same ids.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from tenuto.core.lifecycle import Told, events_of
from tenuto.engine.fan_out import Addressee, addressees_of, postings_of
from tenuto.events import fits
from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.ports import Clock
from tenuto.store.protocol import (
    InstanceQuery,
    InstanceRow,
    Listener,
    OutboxRow,
    Posting,
    Store,
)

log = logging.getLogger("tenuto.outbox")

PAGE = 200
"""Rows of the outbox that are told together."""
MOST_EVENTS = 1_000
"""Past so many events the rest of them is told next time."""
_ENTRIES = 1_000


class Drainer:
    """Empties the outbox."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        publish: Callable[[Event], Awaitable[object]],
        tenant: str = "default",
    ) -> None:
        """`publish` stores an event that is there once, and finds whom it is for."""
        self._store = store
        self._clock = clock
        self._publish = publish
        self._tenant = tenant
        self._listeners: list[Listener] = []
        self.is_listened_to = False
        """Whether anybody heard anything when this process looked last."""

    async def run_once(self) -> bool:
        """Tell what there is, a page of it; whether there may be more."""
        rows = await self._store.outbox(PAGE)
        # Afterwards: whoever had a row written is among them, also if nobody was a moment ago.
        self._listeners = await self._store.listeners(self._tenant)
        self.is_listened_to = any(each.level or each.hears_inbox for each in self._listeners)
        if not rows:
            return False
        events, told = await self._events(rows)
        await self._put_into_inbox(event for event, is_new in events if is_new)
        addressees = addressees_of(self._listeners)
        postings = self._postings(addressees, [event for event, _ in events])
        await self._store.drained([row.number for row in rows[:told]], postings)
        return True

    async def _events(self, rows: Sequence[OutboxRow]) -> tuple[list[tuple[Event, bool]], int]:
        """What the rows tell, in order, each with whether it is not in the inbox yet.

        One turn may have written thousands of entries: how many rows are told this time.
        """
        ids = tuple({row.instance_id for row in rows if row.instance_id})
        instances = await self._instances(ids)
        found: list[tuple[Event, bool]] = []
        for told, row in enumerate(rows):
            if len(found) >= MOST_EVENTS:
                return found, told
            if row.event is not None:
                found.append((row.event, False))
            elif (instance := instances.get(row.instance_id)) is not None:
                entries = await self._entries(row)
                facts = await self._told(instance)
                found += [(event, True) for event in events_of(facts, row.status, entries)]
        return found, len(rows)

    async def _instances(self, ids: Sequence[str]) -> dict[str, InstanceRow]:
        if not ids:
            return {}
        query = InstanceQuery(ids=tuple(ids), limit=len(ids), tenant=self._tenant)
        page = await self._store.instances(query)
        return {row.id: row for row in page.items}

    async def _entries(self, row: OutboxRow) -> list[LogRow]:
        entries: list[LogRow] = []
        after = row.first_seq - 1
        while after < row.last_seq:
            limit = min(_ENTRIES, row.last_seq - after)
            page = await self._store.entries(row.instance_id, after=after, limit=limit)
            if not page:
                break
            entries += page
            after = page[-1].seq
        return entries

    async def _told(self, row: InstanceRow) -> Told:
        return Told(
            instance_id=row.id,
            workflow_id=row.definition_id,
            version=row.definition_version,
            correlation_id=row.correlation_id,
            output=row.output,
            cancellation=row.cancellation,
            chain=await self._chain(row.id),
        )

    async def _chain(self, instance_id: str) -> int:
        """How many starts by lifecycle events led to an instance: its first entry says it."""
        if not any(each.kind == "definition" for each in self._listeners):
            return 0
        for first in await self._store.entries_at(instance_id, [1]):
            if first.payload is not None:
                return int(msgspec.json.decode(first.payload).get("chain", 0))
        return 0

    async def _put_into_inbox(self, events: Iterable[Event]) -> None:
        """For workflows: nobody else reads there what Tenuto itself tells."""
        patterns = {
            pattern
            for each in self._listeners
            if each.kind == "definition"
            for pattern in each.patterns
        }
        if patterns:
            wanted = [
                event
                for event in events
                if any(fits(pattern, event.pattern) for pattern in patterns)
            ]
            await asyncio.gather(*map(self._put, wanted))

    async def _put(self, event: Event) -> None:
        # One that is there from a try before keeps its moment: whoever matches takes that copy.
        received = msgspec.structs.replace(event, received_at=self._clock.now())
        try:
            await self._publish(received)
        except (StoreUnavailable, Overloaded):
            raise
        except TenutoError as error:
            # One that the inbox does not take must not keep the others from being told.
            log.error("the event %s is not in the inbox: %s", event.id, error)  # noqa: TRY400

    def _postings(self, addressees: Sequence[Addressee], events: Sequence[Event]) -> list[Posting]:
        now = self._clock.now()
        return [posting for event in events for posting in postings_of(addressees, event, now)]
