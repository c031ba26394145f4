"""Turns: the gate, the rows that a winner writes, and loading, over tables in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet

from tenuto.model.durations import epoch_ms
from tenuto.model.log import LogRow
from tenuto.store.columns import (
    DeadLetterColumns,
    DefinitionColumns,
    InstanceColumns,
    WaitColumns,
    dead_letter_columns,
    definition_row,
    instance_columns,
    instance_row,
    timer_columns,
    timer_key_columns,
    update_columns,
    updated,
)
from tenuto.store.errors import DataRefused, Fenced
from tenuto.store.job_columns import job_columns
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import Job, MemoryDisk, Owner, Process, StoredEvent, pack, unpack
from tenuto.store.memory.inbox import put_delivery, put_event
from tenuto.store.memory.instances import log_after
from tenuto.store.memory.jobs import cancel_jobs
from tenuto.store.memory.mailbox import put_mail
from tenuto.store.memory.outbox import write_stretches
from tenuto.store.memory.row_port import MemoryRowPort
from tenuto.store.memory.waits import put_waits
from tenuto.store.outcomes import FULL, LOST, REMOVED, WON, events_of, settled_loser
from tenuto.store.parts.admission import Pass
from tenuto.store.parts.instances import UsedKey
from tenuto.store.parts.jobs import Lease
from tenuto.store.parts.slot_rows import Admission
from tenuto.store.parts.turns import (
    NOTHING_KNOWN,
    InstanceWrite,
    MatchWrite,
    Outcome,
    Ownership,
    Snapshot,
    StoredInstance,
    Turn,
    TurnResult,
    WriteResult,
)
from tenuto.store.parts.waits import LookedBack
from tenuto.store.sqlite.session import Session
from tenuto.store.sqlite.slot_writes import has_room, pass_due, put_slots


class MemoryTurns(MemoryPart):
    """Commits turns, and loads instances."""

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:  # noqa: ARG002
        self._context.require_open()
        disk = self._disk
        with disk.transaction():
            if _was_committed(disk, turn):
                return _settled(disk, turn)
            if not disk.lives(turn.process_id):
                raise Fenced(f"process {turn.process_id} was declared dead")
            outcomes = _outcomes(disk, turn)
            won = [write for write in turn.writes if outcomes.get(write.instance_id, WON) is WON]
            for write in won:
                _write(disk, turn, write)
            for message in (message for write in won for message in write.mail_sent):
                put_mail(disk, message, turn.process_id)
            events = {event.id: put_event(disk, event, turn.id) for event in events_of(turn, won)}
            # After its events: listeners get what an instance emitted before they get its end.
            write_stretches(disk, won)
            if turn.events or any(write.create for write in won):
                _note_time(disk, turn)
            for match in turn.matches:
                _write_match(disk, turn, match)
            for opening in turn.looked_back:
                _mark_looked_back(disk, opening)
            slotted = [
                write
                for write in won
                if write.slots_asked or write.slots_taken or write.slots_released
            ]
            if not slotted:
                return TurnResult(outcomes, events)
            # Last of all: nothing after it fails, so that it need not be undone.
            session = disk.cold.session
            admitted = session.write(lambda: self._with_slots(session, turn, slotted))
            return TurnResult(outcomes, events, *admitted)

    def _with_slots(
        self, session: Session, turn: Turn, won: Sequence[InstanceWrite]
    ) -> tuple[bool, Admission | None]:
        put_slots(session, won, turn.slots)
        most = pass_due(session, won) if turn.admits else None
        if not most:
            return most is not None, None
        made = Pass(turn.at, most, is_short=True, keeps_slots=turn.keeps_slots)
        return True, MemoryRowPort(self._context).driven(session, made.script())

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        return {
            id: self._stored(id, known.get(id, 0))
            for id in dict.fromkeys(instance_ids)
            if id in self._disk.instances
        }

    def _stored(self, id: str, known: int) -> StoredInstance:
        disk = self._disk
        packed = disk.snapshots.get(id)
        snapshot = None if packed is None else unpack(Snapshot, packed)
        version = 0 if snapshot is None else snapshot.version
        row = disk.owners.get(id)
        owner = None if row is None else unpack(Owner, row)
        is_mine = owner is not None and owner.process_id == self._context.process_id
        return StoredInstance(
            row=instance_row(unpack(InstanceColumns, disk.instances[id])),
            state=None if snapshot is None or 0 < version <= known else snapshot.state,
            state_version=version,
            state_bytes=0 if snapshot is None else len(snapshot.state),
            tail=tuple(log_after(disk, id, max(version, known - 1))),
            owner=None if owner is None else owner.process_id,
            was_left_clean=owner is not None and owner.clean and is_mine,
            jobs=tuple(
                Lease(key, unpack(Job, row).token)
                for key, row in sorted(disk.jobs.items())
                if key.instance_id == id
            ),
        )


def _was_committed(disk: MemoryDisk, turn: Turn) -> bool:
    return any(
        disk.turn_ids.get((write.instance_id, write.rows[0].seq)) == turn.id
        for write in turn.writes
        if write.rows
    )


def _settled(disk: MemoryDisk, turn: Turn) -> TurnResult:
    """The result of a turn that was committed before."""
    outcomes = {write.instance_id: _settled_write(disk, turn, write) for write in turn.writes}
    won = [write for write in turn.writes if outcomes[write.instance_id] is WON]
    events = {event.id: put_event(disk, event, turn.id) for event in events_of(turn, won)}
    return TurnResult(outcomes, events)


def _settled_write(disk: MemoryDisk, turn: Turn, write: InstanceWrite) -> WriteResult:
    # The outcome of writes without entries is unknown; deciding them again does no harm.
    if write.rows and disk.turn_ids.get((write.instance_id, write.rows[0].seq)) == turn.id:
        return WON
    is_there = bool(disk.log_ends.get(write.instance_id))
    return _key_taken(disk, write) or settled_loser(write, is_there=is_there)


def _outcomes(disk: MemoryDisk, turn: Turn) -> dict[str, WriteResult]:
    """Pass each write through the gate; one without an outcome goes through."""
    gated = [write for write in turn.writes if write.rows or write.create]
    # A write whose place is taken has lost, even if another write of this turn gets its key.
    used = {write.instance_id: _key_taken(disk, write) for write in gated}
    full: set[str] = set()
    if any(write.slots_taken for write in gated):
        session = disk.cold.session
        if not session.write(lambda: has_room(session, turn)):
            full = {write.instance_id for write in gated if write.slots_taken}
    outcomes = {
        write.instance_id: _gate(disk, turn, write, used[write.instance_id], full)
        for write in gated
    }
    outcomes |= {
        write.instance_id: LOST
        for write in turn.writes
        if not write.rows
        and ((write.instance_id, write.version + 1) in disk.log or _is_anothers(disk, turn, write))
    }
    return outcomes


def _key_taken(disk: MemoryDisk, write: InstanceWrite) -> WriteResult | None:
    if write.create is None or write.create.key is None:
        return None
    stored = disk.keys.get((write.create.tenant, write.create.key))
    if stored is None:
        return None
    used = unpack(UsedKey, stored)
    is_same = used.content_hash == write.create.content_hash
    return WriteResult(Outcome.DUPLICATE if is_same else Outcome.KEY_CONFLICT, used.instance_id)


def _is_own(taken: WriteResult | None, write: InstanceWrite) -> bool:
    return taken is not None and taken.existing_id == write.instance_id


def _gate(
    disk: MemoryDisk,
    turn: Turn,
    write: InstanceWrite,
    taken: WriteResult | None,
    full: AbstractSet[str],
) -> WriteResult:
    """`taken`: the instance that had its idempotency key before the turn.

    `full`: instances for whose slots there is no room.
    """
    if not write.rows:
        raise DataRefused(f"{write.instance_id}: an instance is created with its first entries")
    if taken is not None and not _is_own(taken, write):
        return taken
    first = write.rows[0]
    pack(first)
    is_late = disk.log_ends.get(write.instance_id, 0) != first.seq - 1
    if is_late or _is_anothers(disk, turn, write):
        # A start repeated with its key and its id finds itself.
        return taken or LOST
    twin = _key_taken(disk, write)
    if twin is not None and not _is_own(twin, write):
        return twin
    if _lacks_definition(disk, write):
        return REMOVED
    if write.instance_id in full:
        return FULL
    _append(disk, write.instance_id, first)
    disk.put(disk.turn_ids, (write.instance_id, first.seq), turn.id)
    if write.create is not None and write.create.key is not None:
        used = UsedKey(write.instance_id, write.create.content_hash)
        disk.put(disk.keys, (write.create.tenant, write.create.key), pack(used))
    return WON


def _lacks_definition(disk: MemoryDisk, write: InstanceWrite) -> bool:
    new = write.create
    if new is None or not new.needs_definition:
        return False
    name = (new.tenant, new.definition_id)
    newest = disk.definition_versions.get(name, 0)
    later = [disk.definitions.get((*name, n)) for n in range(new.definition_version, newest + 1)]
    return not later or any(
        row is None or definition_row(unpack(DefinitionColumns, row)).is_removed for row in later
    )


def _is_anothers(disk: MemoryDisk, turn: Turn, write: InstanceWrite) -> bool:
    """Whether the instance has another owner, or one of its jobs another lease."""
    for key, token in write.leases:
        job = disk.jobs.get(key)
        if job is None or unpack(Job, job).token != token:
            return True
    is_taking = write.ownership is Ownership.TAKE
    return is_taking and disk.owner_of(write.instance_id) not in {None, turn.process_id}


def _append(disk: MemoryDisk, instance_id: str, row: LogRow) -> None:
    if (instance_id, row.seq) in disk.log:
        raise DataRefused(f"{instance_id}: entry {row.seq} is there already")
    disk.put(disk.log, (instance_id, row.seq), pack(row))
    disk.put(disk.log_ends, instance_id, row.seq)
    if row.event_type.startswith("NODE_"):
        key = (instance_id, row.node_id, row.iteration, row.event_type, row.attempt)
        if row.node_id is not None and key in disk.node_rows:
            raise DataRefused(f"{row.event_type} of {key} is in the log already")
        disk.put(disk.node_rows, key, row.seq)


def _write(disk: MemoryDisk, turn: Turn, write: InstanceWrite) -> None:
    for row in write.rows[1:]:
        _append(disk, write.instance_id, row)
    _write_instance(disk, write)
    if write.searchable is not None:
        disk.put(disk.searchable, write.instance_id, pack(write.searchable))
    if write.snapshot is not None:
        _write_snapshot(disk, write.instance_id, write.snapshot)
    _write_obligations(disk, write)
    for delivery in write.deliveries:
        put_delivery(disk, delivery)
    for mail_id in write.mail_taken:
        number = disk.mail_numbers.get((mail_id, write.instance_id))
        if number is not None:
            disk.drop(disk.mail_numbers, (mail_id, write.instance_id))
            disk.drop(disk.mail, number)
    if write.dead_letters_dropped:
        _drop_dead_letters(disk, write)
    for letter in write.dead_letters:
        columns = dead_letter_columns(letter)
        if (columns.instance_id, columns.id) not in disk.dead_letters:
            disk.put(disk.dead_letters, (columns.instance_id, columns.id), pack(columns))
    _write_ownership(disk, turn.process_id, write)


def _drop_dead_letters(disk: MemoryDisk, write: InstanceWrite) -> None:
    for key, row in list(disk.dead_letters.items()):
        letter = unpack(DeadLetterColumns, row)
        if (
            letter.instance_id == write.instance_id
            and letter.kind != "late-result"
            and (letter.node, letter.iteration) in write.dead_letters_dropped
        ):
            disk.drop(disk.dead_letters, key)


def _write_instance(disk: MemoryDisk, write: InstanceWrite) -> None:
    id = write.instance_id
    if write.create is not None:
        if id in disk.instances:
            raise DataRefused(f"{id}: the instance is there already")
        disk.put(disk.instances, id, pack(instance_columns(id, write.create, write.update)))
        disk.put(disk.followed, id, disk.newest_event)
    elif write.update is not None and id in disk.instances:
        columns = unpack(InstanceColumns, disk.instances[id])
        disk.put(disk.instances, id, pack(updated(columns, update_columns(id, write.update))))


def _write_snapshot(disk: MemoryDisk, instance_id: str, snapshot: Snapshot) -> None:
    stored = disk.snapshots.get(instance_id)
    if stored is None or unpack(Snapshot, stored).version <= snapshot.version:
        disk.put(disk.snapshots, instance_id, pack(snapshot))


def _write_obligations(disk: MemoryDisk, write: InstanceWrite) -> None:
    for timer_key in write.timers_cleared:
        key = (write.instance_id, *timer_key_columns(timer_key))
        disk.drop(disk.timers, key)
        disk.drop(disk.claims, key)
    for timer in write.timers_set:
        timer_cols = timer_columns(timer)
        disk.put(disk.timers, timer_cols[:4], pack(timer_cols))
        disk.drop(disk.claims, timer_cols[:4])
    for job_key in write.jobs_withdrawn:
        disk.drop(disk.jobs, job_key)
    for job in write.jobs_offered:
        if job.key not in disk.jobs:
            disk.put(disk.jobs, job.key, pack(Job(*job_columns(job)[4:])))
    cancel_jobs(disk, write.jobs_cancelled)
    for wait_key in write.waits_closed:
        disk.drop(disk.waits, wait_key[:3])
    put_waits(disk, write.waits_opened)


def _write_ownership(disk: MemoryDisk, process_id: str, write: InstanceWrite) -> None:
    owner = disk.owner_of(write.instance_id)
    if write.ownership is Ownership.TAKE and owner is None:
        disk.put(disk.owners, write.instance_id, pack(Owner(process_id, 1)))
    elif write.ownership is Ownership.RELEASE and owner == process_id:
        disk.drop(disk.owners, write.instance_id)


def _note_time(disk: MemoryDisk, turn: Turn) -> None:
    stored = disk.processes.get(turn.process_id)
    if stored is not None:
        process = unpack(Process, stored)
        seen = process._replace(seen_at=max(process.seen_at, epoch_ms(turn.at)))
        disk.put(disk.processes, turn.process_id, pack(seen))


def _write_match(disk: MemoryDisk, turn: Turn, match: MatchWrite) -> None:
    number = disk.event_numbers.get(match.key)
    if number is not None and match.is_done:
        stored = unpack(StoredEvent, disk.events[number])
        if stored.matched_at is None:
            counts = (match.resumed, match.cancelled, match.started)
            done = stored._replace(counts=counts, matched_at=epoch_ms(match.matched_at))
            disk.put(disk.events, number, pack(done))
    for message in match.mail:
        put_mail(disk, message, turn.process_id)
    for delivery in match.deliveries:
        put_delivery(disk, delivery)


def _mark_looked_back(disk: MemoryDisk, opening: LookedBack) -> None:
    for arm, stored in disk.waits.get(opening[:3], {}).items():
        columns = unpack(WaitColumns, stored)
        if columns.attempt == opening.attempt:
            looked = pack(columns._replace(looked_back=1))
            disk.put(disk.waits, opening[:3], {**disk.waits[opening[:3]], arm: looked})
