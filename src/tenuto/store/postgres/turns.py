"""A turn as one statement; and when a write in it loses, as several that find out which."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tenuto.model.errors import StoreUnavailable
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.store.columns import InstanceColumns, event_columns, instance_row
from tenuto.store.errors import DataRefused, Fenced
from tenuto.store.looking import looked_for_each
from tenuto.store.outcomes import (
    FULL,
    LOST,
    REMOVED,
    WON,
    Outcomes,
    UsedKeys,
    events_of,
    key_taken,
    known_event,
    needed_definitions,
    settled_loser,
)
from tenuto.store.parts.jobs import JobKey, Lease
from tenuto.store.parts.turns import (
    NOTHING_KNOWN,
    EventResult,
    InstanceWrite,
    StoredInstance,
    Turn,
    TurnResult,
    Turns,
    WriteResult,
)
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.faults import CONTENDED, may_go_again, sqlstate
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column, turn_statement
from tenuto.store.postgres.session import TRIES, Session, Transaction, repeated
from tenuto.store.postgres.turn_rows import (
    Part,
    ended_jobs,
    entry_rows,
    first_rows,
    is_entryless,
    later_rows,
    leased,
    other_parts,
    over,
    part,
    slots_counted,
    taken,
    wanted_keys,
)

_COLUMNS = len(InstanceColumns._fields)
_JOB_COLUMNS = 4


class _AlreadyCommitted(Exception):
    """This turn was committed before: its answer got lost, or it was sent again."""


class PostgresTurns(Turns):
    """Turns, on the connection of their lane."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:
        """Write `turn` in one transaction, or find that it was written before.

        A turn in which a write loses, or repeats an idempotency key, takes a second transaction.
        """
        self._database.require_writer()
        session = self._database.lanes[lane]
        for write in turn.writes:
            if write.create is not None and not write.rows:
                raise DataRefused("an instance is created with its first entries")
        try:
            outcomes, answer = await _written_together(session, turn, lane)
        except _Contended:
            try:
                outcomes, answer = await _written_apart(session, turn, lane)
            except _AlreadyCommitted:
                return await _settled(session, turn)
            except Fenced:
                # It may have gone in before this process was declared dead.
                if await _is_committed(session, turn):
                    return await _settled(session, turn)
                raise
        won = [each for each in turn.writes if outcomes.get(each.instance_id, WON) is WON]
        return TurnResult(outcomes, await _event_results(session, turn, won, answer))

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        process_id = self._database.require_open()
        pool = self._database.pool
        found = await looked_for_each(instance_ids, lambda ids: _load(pool, ids, known))
        return {row[0]: _stored(row, process_id) for row in found}


async def _load(pool: Pool, instance_ids: Sequence[str], known: Mapping[str, int]) -> list[Row]:
    ids = list(dict.fromkeys(instance_ids))
    return await pool.rows("load", {"ids": ids, "known": [known.get(id, 0) for id in ids]})


def _stored(row: Row, process_id: str) -> StoredInstance:
    owner, is_clean, state, state_version, state_bytes, *tail = row[_COLUMNS:-_JOB_COLUMNS]
    jobs = row[-_JOB_COLUMNS:]
    return StoredInstance(
        row=instance_row(InstanceColumns._make(row[:_COLUMNS])),
        state=state,
        state_version=state_version,
        state_bytes=state_bytes,
        tail=tuple(map(LogRow._make, zip(*tail, strict=True))) if tail[0] else (),
        owner=owner,
        was_left_clean=is_clean and owner == process_id,
        jobs=tuple(
            Lease(JobKey(row[0], *place), token) for *place, token in zip(*jobs, strict=True)
        )
        if jobs[0]
        else (),
    )


class _Contended(Exception):
    """A write does not go through: it has to be found out which."""


async def _written_together(session: Session, turn: Turn, lane: int) -> tuple[Outcomes, Row]:
    """Everything at once, which is right as long as no write loses."""
    if _has_twins(turn):
        raise _Contended
    ended = ended_jobs(turn.writes)
    try:
        gate = [
            part("definitions_there", needed_definitions(turn.writes)),
            part("still_there", over(turn.writes)),
            part("entries", entry_rows(turn.writes, turn.id)),
            part("owners_taken", taken(turn.writes)),
            part("leases", leased(turn.writes, ended)),
            part("jobs_ended", [(*key, token) for key, token in ended.items()]),
            part("keys", wanted_keys(turn.writes)),
            # Last: other processes wait for the lock of the limits until this turn is over.
            part("slots_counted", slots_counted(turn)),
        ]
        others = other_parts(turn, turn.writes, lane, ended.keys())
        parts = [each for each in gate if each.arrays[0]] + others
    except (UnicodeError, OverflowError, TypeError):
        # It may be the data of a write that loses, which are not needed.
        raise _Contended from None
    sent = turn_statement("turn", tuple(each.name for each in parts), session.schema)
    parameters = _parameters(turn, parts)
    for attempt in range(1, TRIES + 1):
        try:
            [answer] = await session.commit(sent, parameters)
            break
        except (StoreUnavailable, DataRefused) as error:
            cause = error.__cause__
            if cause is not None and may_go_again(cause) and attempt < TRIES:
                continue
            if isinstance(error, DataRefused) or (cause and sqlstate(cause) == CONTENDED):
                raise _Contended from None
            raise
    return {write.instance_id: WON for write in turn.writes if not is_entryless(write)}, answer


def _has_twins(turn: Turn) -> bool:
    """Whether two starts want the same idempotency key."""
    keys = [
        (write.create.tenant, write.create.key)
        for write in turn.writes
        if write.create is not None and write.create.key is not None
    ]
    return len(keys) != len(set(keys))


async def _written_apart(session: Session, turn: Turn, lane: int) -> tuple[Outcomes, Row]:
    return await repeated(
        lambda: session.transaction(lambda transaction: _write_apart(transaction, turn, lane)),
        session.server.budget,
    )


async def _write_apart(transaction: Transaction, turn: Turn, lane: int) -> tuple[Outcomes, Row]:
    """The first entry of each write decides whether it succeeds; winners write the rest."""
    if not await transaction.rows("lock_process", {"process_id": turn.process_id}):
        raise Fenced(turn.process_id)
    outcomes = await _gate(transaction, turn)
    won = [each for each in turn.writes if outcomes.get(each.instance_id, WON) is WON]
    try:
        parts = other_parts(turn, won, lane)
        later = part("entries", later_rows(won))
    except (UnicodeError, OverflowError, TypeError) as error:
        raise DataRefused(str(error)) from error
    if later.arrays[0]:
        written = await transaction.rows("entries", later.parameters())
        if len(written) < len(later.arrays[0]):
            raise DataRefused("an entry is there already, behind one that was not")
    sent = turn_statement("turn_of_winners", tuple(each.name for each in parts), transaction.schema)
    [answer] = await transaction.fetch(sent, _parameters(turn, parts))
    return outcomes, answer


async def _gate(transaction: Transaction, turn: Turn) -> Outcomes:
    """Which writes go through: entryless ones are among the outcomes only where they lose."""
    removed = await _removed(transaction, turn.writes)
    ended = over(turn.writes)
    # Before anything else: the statements after this see whatever was erased before it.
    gone = {id for (id,) in ended} - await _through(transaction, "still_there", ended)
    used = await _used_keys(transaction, turn.writes)
    taken_keys = {write.instance_id: key_taken(write, used) for write in turn.writes}
    foreign = await _through(transaction, "owned_elsewhere", taken(turn.writes), turn)
    foreign |= await _without_lease(transaction, turn.writes) | gone
    allowed = [
        write
        for write in turn.writes
        # A start repeated with its key and its id finds itself.
        if _is_free(taken_keys[write.instance_id], write)
        and write.instance_id not in foreign | removed
        # A turn that is written apart takes no slots.
        and not write.slots_taken
    ]
    through = await _through(transaction, "entries", first_rows(allowed, turn.id))
    if await _own_rows(transaction, turn.id, _without(turn.writes, through)):
        raise _AlreadyCommitted
    won = _of(allowed, through)
    # Between the question and the claim another process may have been faster.
    owned_before = await _through(transaction, "owned", taken(won), turn)
    owned = await _through(transaction, "owners_taken", taken(won), turn)
    beaten = {id for (id,) in taken(won)} - owned
    keyed = await _through(transaction, "keys", wanted_keys(_without(won, beaten)))
    late = [
        write for write in _without(won, beaten) if _key(write) and write.instance_id not in keyed
    ]
    beaten |= {write.instance_id for write in late}
    await _take_back(transaction, turn, _of(won, beaten), owned - owned_before)
    used_now = await _used_keys(transaction, late)
    outcomes = {
        write.instance_id: key_taken(write, used_now) or taken_keys[write.instance_id] or LOST
        for write in turn.writes
    }
    outcomes |= {
        write.instance_id: FULL
        for write in turn.writes
        if write.slots_taken and outcomes[write.instance_id] is LOST
    }
    outcomes |= {id: REMOVED for id in removed if outcomes[id] in (LOST, FULL)}
    outcomes |= {write.instance_id: WON for write in _without(won, beaten)}
    return {
        write.instance_id: outcomes[write.instance_id]
        for write in turn.writes
        if not is_entryless(write) or outcomes[write.instance_id] is not WON
    }


def _key(write: InstanceWrite) -> str | None:
    return None if write.create is None else write.create.key


def _is_free(taken_key: WriteResult | None, write: InstanceWrite) -> bool:
    return taken_key is None or taken_key.existing_id == write.instance_id


def _without(writes: Iterable[InstanceWrite], ids: set[str]) -> list[InstanceWrite]:
    return [write for write in writes if write.instance_id not in ids]


def _of(writes: Iterable[InstanceWrite], ids: set[str]) -> list[InstanceWrite]:
    return [write for write in writes if write.instance_id in ids]


async def _removed(transaction: Transaction, writes: Sequence[InstanceWrite]) -> set[str]:
    """Starts that need a definition which was removed."""
    needed = needed_definitions(writes)
    if not needed:
        return set()
    asked = part("definitions_there", needed).parameters()
    there = {tuple(row) for row in await transaction.rows("definitions_there", asked)}
    removed = {
        write.instance_id
        for write in writes
        if any(version not in there for version in needed_definitions([write]))
    }
    # A start under an id that is in use loses, whatever became of its definition.
    return removed - await _with_log(transaction, removed) if removed else removed


async def _with_log(asked: Session | Transaction, ids: Collection[str]) -> set[str]:
    """Those of these instances that exist."""
    return {id for id, _ in await asked.rows("newest_seqs", {"ids": list(ids)})}


async def _without_lease(transaction: Transaction, writes: Sequence[InstanceWrite]) -> set[str]:
    """Writes that rest on a job that is another's by now."""
    wanted = leased(writes)
    if not wanted:
        return set()
    found = await transaction.rows("leases", part("leases", wanted).parameters())
    held = {tuple(row) for row in found}
    return {
        write.instance_id for write in writes if any(each.key not in held for each in write.leases)
    }


async def _through(
    transaction: Transaction, name: str, rows: Sequence[tuple[Any, ...]], turn: Turn | None = None
) -> set[str]:
    """Do a part of the gate; the instances for which it was done."""
    if not rows:
        return set()
    shared: dict[str, Column] = {"process_id": turn.process_id} if turn else {}
    return {id for (id,) in await transaction.rows(name, part(name, rows).parameters() | shared)}


async def _take_back(
    transaction: Transaction, turn: Turn, writes: list[InstanceWrite], just_taken: set[str]
) -> None:
    first = [(each.instance_id, each.rows[0].seq) for each in writes if each.rows]
    if first:
        await transaction.rows("take_back", part("take_back", first).parameters())
    released = [(each.instance_id,) for each in writes if each.instance_id in just_taken]
    await _through(transaction, "owners_released", released, turn)


async def _own_rows(
    asked: Session | Transaction, turn_id: str, writes: Iterable[InstanceWrite]
) -> set[str]:
    rows = [(write.instance_id, write.rows[0].seq) for write in writes if write.rows]
    if not rows:
        return set()
    found = await asked.rows(
        "first_rows_of_turn",
        {**part("first_rows_of_turn", rows).parameters(), "turn_id": turn_id},
    )
    return {id for (id,) in found}


async def _used_keys(asked: Session | Transaction, writes: Iterable[InstanceWrite]) -> UsedKeys:
    wanted = [key[:2] for key in wanted_keys(writes)]
    if not wanted:
        return {}
    found = await asked.rows("used_keys", part("used_keys", wanted).parameters())
    return {(tenant, key): (id, content_hash) for tenant, key, id, content_hash in found}


def _parameters(turn: Turn, parts: Iterable[Part]) -> dict[str, Column]:
    parameters: dict[str, Column] = {
        "process_id": turn.process_id,
        # The sender of a message delivers it, if no other process has to.
        "claimed_by": turn.process_id,
    }
    for each in parts:
        parameters |= each.parameters_in_turn()
    return parameters


async def _is_committed(session: Session, turn: Turn) -> bool:
    if await _own_rows(session, turn.id, turn.writes):
        return True
    known = await _known_events(session, events_of(turn, turn.writes))
    return any(facts[1] == turn.id for facts in known.values())


async def _settled(session: Session, turn: Turn) -> TurnResult:
    """The result of a turn that was committed before."""
    winners = await _own_rows(session, turn.id, turn.writes)
    used = await _used_keys(session, turn.writes)
    there = await _with_log(session, [write.instance_id for write in turn.writes])
    outcomes = {
        # The outcome of writes without entries is unknown; deciding them again does no harm.
        write.instance_id: WON
        if write.instance_id in winners
        else key_taken(write, used) or settled_loser(write, is_there=write.instance_id in there)
        for write in turn.writes
    }
    won = [each for each in turn.writes if each.instance_id in winners]
    return TurnResult(outcomes, await _event_results(session, turn, won, None))


async def _event_results(
    session: Session, turn: Turn, won: Sequence[InstanceWrite], answer: Row | None
) -> dict[str, EventResult]:
    """The outcomes of the events; those of duplicates are looked up."""
    events = events_of(turn, won)
    if not events:
        return {}
    stored: dict[str, int] = {}
    if answer is not None and answer[1]:
        stored = dict(zip(answer[1], answer[2], strict=True))
    others = [event for event in events if event.id not in stored]
    known = await _known_events(session, others)
    return {
        event.id: EventResult("stored", number=stored[event.id])
        if event.id in stored
        else _event_result(event, turn.id, known[event.id])
        for event in events
    }


async def _known_events(session: Session, events: list[Event]) -> dict[str, Row]:
    if not events:
        return {}
    wanted = {
        "tenants": [event.tenant for event in events],
        "ids": [event.id for event in events],
    }
    found = await session.rows("known_events", wanted)
    return {row[0]: row[1:] for row in found}


def _event_result(event: Event, turn_id: str, facts: Row) -> EventResult:
    content_hash, stored_by, number, matched_at, *counts = facts
    return known_event(
        is_same=content_hash == event_columns(event).content_hash,
        is_own=stored_by == turn_id,
        is_matched=matched_at is not None,
        number=number,
        counts=counts,
    )
