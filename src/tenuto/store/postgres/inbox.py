"""The inbox of events, and their deliveries. Each read is one statement: it sees one moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.model.events import Event
from tenuto.store.columns import EventColumns, event_value, latest_page, past_page
from tenuto.store.looking import looked_for
from tenuto.store.parts.inbox import (
    MOST_READ,
    Delivery,
    EventPlace,
    Inbox,
    InboxEvent,
    PastEvents,
    PastPage,
    PrunedEvents,
    PrunedUpTo,
)
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.queries import Column


class PostgresInbox(Inbox):
    """Events and deliveries in tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def past(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        page: dict[str, Column] = {
            **past_page(asked, after, limit),
            "pattern": asked.pattern,
            "paths": [term.path for term in asked.terms],
            "texts": [term.text for term in asked.terms],
            "numbers": [term.number for term in asked.terms],
        }
        name = "past_events" if asked.pattern is None else "past_events_of_pattern"
        rows = await self._database.connections.rows(name, page)
        [(last, count)] = [(row[0], row[5]) for row in rows if row[2] is None]
        items = _events([row for row in rows if row[2] is not None])
        return PastPage(items, last or after, count < limit)

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        questions: dict[str, Column] = {
            "tenant": [each.tenant for each in asked],
            "pattern": [each.pattern for each in asked],
            "instance_id": [each.instance_id for each in asked],
            "since": [epoch_ms(each.since) for each in asked],
        }
        found = await self._database.connections.rows("first_past", questions)
        return [number for (number,) in found]

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        page: dict[str, Column] = {
            "tenant": tenant,
            "pattern": pattern,
            "path": path,
            "first": first,
            "limit": limit,
            "most": MOST_READ,
        }
        found = await self._database.connections.rows("past_texts", page)
        return [(number, text) for number, text in found]

    async def latest(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[InboxEvent]:
        page = {**latest_page(tenant, since, below, limit), "pattern": pattern}
        name = "latest_events" if pattern is None else "latest_events_of_pattern"
        return [_inbox_event(row) for row in await self._database.connections.rows(name, page)]

    async def get(self, tenant: str, id: str) -> InboxEvent | None:
        for row in await self._database.connections.rows("event", {"tenant": tenant, "id": id}):
            return _inbox_event(row)
        return None

    async def unmatched(self, limit: int) -> list[tuple[int, Event]]:
        return _events(await self._database.connections.rows("unmatched_events", {"limit": limit}))

    async def deliveries_to(self, instance_id: str) -> list[Delivery]:
        which = {"instance_id": instance_id}
        look = self._database.connections.rows("deliveries_of_instance", which)
        return [Delivery(*row) for row in await looked_for(look, nothing=[])]

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        which = {"tenant": tenant, "event_id": event_id}
        found = await self._database.connections.rows("deliveries_of_event", which)
        return [Delivery(*row) for row in found]

    async def prune(
        self, tenant: str, before: datetime, limit: int, after: PrunedUpTo | None = None
    ) -> PrunedEvents:
        self._database.require_writer()
        begin = after or PrunedUpTo(-1, -1)
        which: dict[str, Column] = {
            "tenant": tenant,
            "before": epoch_ms(before),
            "limit": limit,
            "after_at": begin.received_at,
            "after_number": begin.number,
        }
        [(seen, at, number, count)] = await self._database.pool.rows("prune_events", which)
        return PrunedEvents(int(count), PrunedUpTo(at, number) if seen == limit else None)


def _events(rows: Sequence[Row]) -> list[tuple[int, Event]]:
    return [(row[0], event_value(EventColumns._make(row[1:]))) for row in rows]


def _inbox_event(row: Row) -> InboxEvent:
    number, *columns = row[:11]
    matched_at, *counts = row[11:]
    found = event_value(EventColumns._make(columns))
    return InboxEvent(number, found, matched_at is not None, *counts)
