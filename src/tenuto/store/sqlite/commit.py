"""A turn as statements: the gate first, then what winners write, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tenuto.model.durations import epoch_ms
from tenuto.model.events import Event
from tenuto.store.columns import (
    EventColumns,
    dead_letter_columns,
    event_columns,
    instance_columns,
    mail_columns,
    move_columns,
    searchable_columns,
    timer_columns,
    timer_key_columns,
    update_columns,
    wait_columns,
)
from tenuto.store.errors import DataRefused
from tenuto.store.job_columns import job_columns
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
from tenuto.store.parts.admission import Pass
from tenuto.store.parts.definitions import REMOVED as REMOVED_CONTENT
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.turns import (
    EventResult,
    InstanceWrite,
    MatchWrite,
    Ownership,
    Turn,
    TurnResult,
)
from tenuto.store.parts.waits import WaitRow
from tenuto.store.sqlite.faults import REFUSED
from tenuto.store.sqlite.mark_space import mark_bytes, mark_space
from tenuto.store.sqlite.outbox_writes import UNHEARD, Heard, write_events_heard, write_stretches
from tenuto.store.sqlite.row_port import driven, written
from tenuto.store.sqlite.rows import jobs_of
from tenuto.store.sqlite.session import Column, Session, as_json
from tenuto.store.sqlite.slot_writes import has_room, pass_due, put_slots

_Gate = Callable[[Session, Turn, list[InstanceWrite], set[str]], Outcomes]


_ALL, _FIRST, _REST = slice(None), slice(1), slice(1, None)


class _AlreadyCommitted(Exception):
    """This turn was committed before: its answer got lost, or it was sent again."""


class _Contended(Exception):
    """At least one write of the turn does not succeed: each must be checked by itself."""


def commit_turn(session: Session, turn: Turn, heard: Heard = UNHEARD) -> TurnResult:
    """Write `turn` in one transaction, or find that it was written before.

    A turn in which a write loses, or repeats an idempotency key, takes a second transaction.
    `heard` says which entries and events get outbox rows.
    """
    try:
        try:
            return session.write(lambda: _write_turn(session, turn, _gate_all, heard))
        except _Contended:
            return session.write(lambda: _write_turn(session, turn, _gate_each, heard))
    except _AlreadyCommitted:
        return session.read(lambda: _settled(session, turn))


def _write_turn(session: Session, turn: Turn, gate: _Gate, heard: Heard) -> TurnResult:
    leased = [write for write in turn.writes if write.leases]
    foreign = _owned_by_others(session, turn, leased) if leased or gate is _gate_each else set()
    if foreign and gate is _gate_all:
        raise _Contended
    if foreign and _winners(session, turn.id, turn.writes):
        raise _AlreadyCommitted
    gated = [write for write in turn.writes if write.rows or write.create]
    outcomes = gate(session, turn, gated, foreign) if gated else {}
    outcomes |= _outdated(session, turn, foreign)
    won = [write for write in turn.writes if outcomes.get(write.instance_id, WON) is WON]
    has_created = _write_instances(session, won)
    owing = [write for write in won if not write.is_log_alone and _owes(write)]
    if owing:
        _write_obligations(session, turn, owing)
    if _write_ownership(session, turn.process_id, won) and gate is _gate_all:
        raise _Contended
    published = events_of(turn, won)
    events = _write_events(session, turn, published) if published else {}
    if heard.inbox and events:
        write_events_heard(session, published, events)
    if heard.level:
        # After its events, so that listeners see the events of an instance before its end.
        write_stretches(session, heard, won)
    if turn.events or has_created:
        session.run("see_moment", {"id": turn.process_id, "at": epoch_ms(turn.at)})
    if turn.matches:
        _write_matches(session, turn.matches)
    if turn.looked_back:
        session.run("mark_looked_back", (as_json(turn.looked_back),))
    most = pass_due(session, owing) if turn.admits else None
    admission = None
    if most:
        # There is no other writer: what is given back is granted in the same transaction.
        made = Pass(turn.at, most, is_short=True, keeps_slots=turn.keeps_slots)
        admission = driven(session, made.script(), written)
    return TurnResult(outcomes, events, is_admitted=most is not None, admission=admission)


def _gate_all(
    session: Session, turn: Turn, gated: list[InstanceWrite], _foreign: set[str]
) -> Outcomes:
    """Insert the entries of all writes together, which is right as long as no write loses."""
    if _used_keys(session, gated) or _removed(session, gated):
        raise _Contended
    if not has_room(session, turn):
        raise _Contended
    try:
        missing = _insert_entries(session, gated, turn.id)
        _claim_keys(session, gated)
    except REFUSED:
        # The refused data may belong to a write that loses anyway.
        raise _Contended from None
    if missing:
        raise _Contended
    return dict.fromkeys([write.instance_id for write in gated], WON)


def _gate_each(
    session: Session, turn: Turn, gated: list[InstanceWrite], foreign: set[str]
) -> Outcomes:
    """The first entry of each write decides whether it succeeds; winners write the rest.

    Such a turn takes no slots.
    """
    turn_id = turn.id
    used = _used_keys(session, gated)
    taken = {write.instance_id: key_taken(write, used) for write in gated}
    outcomes = {
        id: WON if key is None or key.existing_id == id else key for id, key in taken.items()
    }
    outcomes |= {id: taken[id] or LOST for id in foreign & taken.keys() if outcomes[id] is WON}
    removed = _removed(session, gated)
    if removed:
        if _winners(session, turn_id, [each for each in gated if each.instance_id in removed]):
            raise _AlreadyCommitted
        # A start under an id that is in use loses, whatever became of its definition.
        removed -= _with_log(session, removed)
    outcomes |= {id: REMOVED for id in removed if outcomes[id] is WON}
    taking = {write.instance_id for write in gated if write.slots_taken}
    if taking:
        if _winners(session, turn_id, [each for each in gated if each.instance_id in taking]):
            raise _AlreadyCommitted
        taking -= _with_log(session, [each.instance_id for each in gated if each.create])
    outcomes |= {id: FULL for id in taking if outcomes[id] is WON}
    allowed = [write for write in gated if outcomes[write.instance_id] is WON]
    missing = _insert_entries(session, allowed, turn_id, part=_FIRST)
    if missing:
        winners = _winners(session, turn_id, allowed)
        if len(winners) > len(allowed) - missing:
            raise _AlreadyCommitted
        # A start repeated with its key and its id finds itself.
        losers = {write.instance_id for write in allowed} - winners
        outcomes.update({id: taken[id] or LOST for id in losers})
    _share_keys(session, allowed, outcomes)
    won = [write for write in allowed if outcomes[write.instance_id] is WON]
    if _insert_entries(session, won, None, part=_REST):
        raise DataRefused("an entry is there already, behind one that was not")
    return outcomes


def _removed(session: Session, writes: list[InstanceWrite]) -> set[str]:
    """Starts that need a definition which was removed."""
    needed = needed_definitions(writes)
    if not needed:
        return set()
    parameters: dict[str, Column] = {"definitions": as_json(needed), "removed": REMOVED_CONTENT}
    gone = {tuple(version) for version in session.packed("removed_definitions", parameters)}
    return {
        write.instance_id
        for write in (writes if gone else ())
        if gone.issuperset(needed_definitions([write])) and needed_definitions([write])
    }


def _with_log(session: Session, ids: Iterable[str]) -> set[str]:
    """Those of these instances that exist."""
    asked = as_json([(id, 1) for id in ids])
    return set(session.packed("instances_with_entries_at", (asked,)))


def _insert_entries(
    session: Session,
    writes: Iterable[InstanceWrite],
    turn_id: str | None,
    part: slice = _ALL,
) -> int:
    """Write a part of everybody's entries; how many found no place: it is taken, or none is before.

    The first of each carries the turn's id.
    """
    values: list[Column] = []
    count = 0
    for write in writes:
        if not write.rows:
            raise DataRefused("an instance is created with its first entries")
        turn_of_row = turn_id
        for row in write.rows[part]:
            values.append(write.instance_id)
            values.extend(row)
            values.append(turn_of_row)
            turn_of_row = None
            count += 1
    return count - session.insert_values("insert_entries", values, count)


def _outdated(session: Session, turn: Turn, foreign: set[str]) -> Outcomes:
    """Writes without entries rest on a picture too: an old one must not overwrite a newer."""
    following = [
        (write.instance_id, write.version + 1)
        for write in turn.writes
        if not write.rows and not write.create
    ]
    if not following:
        return {}
    found = session.packed("instances_with_entries_at", (as_json(following),))
    return dict.fromkeys([*found, *foreign.intersection(id for id, _ in following)], LOST)


def _owned_by_others(session: Session, turn: Turn, leased: list[InstanceWrite]) -> set[str]:
    """Instances that another process owns, or whose job leases another process holds."""
    wanted = [w.instance_id for w in turn.writes if w.ownership is Ownership.TAKE]
    found = session.packed("owners_of", (as_json(wanted),)) if wanted else []
    foreign = {id for id, process_id in found if process_id != turn.process_id}
    if leased:
        ids = (as_json([write.instance_id for write in leased]),)
        held = set(jobs_of(session, ids))
        foreign |= {write.instance_id for write in leased if not held.issuperset(write.leases)}
    return foreign


def _winners(session: Session, turn_id: str, writes: Iterable[InstanceWrite]) -> set[str]:
    first_rows = [(write.instance_id, write.rows[0].seq) for write in writes if write.rows]
    parameters = {"first_rows": as_json(first_rows), "turn_id": turn_id}
    return set(session.packed("first_rows_of_turn", parameters))


def _used_keys(session: Session, writes: Iterable[InstanceWrite]) -> UsedKeys:
    wanted = [
        (write.create.tenant, write.create.key)
        for write in writes
        if write.create is not None and write.create.key is not None
    ]
    if not wanted:
        return {}
    return {
        (tenant, key): (instance_id, bytes.fromhex(content_hash))
        for tenant, key, instance_id, content_hash in session.packed(
            "used_keys", (as_json(wanted),)
        )
    }


def _share_keys(session: Session, allowed: list[InstanceWrite], outcomes: Outcomes) -> None:
    """Give each key to the first winner that asks for it; the others of this turn take back."""
    claimed: UsedKeys = {}
    claiming = []
    taken_back = []
    for write in allowed:
        new = write.create
        if new is None or new.key is None or outcomes[write.instance_id] is not WON:
            continue
        taken = key_taken(write, claimed)
        if taken is None or taken.existing_id == write.instance_id:
            claimed[new.tenant, new.key] = (write.instance_id, new.content_hash)
            claiming.append(write)
        else:
            outcomes[write.instance_id] = taken
            taken_back.append((write.instance_id, write.rows[0].seq))
    if taken_back:
        session.run("delete_first_rows", (as_json(taken_back),))
    _claim_keys(session, claiming)


def _claim_keys(session: Session, writes: Iterable[InstanceWrite]) -> None:
    session.insert(
        "insert_keys",
        [
            (new.tenant, new.key, write.instance_id, new.content_hash)
            for write in writes
            if (new := write.create) is not None and new.key is not None
        ],
    )


def _settled(session: Session, turn: Turn) -> TurnResult:
    """The result of a turn that was committed before."""
    winners = _winners(session, turn.id, turn.writes)
    used = _used_keys(session, turn.writes)
    there = _with_log(session, [write.instance_id for write in turn.writes])
    published = events_of(turn, [each for each in turn.writes if each.instance_id in winners])
    return TurnResult(
        {
            # The outcome of writes without entries is unknown; deciding them again does no harm.
            write.instance_id: WON
            if write.instance_id in winners
            else key_taken(write, used) or settled_loser(write, is_there=write.instance_id in there)
            for write in turn.writes
        },
        _event_results(session, turn, list(map(event_columns, published))) if published else {},
    )


def _write_instances(session: Session, won: list[InstanceWrite]) -> bool:
    """Write rows and snapshots of instances; whether any of them is new."""
    created = [
        instance_columns(write.instance_id, write.create, write.update)
        for write in won
        if write.create is not None
    ]
    if created:
        [(newest_event,)] = session.rows("newest_event")
        session.insert("insert_instances", [(*columns, newest_event) for columns in created])
    changed = [
        (write.update.keeps_status, update_columns(write.instance_id, write.update))
        for write in won
        if write.update is not None and write.create is None
    ]
    if changed:
        session.insert("move_instances", [move_columns(row) for keeps, row in changed if keeps])
        session.insert("update_instances", [row for keeps, row in changed if not keeps])
    snapshots = [
        (write.instance_id, write.snapshot.version, write.snapshot.state)
        for write in won
        if write.snapshot is not None
    ]
    if snapshots:
        session.insert("put_snapshots", snapshots)
    return bool(created)


def _owes(write: InstanceWrite) -> bool:
    """Most writes change the log and nothing beside it."""
    return bool(
        write.timers_set
        or write.timers_cleared
        or write.waits_opened
        or write.waits_closed
        or write.deliveries
        or write.mail_taken
        or write.mail_sent
        or write.dead_letters
        or write.dead_letters_dropped
        or write.jobs_offered
        or write.jobs_withdrawn
        or write.jobs_cancelled
        or write.searchable
        or write.slots_asked
        or write.slots_taken
        or write.slots_released
    )


def _write_obligations(session: Session, turn: Turn, won: list[InstanceWrite]) -> None:
    cleared = [
        (write.instance_id, *timer_key_columns(key))
        for write in won
        for key in write.timers_cleared
    ]
    if cleared:
        session.run("delete_timers", (as_json(cleared),))
    session.insert(
        "put_timers", [timer_columns(each) for write in won for each in write.timers_set]
    )
    closed = [key[:3] for write in won for key in write.waits_closed]
    if closed:
        session.run("delete_waits", (as_json(closed),))
    put_waits(session, [each for write in won for each in write.waits_opened])
    _put_deliveries(session, [each for write in won for each in write.deliveries])
    withdrawn = [key for write in won for key in write.jobs_withdrawn]
    if withdrawn:
        session.run("delete_jobs", {"keys": as_json(withdrawn)})
    session.insert("put_jobs", [job_columns(job) for write in won for job in write.jobs_offered])
    cancelled = [key for write in won for key in write.jobs_cancelled]
    if cancelled:
        session.run("call_off_jobs", {"keys": as_json(cancelled)})
    taken = [(id, write.instance_id) for write in won for id in write.mail_taken]
    if taken:
        session.run("delete_mail", (as_json(taken),))
    session.insert("insert_mail", [mail_columns(mail) for write in won for mail in write.mail_sent])
    _put_searchable(session, [write for write in won if write.searchable is not None])
    dropped = [(write.instance_id, *key) for write in won for key in write.dead_letters_dropped]
    if dropped:
        session.run("drop_dead_letters", (as_json(dropped),))
    put_slots(session, won, turn.slots)
    session.insert(
        "insert_dead_letters",
        [dead_letter_columns(letter) for write in won for letter in write.dead_letters],
    )


def _put_searchable(session: Session, writes: list[InstanceWrite]) -> None:
    known = [write.instance_id for write in writes if write.create is None]
    if known:
        session.run("delete_searchable", (as_json(known),))
    session.insert(
        "insert_searchable",
        [
            columns
            for write in writes
            if write.searchable is not None
            for columns in searchable_columns(write.instance_id, write.searchable)
        ],
    )


def put_waits(session: Session, waits: list[WaitRow]) -> None:
    """Open waits, each with the number of the newest event that was there before it."""
    if waits:
        [(newest_event,)] = session.rows("newest_event")
        session.insert("put_waits", [wait_columns(wait, newest_event) for wait in waits])


def _write_ownership(session: Session, process_id: str, won: list[InstanceWrite]) -> int:
    """How many instances had an owner already."""
    taken = [(write.instance_id, process_id) for write in won if write.ownership is Ownership.TAKE]
    owned_before = len(taken) - session.insert("take_instances", taken)
    released = [write.instance_id for write in won if write.ownership is Ownership.RELEASE]
    if released:
        session.run("release_instances", {"process_id": process_id, "ids": as_json(released)})
    return owned_before


def _write_events(session: Session, turn: Turn, events: Sequence[Event]) -> dict[str, EventResult]:
    given = [event_columns(event) for event in events]
    session.insert(
        "insert_events",
        [(*columns, turn.id, mark_space(len(columns.payload))) for columns in given],
    )
    return _event_results(session, turn, given)


def _event_results(
    session: Session, turn: Turn, given: Sequence[EventColumns]
) -> dict[str, EventResult]:
    wanted = as_json([(event.tenant, event.id) for event in given])
    known = {id: facts for id, *facts in session.packed("known_events", (wanted,))}
    return {event.id: _event_result(event, turn.id, *known[event.id]) for event in given}


def _event_result(
    given: EventColumns, turn_id: str, content_hash: str, stored_by: str, *facts: int
) -> EventResult:
    number, is_matched, *counts = facts
    return known_event(
        is_same=bytes.fromhex(content_hash) == given.content_hash,
        is_own=stored_by == turn_id,
        is_matched=bool(is_matched),
        number=number,
        counts=counts,
    )


def _write_matches(session: Session, matches: Sequence[MatchWrite]) -> None:
    # Of two for one event the first counts, and a statement takes each event once.
    first = {match.key: match for match in reversed(matches) if match.is_done}
    marks = [
        (match.key, (epoch_ms(match.matched_at), match.resumed, match.cancelled, match.started))
        for match in first.values()
    ]
    session.insert("mark_matched", [(*key, *mark, mark_bytes(mark)) for key, mark in marks])
    session.insert("insert_mail", [mail_columns(mail) for match in matches for mail in match.mail])
    _put_deliveries(session, [each for match in matches for each in match.deliveries])


def _put_deliveries(session: Session, deliveries: Iterable[Delivery]) -> None:
    session.insert(
        "put_deliveries",
        [
            (*each[1:4], each.arm, each.event_id, each.outcome, each.reason, each.tenant)
            for each in deliveries
        ],
    )
