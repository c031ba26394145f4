"""Stored events and their deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from tenuto.model.durations import epoch_ms
from tenuto.model.events import Event
from tenuto.store.columns import EventColumns, event_value, latest_page, past_page
from tenuto.store.parts.inbox import (
    MOST_READ,
    Delivery,
    EventPlace,
    InboxEvent,
    PastEvents,
    PastPage,
    PrunedEvents,
    PrunedUpTo,
)
from tenuto.store.sqlite.part import SqlitePart, looks, looks_for, writes
from tenuto.store.sqlite.session import Column, Session, as_json


class SqliteInbox(SqlitePart):
    """Events and their deliveries, in tables of the file."""

    @looks
    def past(
        self, session: Session, asked: PastEvents, *, after: int = 0, limit: int = 100
    ) -> PastPage:
        page: dict[str, Column] = {
            **past_page(asked, after, limit),
            "terms": as_json([(_path(term.path), *term[1:]) for term in asked.terms]),
        }
        name = "past_events"
        if asked.pattern is not None:
            name, page["pattern"] = "past_events_of_pattern", asked.pattern
        last, count, items = session.packed(name, page)
        return PastPage(_events(items), last or after, count < limit)

    @looks
    def first_past(self, session: Session, asked: Sequence[PastEvents]) -> list[int | None]:
        questions = [
            (each.tenant, each.pattern, each.instance_id, epoch_ms(each.since)) for each in asked
        ]
        return session.packed("first_past", (as_json(questions),))

    @looks
    def past_texts(
        self, session: Session, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        page: dict[str, Column] = {
            "tenant": tenant,
            "pattern": pattern,
            "path": _path(path),
            "first": first,
            "limit": limit,
            "most": MOST_READ,
        }
        return [(number, text) for number, text in session.packed("past_texts", page)]

    @looks
    def latest(
        self,
        session: Session,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[InboxEvent]:
        page = latest_page(tenant, since, below, limit)
        if pattern is None:
            return _inbox_events(session.packed("latest_events", page))
        which = page | {"pattern": pattern}
        return _inbox_events(session.packed("latest_events_of_pattern", which))

    @looks
    def get(self, session: Session, tenant: str, id: str) -> InboxEvent | None:
        return next(iter(_inbox_events(session.packed("event", (tenant, id)))), None)

    @looks
    def unmatched(self, session: Session, limit: int) -> list[tuple[int, Event]]:
        return _events(session.packed("unmatched_events", (limit,)))

    @looks_for(list)
    def deliveries_to(self, session: Session, instance_id: str) -> list[Delivery]:
        found = session.packed("deliveries_of_instance", (instance_id,))
        return [Delivery(*delivery) for delivery in found]

    @looks
    def deliveries_of(self, session: Session, tenant: str, event_id: str) -> list[Delivery]:
        found = session.packed("deliveries_of_event", (event_id, tenant))
        return [Delivery(*delivery) for delivery in found]

    @writes
    def prune(
        self,
        session: Session,
        tenant: str,
        before: datetime,
        limit: int,
        after: PrunedUpTo | None = None,
    ) -> PrunedEvents:
        begin = after or PrunedUpTo(-1, -1)
        which: dict[str, Column] = {
            "tenant": tenant,
            "before": epoch_ms(before),
            "limit": limit,
            "after_at": begin.received_at,
            "after_number": begin.number,
        }
        seen, last, old = session.packed("events_to_prune", which)
        if old:
            gone: dict[str, Column] = {
                "tenant": tenant,
                "event_ids": as_json([id for _, id in old]),
            }
            session.run("delete_deliveries", gone)
            session.run("delete_events", (as_json([number for number, _ in old]),))
        return PrunedEvents(len(old), PrunedUpTo(*last) if seen == limit else None)


def _path(names: str) -> str:
    """Names joined by dots as SQLite spells a path."""
    return "$" + "".join(f'."{name}"' for name in names.split("."))


def _events(rows: Iterable[Sequence[Any]]) -> list[tuple[int, Event]]:
    return [
        (
            row[0],
            event_value(
                EventColumns._make(
                    [*row[1:4], bytes.fromhex(row[4]), *row[5:8], bytes.fromhex(row[8]), *row[9:11]]
                )
            ),
        )
        for row in rows
    ]


def _inbox_events(rows: Iterable[Sequence[Any]]) -> list[InboxEvent]:
    kept = list(rows)
    return [
        InboxEvent(number, event, bool(row[11]), *row[12:])
        for row, (number, event) in zip(kept, _events(kept), strict=True)
    ]
