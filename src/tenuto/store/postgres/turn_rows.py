"""Rows of a turn, for the parts of its statement.

A statement's parts see the tables as they were before it, and no two of them may touch the same
row. So what a turn does to one row in several steps is worked out here: cleared and set is set,
closed and opened is opened, taken and sent is exchanged.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence, Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

import msgspec

from tenuto.model.durations import epoch_ms
from tenuto.model.inputs import TimerKey
from tenuto.store.columns import (
    WaitColumns,
    dead_letter_columns,
    event_columns,
    instance_columns,
    mail_columns,
    searchable_columns,
    timer_columns,
    timer_key_columns,
    update_columns,
    wait_columns,
)
from tenuto.store.job_columns import job_columns
from tenuto.store.outbox_columns import outbox_columns, share_of
from tenuto.store.outcomes import events_of, may_follow
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.jobs import JobKey
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.slot_rows import NO_LIMIT, SlotRow, count_rows, slot_columns, wanted_counts
from tenuto.store.parts.turns import InstanceWrite, MatchWrite, Ownership, Turn
from tenuto.store.parts.waits import LookedBack, WaitKey
from tenuto.store.postgres.queries import Column

_encode = msgspec.json.Encoder().encode

Rows: TypeAlias = Sequence[tuple[Any, ...]]


class Part(NamedTuple):
    """A part by its name in `queries.sql`, and one array for each of its columns."""

    name: str
    columns: tuple[str, ...]
    arrays: tuple[Sequence[Column], ...]

    def parameters(self) -> dict[str, Column]:
        """For the part alone."""
        return dict(zip(self.columns, self.arrays, strict=True))

    def parameters_in_turn(self) -> dict[str, Column]:
        """For the part among others."""
        prefixed = (f"{self.name}__{column}" for column in self.columns)
        return dict(zip(prefixed, self.arrays, strict=True))


_COLUMNS = {
    "entries": "instance_id seq event_type node_id iteration attempt node_status output_variable "
    "payload error_message at_ms turn_id",
    "owned": "instance_id",
    "owned_elsewhere": "instance_id",
    "owners_taken": "instance_id",
    "keys": "tenant key instance_id content_hash",
    "still_there": "instance_id",
    "instances": "id tenant definition_id definition_version status correlation_id priority "
    "deadline created_at updated_at started_at completed_at current_steps parent_id root_id "
    "rerun_of origin_id output last_error cancellation",
    "updates": "id status updated_at started_at completed_at current_steps output last_error "
    "cancellation",
    "searchable_dropped": "instance_id kept",
    "searchable_put": "instance_id name tenant definition_id value_text created_at",
    "snapshots_put": "instance_id version state",
    "timers_cleared": "instance_id kind node iteration",
    "timers_set": "instance_id kind node iteration due",
    "waits_closed": "instance_id node iteration spared",
    "waits_opened": "instance_id node iteration attempt tenant pattern is_wildcard condition "
    "captures term_paths term_values since opened_at correlation_id looked_back arm position",
    "looked_back": "instance_id node iteration attempt spared",
    "deliveries": "instance_id node iteration arm event_id outcome reason tenant",
    "mail_taken": "id instance_id",
    "mail_sent": "id instance_id input created_at for_owner",
    "mail_exchanged": "id instance_id input created_at for_owner is_taken",
    "dead_letters_kept": "instance_id id tenant kind node iteration attempt task_id input error "
    "output at",
    "dead_letters_dropped": "instance_id node iteration",
    "owners_released": "instance_id",
    "leases": "instance_id node iteration attempt token",
    "jobs_ended": "instance_id node iteration attempt token",
    "beats": "instance_id node iteration attempt token details",
    "set_timeouts": "instance_id node iteration attempt token timeout",
    "jobs_offered": "instance_id node iteration attempt task_id offered_at tenant timeout silence "
    "is_called_off is_limited",
    "jobs_withdrawn": "instance_id node iteration attempt",
    "jobs_called_off": "instance_id node iteration attempt",
    "slots_released": "instance_id node iteration",
    "slots_asked": "instance_id node iteration tenant definition_id keys own_key own_limit on_full "
    "number rank_class rank priority deadline asked_at state held_at pace above blocked_on",
    "slots_passed": "tenant keys amount",
    "slots_counted": "tenant limit_key amount most passes changes",
    "events_stored": "tenant id pattern payload received_at timestamp correlation_id content_hash "
    "chain origin turn_id matched_at resumed cancelled started stream share",
    "matches": "tenant id matched_at resumed cancelled started",
    "moment": "lane seen_at",
    "outbox_written": "tenant share instance_id first_seq last_seq status level",
    "take_back": "instance_id seq",
    "first_rows_of_turn": "instance_id seq",
    "definitions_there": "tenant id version",
    "used_keys": "tenant key",
}
_LOOKED_BACK = WaitColumns._fields.index("looked_back")
_NAMES = {name: tuple(columns.split()) for name, columns in _COLUMNS.items()}


def part(name: str, rows: Rows) -> Part:
    """Rows as arrays; without rows, empty ones.

    A column without a single value is empty too: `unnest` fills up with NULL.
    """
    names = _NAMES[name]
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return Part(name, names, tuple(() if _is_blank(column) else column for column in columns))


def _is_blank(column: Sequence[Any]) -> bool:
    return bool(column) and column[0] is None and column.count(None) == len(column)


def is_entryless(write: InstanceWrite) -> bool:
    """Whether it has no entries, and only holds the place of the next one."""
    return not write.rows and write.create is None


def entry_rows(writes: Iterable[InstanceWrite], turn_id: str) -> list[tuple[Any, ...]]:
    """The entries of all writes; the first of each carries the turn's id."""
    rows: list[tuple[Any, ...]] = []
    for write in writes:
        if not write.rows:
            rows.append(_place(write))
            continue
        id = write.instance_id
        turn_of_row: str | None = turn_id
        for row in write.rows:
            rows.append((id, *row, turn_of_row))
            turn_of_row = None
    return rows


def first_rows(writes: Iterable[InstanceWrite], turn_id: str) -> list[tuple[Any, ...]]:
    return [
        (write.instance_id, *write.rows[0], turn_id) if write.rows else _place(write)
        for write in writes
    ]


def later_rows(writes: Iterable[InstanceWrite]) -> list[tuple[Any, ...]]:
    return [(write.instance_id, *row, None) for write in writes for row in write.rows[1:]]


def _place(write: InstanceWrite) -> tuple[Any, ...]:
    return (write.instance_id, write.version + 1, "", None, "", 0, *(None,) * 4, 0, None)


def taken(writes: Iterable[InstanceWrite]) -> list[tuple[Any, ...]]:
    return [(write.instance_id,) for write in writes if write.ownership is Ownership.TAKE]


def over(writes: Iterable[InstanceWrite]) -> list[tuple[Any, ...]]:
    """Instances that may be erased meanwhile."""
    return [(write.instance_id,) for write in writes if write.may_be_gone]


def leased(writes: Iterable[InstanceWrite], ended: Container[JobKey] = ()) -> list[tuple[Any, ...]]:
    """The leases that writes depend on, except those on jobs that the writes end."""
    return [
        (*lease.key, lease.token)
        for write in writes
        for lease in write.leases
        if lease.key not in ended
    ]


def ended_jobs(writes: Iterable[InstanceWrite]) -> dict[JobKey, int]:
    """Jobs that are withdrawn by their holders: one statement checks and deletes."""
    return {
        lease.key: lease.token
        for write in writes
        for lease in write.leases
        if lease.key in write.jobs_withdrawn
        and all(lease.key != job.key for job in write.jobs_offered)
    }


def wanted_keys(writes: Iterable[InstanceWrite]) -> list[tuple[Any, ...]]:
    """Of starts that want the same key the first has it; sorted, as in all processes."""
    wanted: dict[tuple[str, str], tuple[Any, ...]] = {}
    for write in writes:
        new = write.create
        if new is not None and new.key is not None:
            row = (new.tenant, new.key, write.instance_id, new.content_hash)
            wanted.setdefault((new.tenant, new.key), row)
    return [wanted[key] for key in sorted(wanted)]


def other_parts(
    turn: Turn, won: Sequence[InstanceWrite], lane: int, ended: AbstractSet[JobKey] = frozenset()
) -> list[Part]:
    """The parts beside the gate: those of winners, and those that cannot be lost.

    `ended`: these jobs are withdrawn at the gate itself.
    """
    made = [
        *_instance_parts(won),
        *_searchable_parts(won),
        *_timer_parts(won),
        *_wait_parts(won, turn.looked_back),
        *_mail_parts(won, turn.matches),
        # Before the events, since such parts are done from the last to the first: an instance has
        # emitted its events before the notification that it has ended.
        ("outbox_written", outbox_columns(won)),
        *_event_parts(turn, won),
    ]
    made += _job_parts(won, ended)
    letters = [dead_letter_columns(each) for write in won for each in write.dead_letters]
    dropped = [(each.instance_id, *key) for each in won for key in each.dead_letters_dropped]
    made += _slot_parts(won)
    released = [(each.instance_id,) for each in won if each.ownership is Ownership.RELEASE]
    made += [("dead_letters_kept", letters), ("dead_letters_dropped", dropped)]
    made.append(("owners_released", released))
    if turn.events or any(write.create for write in won):
        made.append(("moment", [(lane, epoch_ms(turn.at))]))
    return [part(name, rows) for name, rows in made if rows]


_Made: TypeAlias = list[tuple[str, Rows]]


def _instance_parts(won: Sequence[InstanceWrite]) -> _Made:
    created = [
        instance_columns(each.instance_id, each.create, each.update)
        for each in won
        if each.create is not None
    ]
    updated = [
        update_columns(each.instance_id, each.update)
        for each in won
        if each.update is not None and each.create is None
    ]
    folds = [
        (each.instance_id, each.snapshot.version, each.snapshot.state)
        for each in won
        if each.snapshot is not None
    ]
    return [("instances", created), ("updates", updated), ("snapshots_put", folds)]


def _searchable_parts(won: Sequence[InstanceWrite]) -> _Made:
    if not any(each.searchable for each in won):
        return []
    dropped: list[tuple[Any, ...]] = []
    put: list[tuple[Any, ...]] = []
    for each in won:
        if each.searchable is None:
            continue
        put += searchable_columns(each.instance_id, each.searchable)
        if each.create is None:
            found_by = (*each.searchable.terms, *each.searchable.marks)
            kept = _encode([term.name for term in found_by]).decode()
            dropped.append((each.instance_id, kept))
    return [("searchable_dropped", dropped), ("searchable_put", put)]


def _timer_parts(won: Sequence[InstanceWrite]) -> _Made:
    if not any(each.timers_set or each.timers_cleared for each in won):
        return []
    all_set = {
        (each.instance_id, timer.key): timer_columns(timer)
        for each in won
        for timer in each.timers_set
    }
    cleared = {
        (each.instance_id, key): (each.instance_id, *timer_key_columns(key))
        for each in won
        for key in each.timers_cleared
    }
    gone: dict[tuple[str, TimerKey], Any] = {
        key: row for key, row in cleared.items() if key not in all_set
    }
    return [("timers_cleared", list(gone.values())), ("timers_set", list(all_set.values()))]


def slots_counted(turn: Turn) -> list[tuple[Any, ...]]:
    """How many slots of each limit a turn takes, and the most that may be taken."""
    room = turn.slots
    if room is None:
        return []
    wanted = wanted_counts(slot for write in turn.writes for slot in write.slots_taken)
    return [
        (tenant, key, amount, room.limits.get(key, NO_LIMIT), room.passes(key), room.changes)
        for tenant, key, amount in count_rows(wanted)
    ]


def _slot_parts(won: Sequence[InstanceWrite]) -> _Made:
    taken = {slot.slot_key: slot for each in won for slot in each.slots_taken}
    asked = {slot.slot_key: slot_columns(slot) for each in won for slot in each.slots_asked}
    released = {key for each in won for key in each.slots_released}
    passed = taken.keys() & (asked.keys() | released)
    columns = {key: slot_columns(taken[key], is_taken=True) for key in taken.keys() - passed}
    asked |= columns
    freed = [_passed_columns(taken[key]) for key in sorted(passed)]
    parked_on = {slot.blocked_on for each in won for slot in each.slots_asked} - {""}
    if parked_on:
        # A pass may have given the last slot meanwhile: the next one looks.
        freed.append(("", _encode(sorted(parked_on)).decode(), 0))
    # No two parts touch one row.
    return [
        ("slots_passed", freed),
        ("slots_released", sorted(released - asked.keys() - passed)),
        ("slots_asked", [asked[key] for key in sorted(asked)]),
    ]


def _passed_columns(slot: SlotRow) -> tuple[Any, ...]:
    return slot.tenant, _encode(slot.keys).decode(), 1


def _job_parts(won: Sequence[InstanceWrite], ended: AbstractSet[JobKey]) -> _Made:
    withdrawn = {key for write in won for key in write.jobs_withdrawn}
    cancelled = {key for write in won for key in write.jobs_cancelled}
    offered = {job.key: job for write in won for job in write.jobs_offered}
    # No two parts touch one row.
    return [
        ("jobs_withdrawn", sorted(withdrawn - offered.keys() - ended)),
        ("jobs_called_off", sorted(cancelled - withdrawn - offered.keys())),
        ("jobs_offered", [job_columns(offered[key]) for key in sorted(offered)]),
    ]


def _wait_parts(won: Sequence[InstanceWrite], looked_back: Sequence[LookedBack]) -> _Made:
    closed = dict.fromkeys(key[:3] for write in won for key in write.waits_closed)
    opened: dict[WaitKey, WaitColumns] = {}
    for write in won:
        for wait in write.waits_opened:
            columns = wait_columns(wait, 0)
            opened[columns.key] = columns
    done = set(looked_back)
    rows = []
    for key, columns in opened.items():
        is_done = columns.looked_back or LookedBack(*key[:3], columns.attempt) in done
        # The store itself says which event a wait follows.
        rows.append((*columns[:_LOOKED_BACK], int(is_done), columns.arm, columns.position))
    arms: dict[tuple[str, ...], list[str]] = {}
    for key in opened:
        arms.setdefault(key[:3], []).append(key.arm)
    # No two parts touch one row: the other parts skip the waits that are opened.
    spared = {place: _encode(names).decode() for place, names in arms.items()}
    marked = [(*each, spared.get(each[:3])) for each in sorted(done) if each[:3] not in closed]
    over = [(*place, spared.get(place)) for place in closed]
    return [("waits_closed", over), ("waits_opened", rows), ("looked_back", marked)]


def _mail_parts(won: Sequence[InstanceWrite], matches: Sequence[MatchWrite]) -> _Made:
    taken_off = dict.fromkeys((id, each.instance_id) for each in won for id in each.mail_taken)
    sent: dict[tuple[str, str], Mail] = {}
    for messages in (*(each.mail_sent for each in won), *(match.mail for match in matches)):
        for message in messages:
            sent.setdefault((message.id, message.instance_id), message)
    rows = [(*mail_columns(message), message.for_owner) for message in sent.values()]
    if not any(key in taken_off for key in sent):
        return [("mail_taken", list(taken_off)), ("mail_sent", rows)]
    flagged = [(*row, key in taken_off) for key, row in zip(sent, rows, strict=True)]
    gone = [key for key in taken_off if key not in sent]
    return [("mail_taken", gone), ("mail_exchanged", flagged)]


def _event_parts(turn: Turn, won: Sequence[InstanceWrite]) -> _Made:
    # Of two matchings of one event the first counts.
    first = {match.key: match for match in reversed(turn.matches) if match.is_done}
    stored = [
        (
            *event_columns(event),
            turn.id,
            *_matching(first.get((event.tenant, event.id))),
            stream := event.stream,
            share_of(stream),
        )
        for event in events_of(turn, won)
    ]
    matched = [(*key, *_matching(first[key])) for key in sorted(first)]
    settled: dict[tuple[str, ...], Delivery] = {}
    for deliveries in (
        *(each.deliveries for each in won),
        *(match.deliveries for match in turn.matches),
    ):
        for each in deliveries:
            key = (*each[1:4], each.arm, each.event_id)
            before = settled.get(key)
            # Two deliveries merged, whatever was stored before them.
            if before is None or may_follow(before.outcome, each.outcome):
                settled[key] = each
    delivered = [
        (*key, settled[key].outcome, settled[key].reason, settled[key].tenant)
        for key in sorted(settled)
    ]
    return [("events_stored", stored), ("matches", matched), ("deliveries", delivered)]


def _matching(match: MatchWrite | None) -> tuple[Any, ...]:
    if match is None:
        return (None, 0, 0, 0)
    return (epoch_ms(match.matched_at), match.resumed, match.cancelled, match.started)
