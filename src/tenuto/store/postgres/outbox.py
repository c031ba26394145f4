"""The outbox, and postings on their way to listeners; shared out among living processes."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.store.errors import Fenced
from tenuto.store.outbox_columns import (
    SHARES,
    ListenerColumns,
    PostingColumns,
    listener_of,
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
    Outbox,
    OutboxRow,
    Posting,
    Settlement,
    Stretch,
)
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.queries import Column
from tenuto.store.postgres.session import Transaction

_MOST_SHARES = 4


class PostgresOutbox(Outbox):
    """The outbox and its postings in tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._drains = 0

    async def claim(
        self, limit: int, *, passing_over: Collection[str] = (), after: str = ""
    ) -> list[OutboxRow]:
        process_id = self._database.require_writer()
        pool = self._database.pool
        left_out: dict[str, Column] = {"passing_over": sorted(passing_over)}
        claim: dict[str, Column] = {
            "process_id": process_id,
            "first": self._first_share(process_id),
            "most": _MOST_SHARES,
            **left_out,
        }
        shares = [share for (share,) in await pool.rows("claim_shares", claim)]
        if not shares:
            return []
        # Only now: rows that other processes took off before these shares became this one's are
        # gone from them.
        turn: dict[str, Column] = {
            "after": after,
            "tenants": TENANTS_IN_TURN,
            "each": ROWS_IN_TURN,
        }
        found = await pool.rows("outbox", {"shares": shares, "limit": limit, **left_out, **turn})
        return in_turn(map(outbox_row, found), after, limit)

    async def events(self, rows: Sequence[OutboxRow]) -> list[Event | None]:
        which: dict[str, Column] = {
            "numbers": [row.event_number for row in rows],
            "most": MOST_EVENT_BYTES,
        }
        found = await self._database.connections.rows("outbox_events", which)
        return list(map(outbox_event, found))

    def _first_share(self, process_id: str) -> int:
        """Other shares after each drain, so that full ones do not delay the rest.

        Each round of all of them begins one further: a turn of tenants is not bound to some shares.
        """
        rounds, place = divmod(self._drains * _MOST_SHARES, SHARES)
        return (zlib.crc32(process_id.encode()) + rounds + place) % SHARES

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        pool = self._database.connections
        found: list[list[LogRow]] = [[] for _ in asked]
        if asked:
            ids, firsts, lasts = zip(*asked, strict=True)
            wanted = {"instance_ids": list(ids), "firsts": list(firsts), "lasts": list(lasts)}
            for place, *entry in await pool.rows("stretches", wanted):
                found[place - 1].append(LogRow._make(entry))
        return found

    async def drain(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        process_id = self._database.require_writer()

        async def work(transaction: Transaction) -> None:
            if not await transaction.rows("lock_process", {"process_id": process_id}):
                raise Fenced(process_id)
            if postings:
                await _post(transaction, postings)
            await transaction.rows("delete_outbox", {"numbers": list(numbers)})
            await transaction.rows("release_shares", {"process_id": process_id})

        await self._database.pool.transaction(work, first="durable_later")
        # Not after a failure: what is refused is claimed again, in smaller parts.
        self._drains += 1

    async def claim_due(
        self,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        moment = epoch_ms(now)
        claim: dict[str, Column] = {
            "process_id": self._database.require_writer(),
            "now": moment,
            "most": most,
            "busy": sorted(busy),
            "is_among_all": among is None,
            "among": sorted(among or ()),
        }
        pool = self._database.pool
        found = await pool.rows("claim_listeners", claim)
        ids = [id for id, _ in found if id is not None]
        later = [due for id, due in found if id is None and due is not None]
        wanted: dict[str, Column] = {"ids": ids, "now": moment, "each": each}
        rows = await pool.rows("postings_due", wanted) if ids else []
        to = await pool.rows("listeners_named", {"ids": ids}) if ids else []
        return DuePostings(
            [posting_of(PostingColumns._make(row)) for row in rows],
            from_epoch_ms(later[0]) if later else None,
            [listener_of(ListenerColumns._make(row)) for row in to],
        )

    async def settle(self, settlement: Settlement) -> None:
        process_id = self._database.require_writer()

        async def work(transaction: Transaction) -> None:
            id: dict[str, Column] = {"listener_id": settlement.listener_id}
            me: dict[str, Column] = {"process_id": process_id}
            if not await transaction.rows("lock_process", me):
                raise Fenced(process_id)
            await transaction.rows("lock_listeners", {"ids": [settlement.listener_id]})
            if not await transaction.rows("release_listener", {**id, **me}):
                raise Fenced(process_id)
            if settlement.delivered:
                arrived = {**id, "event_ids": list(settlement.delivered)}
                gone = await transaction.rows("delete_postings", arrived)
                await _promote(transaction, {(settlement.listener_id, row[0]) for row in gone})
            if settlement.put_off:
                later = {
                    "event_ids": [event_id for event_id, _ in settlement.put_off],
                    "dues": [epoch_ms(due) for _, due in settlement.put_off],
                }
                await transaction.rows("put_off_postings", {**id, **later})
            if settlement.health is not None:
                await transaction.rows("put_health", {**id, "health": settlement.health})
            if settlement.is_disabled:
                await transaction.rows("delete_postings_of", id)
                await transaction.rows("disable_listener", id)

        await self._database.pool.transaction(work, first="durable_later")


async def _post(transaction: Transaction, postings: Sequence[Posting]) -> None:
    """Append postings; a process that settles the one before waits until these can be seen."""
    asked = sorted({each.listener_id for each in postings})
    there = {id for (id,) in await transaction.rows("lock_addressees", {"ids": asked})}
    kept = [posting_columns(each) for each in postings if each.listener_id in there]
    if not kept:
        return
    columns: dict[str, Column] = dict(
        zip(PostingColumns._fields, map(list, zip(*kept, strict=True)), strict=True)
    )
    await transaction.rows("insert_postings", columns)
    await _promote(transaction, {(row.listener_id, row.stream) for row in kept})


async def _promote(transaction: Transaction, streams: Collection[tuple[str, str]]) -> None:
    if streams:
        ids, names = zip(*sorted(streams), strict=True)
        which = {"listener_id": list(ids), "stream": list(names)}
        await transaction.rows("promote_postings", which)
