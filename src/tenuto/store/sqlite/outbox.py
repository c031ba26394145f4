"""Listeners, the outbox, and what is on its way; statements of one connection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.store.outbox_columns import (
    ListenerColumns,
    PostingColumns,
    listener_columns,
    listener_of,
    outbox_columns,
    outbox_row,
    posting_columns,
    posting_of,
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
from tenuto.store.protocol import EventResult, InstanceWrite
from tenuto.store.sqlite.session import Column, Session, as_json


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
            (event.tenant, event.stream, results[event.id].number)
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


def enable_listener(session: Session, listener: Listener) -> tuple[bool, Heard]:
    columns = listener_columns(listener)
    change: dict[str, Column] = {
        name: getattr(columns, name)
        for name in ("tenant", "kind", "id", "level", "hears_inbox", "health")
    }
    was_disabled = bool(session.rows("enable_listener", change))
    return was_disabled, heard(session)


def change_listener(session: Session, listener: Listener) -> tuple[bool, Heard]:
    columns = listener_columns(listener)
    change: dict[str, Column] = {
        name: getattr(columns, name)
        for name in ("tenant", "kind", "id", "patterns", "level", "hears_inbox", "settings")
    }
    was_there = bool(session.rows("change_listener", change))
    return was_there, heard(session)


def listeners(session: Session, tenant: str | None) -> list[Listener]:
    everybodys = tenant is None
    rows = session.packed("all_listeners") if everybodys else session.packed("listeners", (tenant,))
    found = [_listener(row) for row in rows]
    return sorted(found, key=lambda each: (each.created_at, each.id))


def listening(session: Session, known: int) -> tuple[int, Heard | None]:
    """The number of the last change; and what is heard, unless that is known."""
    [(version,)] = session.rows("listening")
    return version, None if version == known else heard(session)


def outbox(session: Session, limit: int, passing_over: Collection[str]) -> list[OutboxRow]:
    which: dict[str, Column] = {"limit": limit, "passing_over": as_json(sorted(passing_over))}
    return [outbox_row(_with_bytes(row, 9, 13)) for row in session.packed("outbox", which)]


def stretches(session: Session, asked: Sequence[Stretch]) -> list[list[LogRow]]:
    found: list[list[LogRow]] = [[] for _ in asked]
    for place, *entry in session.packed("stretches", (as_json(asked),)):
        found[place].append(LogRow._make(_with_bytes(entry, 7)))
    for entries in found:
        entries.sort(key=lambda entry: entry.seq)
    return found


def drained(session: Session, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
    if postings:
        asked = as_json(sorted({each.listener_id for each in postings}))
        there = set(session.packed("addressees", (asked,)))
        kept = [posting_columns(each) for each in postings if each.listener_id in there]
        session.insert("insert_postings", kept)
        _promote(session, {(row.listener_id, row.stream) for row in kept})
    session.run("delete_outbox", (as_json(numbers),))


def due_postings(
    session: Session,
    now: int,
    *,
    most: int,
    each: int,
    busy: Collection[str],
    among: Collection[str] | None,
) -> DuePostings:
    waiting = [
        (due, id)
        for id, due in session.packed("waiting_listeners")
        if id not in busy and (among is None or id in among)
    ]
    ready = sorted(found for found in waiting if found[0] <= now)[:most]
    items = [
        posting_of(PostingColumns._make(_with_bytes(row, 3)))
        for _, id in ready
        for row in session.packed("postings_due", {"listener_id": id, "now": now, "each": each})
    ]
    later = min((due for due, _ in waiting if due > now), default=None)
    named = (as_json([id for _, id in ready]),)
    to = [_listener(row) for row in session.packed("listeners_named", named)] if ready else []
    return DuePostings(items, None if later is None else from_epoch_ms(later), to)


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
    if settlement.health is not None:
        session.run("put_health", (settlement.health, id))
    if settlement.is_disabled:
        session.run("delete_postings_of", (id,))
        session.run("disable_listener", (id,))
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
        gone: dict[str, Column] = {"tenant": tenant, "event_ids": as_json([id for _, id in old])}
        session.run("delete_deliveries", gone)
        session.run("delete_events", (as_json([number for number, _ in old]),))
    return len(old)


def _promote(session: Session, streams: Iterable[tuple[str, str]]) -> None:
    session.run("promote_postings", (as_json(sorted(streams)),))


def _listener(row: Sequence[Any]) -> Listener:
    return listener_of(ListenerColumns._make(_with_bytes(row, 6, 7)))


def _with_bytes(row: Sequence[Any], *places: int) -> list[Any]:
    """A row as it was packed, where these columns are bytes."""
    return [
        bytes.fromhex(value) if place in places and value is not None else value
        for place, value in enumerate(row)
    ]
