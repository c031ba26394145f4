"""Listeners, the outbox, and what is on its way; statements of one connection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import Event
from tenuto.store.columns import DEFAULT_TENANT, EventColumns, event_value
from tenuto.store.outbox_columns import (
    ListenerColumns,
    PostingColumns,
    listener_columns,
    listener_of,
    outbox_columns,
    posting_columns,
    posting_of,
)
from tenuto.store.protocol import (
    Backlog,
    DuePostings,
    EventResult,
    InstanceWrite,
    Listener,
    OutboxRow,
    Posting,
    Settlement,
)
from tenuto.store.sqlite.session import Column, Session, as_json

_ROW = 6


class Heard(NamedTuple):
    """What is listened for: as this process knows it, so that a turn asks nobody."""

    level: int = 0
    inbox: bool = False

    def together_with(self, other: Heard) -> Heard:
        return Heard(max(self.level, other.level), self.inbox or other.inbox)


UNHEARD = Heard()


def heard(session: Session) -> Heard:
    [(level, inbox)] = session.rows("heard")
    return Heard(level, bool(inbox))


def write_stretches(session: Session, heard: Heard, won: Iterable[InstanceWrite]) -> None:
    session.insert(
        "insert_outbox",
        [(row.tenant, *row[2:6]) for row in outbox_columns(won, heard.level)],
    )


def write_events_heard(
    session: Session, events: Sequence[Event], results: Mapping[str, EventResult]
) -> None:
    """Events that are new, and that are not told of an instance by Tenuto itself."""
    session.insert(
        "insert_outbox_events",
        [
            (DEFAULT_TENANT, results[event.id].number)
            for event in events
            if results[event.id].outcome == "stored" and not event.pattern.startswith("workflow.")
        ],
    )


def put_listener(session: Session, listener: Listener) -> Heard:
    session.run("put_listener", listener_columns(listener))
    return heard(session)


def remove_listener(session: Session, tenant: str, kind: str, id: str) -> tuple[bool, Heard]:
    was_there = bool(session.rows("delete_listener", (tenant, kind, id)))
    if was_there:
        session.run("delete_postings_of", (id,))
    return was_there, heard(session)


def listeners(session: Session, tenant: str) -> tuple[list[Listener], Heard]:
    found = [
        ListenerColumns._make([*row[:6], bytes.fromhex(row[6]), bytes.fromhex(row[7]), *row[8:]])
        for row in session.packed("listeners", (tenant,))
    ]
    ordered = sorted(found, key=lambda row: (row.created_at, row.id))
    return [listener_of(row) for row in ordered], heard(session)


def outbox(session: Session, limit: int) -> list[OutboxRow]:
    return [_outbox_row(row) for row in session.packed("outbox", (limit,))]


def drained(session: Session, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
    if postings:
        asked = as_json(sorted({each.listener_id for each in postings}))
        there = set(session.packed("addressees", (asked,)))
        kept = [posting_columns(each) for each in postings if each.listener_id in there]
        session.insert("insert_postings", kept)
        _promote(session, {(row.listener_id, row.stream) for row in kept})
    session.run("delete_outbox", (as_json(numbers),))


def due_postings(
    session: Session, now: int, *, most: int, each: int, busy: Collection[str]
) -> DuePostings:
    waiting = [(due, id) for id, due in session.packed("waiting_listeners") if id not in busy]
    ready = sorted(found for found in waiting if found[0] <= now)[:most]
    items = [
        posting_of(PostingColumns._make([*row[:3], bytes.fromhex(row[3]), *row[4:]]))
        for _, id in ready
        for row in session.packed("postings_due", (id, now, each))
    ]
    later = min((due for due, _ in waiting if due > now), default=None)
    return DuePostings(items, None if later is None else from_epoch_ms(later))


def settle(session: Session, settlement: Settlement) -> Heard:
    id = settlement.listener_id
    if settlement.delivered:
        which = {"listener_id": id, "event_ids": as_json(settlement.delivered)}
        streams = session.packed("streams_of_postings", which)
        session.run("delete_postings", which)
        _promote(session, {(id, stream) for id, stream in streams})
    for event_id, due in settlement.put_off:
        later: dict[str, Column] = {"listener_id": id, "event_id": event_id, "due": epoch_ms(due)}
        session.run("put_off_posting", later)
    if settlement.is_disabled:
        session.run("delete_postings_of", (id,))
    if settlement.health is not None or settlement.is_disabled:
        change: dict[str, Column] = {
            "id": id,
            "health": settlement.health,
            "is_disabled": settlement.is_disabled,
        }
        session.run("put_health", change)
    return heard(session)


def backlogs(session: Session, tenant: str) -> dict[str, Backlog]:
    return {
        id: Backlog(count, from_epoch_ms(oldest))
        for id, count, oldest in session.packed("backlogs", (tenant,))
    }


def prune_events(session: Session, tenant: str, before: int, limit: int) -> int:
    which: dict[str, Column] = {"tenant": tenant, "before": before, "limit": limit}
    old = session.packed("events_to_prune", which)
    if old:
        session.run("delete_deliveries", (as_json([id for _, id in old]),))
        session.run("delete_events", (as_json([number for number, _ in old]),))
    return len(old)


def _promote(session: Session, streams: Iterable[tuple[str, str]]) -> None:
    session.run("promote_postings", (as_json(sorted(streams)),))


def _outbox_row(row: list[Any]) -> OutboxRow:
    number, tenant, instance_id, first_seq, last_seq, status = row[:_ROW]
    event = row[_ROW:]
    if event[0] is None:
        return OutboxRow(
            number=number,
            tenant=tenant,
            instance_id=instance_id,
            first_seq=first_seq,
            last_seq=last_seq,
            status=status,
        )
    columns = EventColumns._make(
        [*event[:3], bytes.fromhex(event[3]), *event[4:7], bytes.fromhex(event[7]), event[8]]
    )
    return OutboxRow(number=number, tenant=tenant, event=event_value(columns))
