"""The verbs of a store, over one SQLite file.

One connection writes and one reads, each in a thread of its own, so that reads do not wait for
commits: with write-ahead logging a reader sees the last commit and blocks nobody. What was
committed before a read was asked for is in it, so "commit, then look again" holds across the two.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import apsw
from msgspec.structs import replace

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.store.access_protocol import (
    AuditEntry,
    AuditHead,
    AuditQuery,
    AuditRow,
    KeyRow,
)
from tenuto.store.bulk_protocol import BulkPlace, BulkRow
from tenuto.store.columns import (
    DefinitionColumns,
    TimerColumns,
    definition_row,
    mail_columns,
    refuse_superseded,
    timer_row,
)
from tenuto.store.erasing_protocol import CAREFULLY, DefinitionKey, Erasure
from tenuto.store.job_protocol import (
    Beat,
    Extension,
    Grant,
    JobClaims,
    JobKey,
    Lease,
    WorkerClaim,
)
from tenuto.store.looking import looked_for, looked_for_each
from tenuto.store.outbox_protocol import (
    Backlog,
    DuePostings,
    Listener,
    ListenerKind,
    OutboxRow,
    Posting,
    Settlement,
    Stretch,
)
from tenuto.store.protocol import (
    BEAT_EVERY,
    NOTHING_KNOWN,
    CommitUnknown,
    DeadLetterPlace,
    DeadLetterRow,
    DefinitionRow,
    Delivery,
    EventPlace,
    InboxEvent,
    InstancePage,
    InstanceQuery,
    Mail,
    MailKey,
    Orphan,
    PastEvents,
    PastPage,
    Pulse,
    StoredInstance,
    TimerRow,
    Turn,
    TurnResult,
    Unread,
    UsedKey,
    WaitKey,
    WaitRow,
    WaitTerm,
)
from tenuto.store.sqlite import (
    access,
    bulk as bulk_operations,
    erasing,
    jobs,
    outbox,
    reads,
    stats,
    tasks,
    upkeep,
)
from tenuto.store.sqlite.commit import commit_turn, put_waits
from tenuto.store.sqlite.faults import translated
from tenuto.store.sqlite.lock import EngineLock, is_locked
from tenuto.store.sqlite.migrations import NEWEST, checked_version, migrate
from tenuto.store.sqlite.outbox import UNHEARD
from tenuto.store.sqlite.ownership import claim_orphans, enter, leave
from tenuto.store.sqlite.reads import OwnerRow
from tenuto.store.sqlite.session import Recorder, Session, as_json
from tenuto.store.sqlite.workers import DedicatedThread, Worker
from tenuto.store.stats_protocol import Tally, WaitingJobs
from tenuto.store.task_protocol import TargetRow, TaskRow
from tenuto.store.tenant_protocol import TenantReads
from tenuto.store.upkeep_protocol import Depths, Wall

T = TypeVar("T")

SAFE_SQLITE = 3_051_003
"""Older ones can damage a database when a checkpoint races a commit (fixed in 3.51.3)."""


_SETTINGS = (
    "journal_mode",
    "synchronous",
    "page_size",
    "cache_size",
    "wal_autocheckpoint",
    "sqlite_version",
)


class SqliteStore:
    """Keeps everything in one file; a sidecar lock keeps a second engine away from it."""

    beat_every = BEAT_EVERY

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threads: Callable[[str], Worker] = DedicatedThread,
        shared: bool = False,
        lanes: int = 1,
    ) -> None:
        """With `shared`, engines of this process that also say so may open the file at once.

        There is one writer, whatever `lanes` says; with two, one is decided on while the other is
        written.
        """
        self.lanes = lanes
        self.path = os.fspath(path)
        self._threads = threads
        self.is_shared = shared
        self._may_write = True
        self._lock: EngineLock | None = None
        self._process_id: str | None = None
        self._left_clean: set[OwnerRow] = set()
        """What was taken over from a process that had let go in good order: in memory, since
        whoever takes over after this one asks how this one has left it."""
        self._recorder: Recorder | None = None
        self._heard = UNHEARD
        self._listening = 0
        """The change of who listens that `_heard` takes into account."""

    @classmethod
    def reader(
        cls, path: str | os.PathLike[str], *, threads: Callable[[str], Worker] = DedicatedThread
    ) -> SqliteStore:
        """A store for processes beside the engine: it reads everything, and can only send mail."""
        store = cls(path, threads=threads)
        store._may_write = False
        return store

    @property
    def statements(self) -> int:
        """How many statements were executed since the store was opened."""
        self._require_open()
        return self._writing.statements + self._reading.statements

    @property
    def recorder(self) -> Recorder | None:
        """Sees each statement that writes, with its parameters, in the thread that executes it."""
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        if self._process_id is not None:
            self._writing.recorder = recorder

    async def open(
        self,
        process_id: str,
        now: datetime,
        *,
        is_guest: bool = False,  # noqa: ARG002
    ) -> datetime:
        if self._process_id is not None:
            raise StoreUnavailable("the store is open already", code="TEN-4002")
        if apsw.SQLITE_VERSION_NUMBER < SAFE_SQLITE:
            message = f"SQLite {apsw.sqlite_lib_version()} can damage databases; update apsw"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        if self._may_write:
            self._lock = EngineLock.take(self.path, process_id, shared=self.is_shared)
        self._start(process_id)
        try:
            return await self._writer.run(lambda: self._enter(process_id, now))
        except BaseException:
            self.abandon()
            raise

    async def enter(self, process_id: str, now: datetime) -> None:  # noqa: ARG002
        raise StoreUnavailable("the lock on the file is this process's as long as it lives")

    async def beat(self) -> Pulse:
        self._require_open()
        return Pulse(None, has_orphans=self.is_shared)

    async def workers(self) -> int:
        self._require_open()
        return int(is_locked(self.path))

    async def living(self, process_ids: Collection[str]) -> set[str]:
        # Whoever died without a word is buried by the next who opens the file, and by nobody else.
        if not is_locked(self.path):
            return set()
        ids = as_json(list(process_ids))
        found = await self._look(lambda session: session.packed("living_processes", (ids,)))
        return set(found)

    async def listen(self, hear: Callable[[], None]) -> None:
        """Whoever leaves mail in a file has no way of telling."""

    async def hint(self, process_ids: Collection[str]) -> None:
        """Engines on one file share a process, or read the mailbox by themselves."""

    async def close(self, now: datetime, *, clean: bool) -> None:
        if self._process_id is None:
            return
        process_id = self._process_id
        try:
            if self._may_write:
                session = self._writing
                await self._writer.run(
                    lambda: session.write(lambda: leave(session, process_id, now, clean=clean))
                )
        finally:
            self.abandon()

    def abandon(self) -> None:
        """What SIGKILL does: nothing is handed over, and only the lock is freed."""
        if self._process_id is None:
            return
        process_id, self._process_id = self._process_id, None
        for worker, session in ((self._reader, self._reading), (self._writer, self._writing)):
            worker.stop()
            session.close()
        if self._lock is not None:
            self._lock.release(process_id)
            self._lock = None

    async def migrate(self) -> list[str]:
        """Bring the schema of a store that is not open up to date; the names of what was done."""
        lock = EngineLock.take(self.path, "migrate", shared=False)
        session = Session(self.path, "writer_settings", may_create=True)
        worker = self._threads("tenuto-migrate")
        try:
            done = await worker.run(lambda: _migrate(session))
        finally:
            worker.stop()
            session.close()
            lock.release("migrate")
        return done

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:  # noqa: ARG002
        self._require_writer()
        session = self._writing
        heard = self._heard
        return await self._writer.run(lambda: commit_turn(session, turn, heard))

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        del known  # nobody else writes: what is read had not been in memory
        left_clean = self._left_clean
        return await looked_for_each(
            instance_ids,
            lambda ids: self._read(lambda session: reads.load(session, ids, left_clean)),
        )

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        look = self._look(lambda session: reads.entries(session, instance_id, after, limit))
        return await looked_for(look, nothing=[])

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        return await self._look(lambda session: reads.entries_at(session, instance_id, seqs))

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        return await self._look(lambda session: reads.newest_seqs(session, instance_ids))

    async def instances(self, query: InstanceQuery) -> InstancePage:
        look = self._read(lambda session: reads.instances(session, query))
        return await looked_for(look, nothing=InstancePage([], None))

    async def save_definition(
        self,
        tenant: str,
        id: str,
        content: bytes,
        content_hash: bytes,
        now: datetime,
        *,
        triggers: Sequence[WaitRow] = (),
        only_after: int | None = None,
    ) -> DefinitionRow:
        self._require_writer()
        session = self._writing

        def save() -> DefinitionRow:
            newest = _definition(session, tenant, id, None)
            refuse_superseded(newest, only_after)
            if newest is not None and newest.content_hash == content_hash:
                return newest
            version = 1 if newest is None else newest.version + 1
            columns = DefinitionColumns(tenant, id, version, content, content_hash, epoch_ms(now))
            session.run("insert_definition", columns)
            session.run("delete_triggers", (id, tenant))
            put_waits(session, [replace(each, attempt=version) for each in triggers])
            return definition_row(columns)

        return await self._writer.run(lambda: session.write(save))

    async def definition(
        self, tenant: str, id: str, version: int | None = None
    ) -> DefinitionRow | None:
        look = self._look(lambda session: _definition(session, tenant, id, version))
        return await looked_for(look, nothing=None)

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        look = self._look(lambda session: reads.used_key(session, tenant, key))
        return await looked_for(look, nothing=None)

    async def tenants(self) -> list[str]:
        return await self._look(lambda session: session.packed("tenants"))

    async def definition_ids(self, tenant: str) -> list[str]:
        return await self._look(
            lambda session: session.packed("definition_ids", {"tenant": tenant})
        )

    async def newest_definitions(
        self, tenant: str, *, after: str = "", limit: int
    ) -> list[DefinitionRow]:
        return await self._look(
            lambda session: reads.newest_definitions(session, tenant, after, limit)
        )

    async def wait_terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        return await self._look(lambda session: reads.wait_terms(session, tenant, pattern))

    async def waits_for(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        return await self._read(
            lambda session: reads.waits_for(session, tenant, terms, limit, after)
        )

    async def waits_near(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int
    ) -> list[WaitRow]:
        return await self._look(lambda session: reads.waits_near(session, tenant, terms, limit))

    async def waits(self, instance_id: str) -> list[WaitRow]:
        look = self._look(lambda session: reads.waits(session, instance_id))
        return await looked_for(look, nothing=[])

    async def unlooked_waits(self, limit: int) -> list[WaitRow]:
        return await self._look(lambda session: reads.unlooked_waits(session, limit))

    async def past_events(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        return await self._look(lambda session: reads.past_events(session, asked, after, limit))

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        return await self._look(lambda session: reads.first_past(session, asked))

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        return await self._look(
            lambda session: reads.past_texts(session, tenant, pattern, path, first, limit)
        )

    async def latest_events(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[tuple[int, Event]]:
        return await self._look(
            lambda session: reads.latest_events(
                session, tenant, pattern, since, limit=limit, below=below
            )
        )

    async def event(self, tenant: str, id: str) -> InboxEvent | None:
        return await self._look(lambda session: reads.event(session, tenant, id))

    async def unmatched_events(self, limit: int) -> list[tuple[int, Event]]:
        return await self._look(lambda session: reads.unmatched_events(session, limit))

    async def due_timers(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        found = await self._look(lambda session: session.packed("first_timers", (limit + 1,)))
        timers = [TimerColumns(*row) for row in found]
        moment = epoch_ms(now)
        due = [timer_row(timer) for timer in timers[:limit] if timer.due <= moment]
        following = timers[len(due) :]
        return due, from_epoch_ms(following[0].due) if following else None

    async def timers(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        ids = (as_json(list(dict.fromkeys(instance_ids))),)
        found = await self._look(lambda session: session.packed("timers_of", ids))
        return [timer_row(timer) for timer in sorted(TimerColumns(*row) for row in found)]

    async def mail(self, limit: int, *, again: bool = True) -> list[Mail]:  # noqa: ARG002
        process_id = self._require_open()
        return await self._look(lambda session: reads.mail(session, process_id, limit))

    async def put_back(self, letters: Sequence[MailKey]) -> None:
        """Letters in a file are nobody's until they are taken."""

    async def waiting_mail(self, letters: Sequence[MailKey]) -> set[MailKey]:
        asked = (as_json(letters),)
        found = await self._look(lambda session: session.packed("waiting_mail", asked))
        return {MailKey(*key) for key in found}

    async def send(self, mail: Sequence[Mail]) -> None:
        self._require_open()
        session = self._writing
        columns = [mail_columns(each) for each in mail]
        await self._writer.run(
            lambda: session.write(lambda: session.insert("insert_mail", columns))
        )

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        process_id = self._require_writer()
        session = self._writing
        living = frozenset(self._lock.living) if self._lock and self.is_shared else None
        left_clean = self._left_clean

        def claim() -> list[Orphan]:
            orphans = claim_orphans(session, process_id, living, limit)
            clean = {orphan.instance_id for orphan in orphans if orphan.clean}
            ids = (as_json([orphan.instance_id for orphan in orphans]),)
            # Before it is durable: whoever sees the new owner sees this too.
            for owner in reads.owners_of(session, ids) if orphans else ():
                (left_clean.add if owner.instance_id in clean else left_clean.discard)(owner)
            return orphans

        return await self._writer.run(lambda: session.write(claim))

    async def give_back(self, unread: Unread) -> bool:  # noqa: ARG002
        """A file has one program: what that cannot read waits for the next."""
        self._require_writer()
        return False

    async def pass_over(
        self,
        instance_ids: Collection[str],
        letters: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        """What is left to others here would be left to nobody."""

    async def claim_jobs(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        process_id = self._require_writer()
        session = self._writing
        moment, until = epoch_ms(now), epoch_ms(now + lease)

        def claim() -> JobClaims:
            return jobs.claim(
                session, process_id, task_ids, limit, lapsed=lapsed, now=moment, until=until
            )

        return await self._writer.run(lambda: session.write(claim))

    async def leases(self, now: datetime) -> list[Lease]:
        process_id, moment = self._require_writer(), epoch_ms(now)
        return await self._look(lambda session: jobs.held(session, process_id, moment))

    async def extend_leases(
        self, leases: Sequence[Lease], lease: timedelta, now: datetime
    ) -> set[Lease]:
        process_id = self._require_writer()
        session = self._writing
        until = epoch_ms(now + lease)
        return await self._writer.run(
            lambda: session.write(lambda: jobs.extend(session, process_id, leases, until))
        )

    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        self._require_writer()
        moment = epoch_ms(now)
        return await self._write(lambda session: jobs.claim_for_worker(session, claim, moment))

    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        self._require_writer()
        moment = epoch_ms(now)
        return await self._write(lambda session: jobs.extend_for_workers(session, beats, moment))

    async def put_back_jobs(self, leases: Sequence[Lease]) -> None:
        self._require_writer()
        await self._write(lambda session: jobs.put_back(session, leases))

    async def take_called_off(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        process_id, until = self._require_writer(), epoch_ms(now + lease)
        return await self._write(
            lambda session: jobs.take_called_off(session, process_id, keys, until)
        )

    async def next_lapse(self, now: datetime) -> timedelta | None:
        moment = epoch_ms(now)
        return await self._look(lambda session: jobs.next_lapse(session, moment))

    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        self._require_writer()
        return await self._write(lambda session: jobs.keep_secret(session, name, proposed))

    async def dead_letters(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        return await self._look(lambda session: reads.dead_letters(session, tenant, limit, below))

    async def dead_letter(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        look = self._look(lambda session: reads.dead_letter(session, tenant, instance_id, id))
        return await looked_for(look, nothing=None)

    async def discard_dead_letter(self, tenant: str, instance_id: str, id: str) -> bool:
        self._require_writer()
        gone = await self._write(
            lambda session: session.rows("delete_dead_letter", (instance_id, id, tenant))
        )
        return bool(gone)

    async def deliveries(self, instance_id: str) -> list[Delivery]:
        look = self._look(lambda session: reads.deliveries(session, instance_id))
        return await looked_for(look, nothing=[])

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        return await self._look(lambda session: reads.deliveries_of(session, tenant, event_id))

    async def put_listener(self, listener: Listener) -> None:
        self._require_open()
        self._heard = await self._write(lambda session: outbox.put_listener(session, listener))

    async def remove_listener(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        self._require_open()
        was_there, self._heard = await self._write(
            lambda session: outbox.remove_listener(session, tenant, kind, id)
        )
        return was_there

    async def listeners(self, tenant: str | None) -> list[Listener]:
        return await self._look(lambda session: outbox.listeners(session, tenant))

    async def enable_listener(self, listener: Listener) -> bool:
        self._require_open()
        was_disabled, self._heard = await self._write(
            lambda session: outbox.enable_listener(session, listener)
        )
        return was_disabled

    async def change_listener(self, listener: Listener) -> bool:
        self._require_open()
        was_there, self._heard = await self._write(
            lambda session: outbox.change_listener(session, listener)
        )
        return was_there

    async def listening(self) -> int:
        known = self._listening
        version, heard = await self._read(lambda session: outbox.listening(session, known))
        if heard is not None:
            # Others may have come, of whom this process was not told; it sees itself who goes.
            self._heard = self._heard.together_with(heard)
            self._listening = version
        return version

    async def outbox(self, limit: int, *, passing_over: Collection[str] = ()) -> list[OutboxRow]:
        return await self._look(lambda session: outbox.outbox(session, limit, passing_over))

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        return await self._look(lambda session: outbox.stretches(session, asked))

    async def drained(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        self._require_writer()
        await self._write(lambda session: outbox.drained(session, numbers, postings))

    async def due_postings(
        self,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        moment = epoch_ms(now)
        return await self._read(
            lambda session: outbox.due_postings(
                session, moment, most=most, each=each, busy=busy, among=among
            )
        )

    async def settle(self, settlement: Settlement) -> None:
        self._require_open()
        self._heard = await self._write(lambda session: outbox.settle(session, settlement))

    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        return await self._look(lambda session: outbox.backlogs(session, tenant))

    @property
    def is_pooled(self) -> bool:
        return False

    def seen_by(self, tenant: str) -> TenantReads:  # noqa: ARG002
        return self

    async def wall(self) -> Wall | None:
        return None

    async def depths(self, now: datetime) -> Depths:
        return await self._look(lambda session: upkeep.depths(session, now))

    async def prune_bulks(self, tenant: str, before: datetime, limit: int) -> int:
        self._require_writer()
        moment = epoch_ms(before)
        return await self._write(
            lambda session: bulk_operations.prune_bulks(session, tenant, moment, limit)
        )

    async def prune_events(self, tenant: str, before: datetime, limit: int) -> int:
        self._require_writer()
        moment = epoch_ms(before)
        return await self._write(
            lambda session: outbox.prune_events(session, tenant, moment, limit)
        )

    async def put_task(self, task: TaskRow) -> bool:
        self._require_open()
        return await self._write(lambda session: tasks.put_task(session, task))

    async def task(self, tenant: str, id: str) -> TaskRow | None:
        look = self._look(lambda session: tasks.task(session, tenant, id))
        return await looked_for(look, nothing=None)

    async def tasks(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        return await self._look(lambda session: tasks.tasks(session, tenant, after, limit))

    async def pushed_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return await self._look(lambda session: tasks.pushed_tasks(session, after, limit))

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        return await self._look(tasks.pushed_with_jobs)

    async def all_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return await self._look(lambda session: tasks.all_tasks(session, after, limit))

    async def remove_task(self, tenant: str, id: str) -> bool:
        self._require_open()
        return await self._write(lambda session: tasks.remove_task(session, tenant, id))

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        return await self._look(lambda session: tasks.target(session, tenant, task_id))

    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        self._require_open()
        return await self._write(lambda session: tasks.put_target(session, tenant, task_id, target))

    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        self._require_open()
        moment = epoch_ms(now)
        return await self._write(lambda session: jobs.hand_over(session, leases, moment))

    async def put_key(self, key: KeyRow) -> bool:
        self._require_open()
        return await self._write(lambda session: access.put_key(session, key))

    async def key(self, id: str) -> KeyRow | None:
        look = self._look(lambda session: access.key(session, id))
        return await looked_for(look, nothing=None)

    async def has_keys(self) -> bool:
        return await self._look(access.has_keys)

    async def keys(self, tenant: str) -> list[KeyRow]:
        look = self._look(lambda session: access.keys(session, tenant))
        return await looked_for(look, nothing=[])

    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        self._require_open()
        look = self._write(lambda session: access.revoke_key(session, tenant, id, now))
        return await looked_for(look, nothing=None)

    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        self._require_open()
        await self._write(lambda session: access.touch_keys(session, used))

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        self._require_open()
        return await self._write(lambda session: access.append_audit(session, entries))

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        look = self._look(lambda session: access.audit(session, query))
        return await looked_for(look, nothing=[])

    async def audit_lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        look = self._look(lambda session: access.audit_lines(session, tenant, after, limit))
        return await looked_for(look, nothing=[])

    async def audit_head(self, tenant: str) -> AuditHead:
        return await self._look(lambda session: access.audit_head(session, tenant))

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        return await self._read(
            lambda session: stats.tallies(session, tenant, since, apart_from, most)
        )

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        return await self._look(lambda session: stats.waiting_jobs(session, tenant, most))

    async def erase_instances(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        self._require_writer()
        return await self._write(
            lambda session: erasing.erase_instances(session, tenant, ids, manner)
        )

    async def erase_definition(self, tenant: str, id: str) -> None:
        self._require_writer()
        await self._write(lambda session: erasing.erase_definition(session, tenant, id))

    async def old_rehearsals(self, before: datetime, limit: int) -> list[DefinitionKey]:
        look = self._look(lambda session: erasing.old_rehearsals(session, before, limit))
        return await looked_for(look, nothing=[])

    async def put_bulk(self, row: BulkRow) -> BulkRow:
        self._require_writer()
        return await self._write(lambda session: bulk_operations.put_bulk(session, row))

    async def bulk(self, tenant: str, id: str) -> BulkRow | None:
        look = self._look(lambda session: bulk_operations.bulk(session, tenant, id))
        return await looked_for(look, nothing=None)

    async def bulks(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        look = self._look(lambda session: bulk_operations.bulks(session, tenant, limit, below))
        return await looked_for(look, nothing=[])

    async def claim_bulks(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        self._require_writer()
        return await self._write(
            lambda session: bulk_operations.claim_bulks(session, now, until, limit)
        )

    async def save_bulk(self, row: BulkRow, until: datetime) -> BulkRow | None:
        self._require_writer()
        return await self._write(lambda session: bulk_operations.save_bulk(session, row, until))

    async def stop_bulk(self, tenant: str, id: str) -> BulkRow | None:
        self._require_writer()
        return await self._write(lambda session: bulk_operations.stop_bulk(session, tenant, id))

    async def settings(self) -> dict[str, str]:
        """The settings that decide how fast and how safe this is, for people to see."""
        self._require_open()
        session = self._writing
        rows = await self._writer.run(lambda: session.rows("settings_in_force"))
        return dict(zip(_SETTINGS, (str(value) for (value,) in rows), strict=True))

    def _start(self, process_id: str) -> None:
        writer_settings = "writer_settings" if self._may_write else "sender_settings"
        self._writing = Session(self.path, writer_settings, may_create=self._may_write)
        self._writing.recorder = self._recorder
        self._reading = Session(self.path, "reader_settings")
        self._writer = self._threads("tenuto-sqlite-writer")
        self._reader = self._threads("tenuto-sqlite-reader")
        self._process_id = process_id
        self._left_clean = set()

    def _enter(self, process_id: str, now: datetime) -> datetime:
        session = self._writing
        with translated(self.path):
            if not self._may_write:
                _require_newest(session)
                return now
            migrate(session)
        living = frozenset(self._lock.living if self._lock else ())
        self._heard = session.read(lambda: outbox.heard(session))
        return session.write(lambda: enter(session, process_id, now, living))

    async def _write(self, job: Callable[[Session], T]) -> T:
        """In one transaction; for what is looked at anew when it is not known to be durable."""
        session = self._writing
        try:
            return await self._writer.run(lambda: session.write(lambda: job(session)))
        except CommitUnknown as error:
            raise may_be_written(f"not known to be written: {error}") from error

    async def _look(self, job: Callable[[Session], T]) -> T:
        """For one statement, which sees one moment by itself."""
        self._require_open()
        session = self._reading
        return await self._reader.run(lambda: session.look(lambda: job(session)))

    async def _read(self, job: Callable[[Session], T]) -> T:
        self._require_open()
        session = self._reading
        return await self._reader.run(lambda: session.read(lambda: job(session)))

    def _require_open(self) -> str:
        if self._process_id is None:
            raise StoreUnavailable(f"the store {self.path} is not open")
        return self._process_id

    def _require_writer(self) -> str:
        if not self._may_write:
            raise StoreUnavailable(
                f"the store {self.path} was opened for reading",
                code="TEN-4004",
                advice="Ask the engine that holds it: a reader can only send mail.",
            )
        return self._require_open()


def _definition(
    session: Session, tenant: str, id: str, version: int | None
) -> DefinitionRow | None:
    if version is None:
        found = session.rows("newest_definition", (tenant, id))
    else:
        found = session.rows("definition", (tenant, id, version))
    return definition_row(DefinitionColumns(*found[0])) if found else None


def _migrate(session: Session) -> list[str]:
    with translated(session.path):
        return [f"{each.version:04} {each.name}" for each in migrate(session)]


def _require_newest(session: Session) -> None:
    version = checked_version(session)
    if version < NEWEST:
        raise StoreUnavailable(
            f"{session.path} has an older schema ({version}; this program needs {NEWEST})",
            code="TEN-4005",
            advice="Run `tenuto migrate`, or start the engine once.",
        )
