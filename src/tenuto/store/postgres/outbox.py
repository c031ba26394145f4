"""Listeners, the outbox, and what is on its way; shared out among living processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.model.log import LogRow
from tenuto.store.outbox_columns import (
    ListenerColumns,
    PostingColumns,
    listener_columns,
    listener_of,
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
from tenuto.store.postgres.faults import may_go_again
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column
from tenuto.store.postgres.session import TRIES, Transaction
from tenuto.store.protocol import CommitUnknown, Fenced

T = TypeVar("T")

_MOST_SHARES = 4


async def put_listener(pool: Pool, listener: Listener) -> None:
    await pool.rows("put_listener", listener_columns(listener)._asdict())


async def remove_listener(pool: Pool, tenant: str, kind: str, id: str) -> bool:
    async def work(transaction: Transaction) -> bool:
        await transaction.rows("lock_listeners", {"ids": [id]})
        which = {"tenant": tenant, "kind": kind, "id": id}
        was_there = bool(await transaction.rows("delete_listener", which))
        if was_there:
            await transaction.rows("delete_postings_of", {"listener_id": id})
            await transaction.rows("forget_share_of", {"listener_id": id})
        return was_there

    return await together(pool, work)


async def listeners(pool: Pool, tenant: str | None) -> list[Listener]:
    if tenant is None:
        found = await pool.rows("all_listeners")
    else:
        found = await pool.rows("listeners", {"tenant": tenant})
    return [listener_of(ListenerColumns._make(row)) for row in found]


async def enable_listener(pool: Pool, listener: Listener) -> bool:
    columns = listener_columns(listener)
    names = ("tenant", "kind", "id", "level", "hears_inbox", "health")
    change = {name: getattr(columns, name) for name in names}
    return bool(await pool.rows("enable_listener", change))


async def change_listener(pool: Pool, listener: Listener) -> bool:
    columns = listener_columns(listener)
    names = ("tenant", "kind", "id", "patterns", "level", "hears_inbox", "settings")
    change = {name: getattr(columns, name) for name in names}
    return bool(await pool.rows("change_listener", change))


async def listening(pool: Pool) -> int:
    [(version,)] = await pool.rows("listening")
    return int(version)


async def outbox(
    pool: Pool, process_id: str, limit: int, passing_over: Collection[str]
) -> list[OutboxRow]:
    left_out: dict[str, Column] = {"passing_over": sorted(passing_over)}
    claim: dict[str, Column] = {"process_id": process_id, "most": _MOST_SHARES, **left_out}
    shares = [share for (share,) in await pool.rows("claim_shares", claim)]
    if not shares:
        return []
    # Only now: what others have told before these shares became this process's is gone from them.
    found = await pool.rows("outbox", {"shares": shares, "limit": limit, **left_out})
    return [outbox_row(row) for row in found]


async def stretches(pool: Pool, asked: Sequence[Stretch]) -> list[list[LogRow]]:
    found: list[list[LogRow]] = [[] for _ in asked]
    if asked:
        ids, firsts, lasts = zip(*asked, strict=True)
        wanted = {"instance_ids": list(ids), "firsts": list(firsts), "lasts": list(lasts)}
        for place, *entry in await pool.rows("stretches", wanted):
            found[place - 1].append(LogRow._make(entry))
    return found


async def drained(
    pool: Pool, process_id: str, numbers: Sequence[int], postings: Sequence[Posting]
) -> None:
    async def work(transaction: Transaction) -> None:
        if not await transaction.rows("lock_process", {"process_id": process_id}):
            raise Fenced(process_id)
        if postings:
            await _put_on_their_way(transaction, postings)
        await transaction.rows("delete_outbox", {"numbers": list(numbers)})
        await transaction.rows("release_shares", {"process_id": process_id})

    await together(pool, work)


async def due_postings(
    pool: Pool,
    process_id: str,
    now: int,
    *,
    most: int,
    each: int,
    busy: Collection[str],
    among: Collection[str] | None,
) -> DuePostings:
    claim: dict[str, Column] = {
        "process_id": process_id,
        "now": now,
        "most": most,
        "busy": sorted(busy),
        "is_among_all": among is None,
        "among": sorted(among or ()),
    }
    found = await pool.rows("claim_listeners", claim)
    ids = [id for id, _ in found if id is not None]
    later = [due for id, due in found if id is None and due is not None]
    wanted: dict[str, Column] = {"ids": ids, "now": now, "each": each}
    rows = await pool.rows("postings_due", wanted) if ids else []
    to = await pool.rows("listeners_named", {"ids": ids}) if ids else []
    return DuePostings(
        [posting_of(PostingColumns._make(row)) for row in rows],
        from_epoch_ms(later[0]) if later else None,
        [listener_of(ListenerColumns._make(row)) for row in to],
    )


async def settle(pool: Pool, process_id: str, settlement: Settlement) -> None:
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

    await together(pool, work)


async def backlogs(pool: Pool, tenant: str) -> dict[str, Backlog]:
    found = await pool.rows("backlogs", {"tenant": tenant})
    return {id: Backlog(count, from_epoch_ms(oldest)) for id, count, oldest in found}


async def prune_events(pool: Pool, tenant: str, before: int, limit: int) -> int:
    which: dict[str, Column] = {"tenant": tenant, "before": before, "limit": limit}
    [(count,)] = await pool.rows("prune_events", which)
    return int(count)


async def _put_on_their_way(transaction: Transaction, postings: Sequence[Posting]) -> None:
    """Behind what is there: whoever settles the one before waits until these can be seen."""
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


async def together(pool: Pool, work: Callable[[Transaction], Awaitable[T]]) -> T:
    """In one transaction; for what is looked at anew when it is not known to be durable."""
    for attempt in range(1, TRIES + 1):
        try:
            async with pool.session() as session:
                return await session.transaction(work)
        except CommitUnknown as error:
            raise may_be_written(f"not known to be written: {error}") from error
        except StoreUnavailable as error:
            cause = error.__cause__
            if cause is None or not may_go_again(cause) or attempt == TRIES:
                raise
    raise AssertionError("a loop that returns or raises")
