"""The outbox, and the postings to listeners."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from operator import itemgetter

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.store.outbox_columns import (
    PostingColumns,
    outbox_event,
    outbox_row,
    posting_columns,
    posting_of,
)
from tenuto.store.outbox_turns import ROWS_IN_TURN, in_turn
from tenuto.store.parts.outbox import (
    MOST_EVENT_BYTES,
    TENANTS_IN_TURN,
    DuePostings,
    OutboxRow,
    Posting,
    Settlement,
    Stretch,
)
from tenuto.store.sqlite.listeners import listener_in
from tenuto.store.sqlite.outbox_writes import Heard, heard
from tenuto.store.sqlite.part import SqlitePart, looks, reads, writes_durable_later
from tenuto.store.sqlite.rows import with_bytes
from tenuto.store.sqlite.session import Column, Session, as_json


class SqliteOutbox(SqlitePart):
    """Outbox and postings in tables of the file; all of them are this process's."""

    @looks
    def claim(
        self, session: Session, limit: int, *, passing_over: Collection[str] = (), after: str = ""
    ) -> list[OutboxRow]:
        which: dict[str, Column] = {
            "limit": limit,
            "passing_over": as_json(sorted(passing_over)),
            "after": after,
            "tenants": TENANTS_IN_TURN,
            "each": ROWS_IN_TURN,
        }
        found = map(outbox_row, session.packed("outbox", which))
        return in_turn(found, after, limit)

    @looks
    def events(self, session: Session, rows: Sequence[OutboxRow]) -> list[Event | None]:
        which: dict[str, Column] = {
            "numbers": as_json([row.event_number for row in rows]),
            "most": MOST_EVENT_BYTES,
        }
        found = sorted(session.packed("outbox_events", which), key=itemgetter(0))
        return [outbox_event(with_bytes(row[1:], 3, 7)) for row in found]

    @looks
    def stretches(self, session: Session, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        found: list[list[LogRow]] = [[] for _ in asked]
        for place, *entry in session.packed("stretches", (as_json(asked),)):
            found[place].append(LogRow._make(with_bytes(entry, 7)))
        for entries in found:
            entries.sort(key=lambda entry: entry.seq)
        return found

    @writes_durable_later
    def drain(self, session: Session, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        if postings:
            asked = as_json(sorted({each.listener_id for each in postings}))
            there = set(session.packed("addressees", (asked,)))
            kept = [posting_columns(each) for each in postings if each.listener_id in there]
            session.insert("insert_postings", kept)
            _promote(session, {(row.listener_id, row.stream) for row in kept})
        session.run("delete_outbox", (as_json(numbers),))

    @reads
    def claim_due(
        self,
        session: Session,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        moment = epoch_ms(now)
        waiting = [
            (due, id)
            for id, due in session.packed("waiting_listeners")
            if id not in busy and (among is None or id in among)
        ]
        ready = sorted(found for found in waiting if found[0] <= moment)[:most]
        items = [
            posting_of(PostingColumns._make(with_bytes(row, 3)))
            for _, id in ready
            for row in session.packed(
                "postings_due", {"listener_id": id, "now": moment, "each": each}
            )
        ]
        later = min((due for due, _ in waiting if due > moment), default=None)
        named = (as_json([id for _, id in ready]),)
        to = [listener_in(row) for row in session.packed("listeners_named", named)] if ready else []
        return DuePostings(items, None if later is None else from_epoch_ms(later), to)

    async def settle(self, settlement: Settlement) -> None:
        def work(session: Session) -> Heard:
            _settle(session, settlement)
            return heard(session)

        self._file.heard = await self._file.write_durable_later(work)


def _settle(session: Session, settlement: Settlement) -> None:
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


def _promote(session: Session, streams: Iterable[tuple[str, str]]) -> None:
    session.run("promote_postings", (as_json(sorted(streams)),))
