"""The verbs of a store, over a PostgreSQL database that several processes share.

Each lane has a connection of its own, so that turns of two lanes are committed at once. The others
take theirs from a small pool. A process says that it lives on one that nobody else uses, so that it
is never taken for dead because something else is slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

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
    MailColumns,
    TimerColumns,
    definition_row,
    mail_columns,
    mail_row,
    refuse_superseded,
    timer_row,
    wait_columns,
)
from tenuto.store.erasing_protocol import CAREFULLY, DefinitionKey, Erasure
from tenuto.store.job_protocol import (
    Beat,
    Extension,
    Grant,
    JobClaims,
    JobKey,
    Lapsed,
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
from tenuto.store.postgres import (
    access,
    bulk as bulk_operations,
    erasing,
    outbox,
    reads,
    stats,
    tasks,
    upkeep,
)
from tenuto.store.postgres.address import LISTEN_URL, read_address
from tenuto.store.postgres.commit import commit_turn
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.faults import may_go_again
from tenuto.store.postgres.listener import Listener as HintListener, payload_for
from tenuto.store.postgres.migrations import checked_version, migrate, require_newest
from tenuto.store.postgres.ownership import Claims, beat, enter, leave
from tenuto.store.postgres.parts import part
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column, statement
from tenuto.store.postgres.rhythm import DEAD_AFTER, checked_rhythm
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import TRIES, Session
from tenuto.store.postgres.wall import (
    NoWall,
    Reader,
    TenantPool,
    WalledPool,
    reader_of,
    wall_of,
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
from tenuto.store.stats_protocol import Tally, WaitingJobs
from tenuto.store.task_protocol import TargetRow, TaskRow
from tenuto.store.tenant_protocol import TenantReads
from tenuto.store.upkeep_protocol import Depths, Wall

_MILLISECOND = timedelta(milliseconds=1)
_POOL_PATIENCE = timedelta(seconds=30)
_OF_TRIGGERS = (
    "pattern",
    "is_wildcard",
    "condition",
    "captures",
    "term_paths",
    "term_values",
    "since",
    "opened_at",
    "arm",
    "position",
)


class PostgresStore:
    """Keeps everything in one schema of a database; any number of processes may have it open."""

    is_shared = True

    def __init__(
        self,
        url: str,
        *,
        lanes: int = 2,
        listen_url: str | None = None,
        schema: str | None = None,
        connections: int = 4,
        patience: timedelta = _POOL_PATIENCE,
        beat_every: timedelta = BEAT_EVERY,
        dead_after: timedelta = DEAD_AFTER,
    ) -> None:
        """`listen_url` is the server itself where `url` is a pooler, behind which nothing is heard.

        A process beats every `beat_every`; after `dead_after` of silence, which is three times as
        long or longer, others may take over from it: both are the same in all processes. Whatever
        is no turn and no beat waits for one of `connections` for `patience` at most.
        """
        self.lanes = lanes
        self.beat_every = beat_every
        self._rhythm = checked_rhythm(beat_every, dead_after)
        self._address = read_address(url, schema)
        self._listen_address = (
            read_address(listen_url, self._address.schema, what=LISTEN_URL)
            if listen_url
            else self._address
        )
        self._most_connections = connections
        self._patience = patience.total_seconds()
        self._may_write = True
        self._is_guest = False
        self._process_id: str | None = None
        self._passing_over: dict[str, Column] = {"passed_over": [], "only_own": False}
        self._letters_passed_over: list[MailKey] = []

    @classmethod
    def reader(cls, url: str, *, schema: str | None = None) -> PostgresStore:
        """A store for processes beside the engines: it reads everything, and can only send mail."""
        store = cls(url, schema=schema)
        store._may_write = False
        return store

    def __repr__(self) -> str:
        return f"<PostgresStore {self._address.shown}>"

    @property
    def statements(self) -> int:
        """How many statements were sent since the store was opened."""
        self._require_open()
        sessions = [self._heart, *self._lanes]
        pools = [self._pool] if self._walled is None else [self._pool, self._walled]
        sent = [*(each.statements for each in pools), *(each.statements for each in sessions)]
        return sum(sent)

    def record(self, recorder: Callable[[int, str, Sequence[Column]], None]) -> None:
        """Show what each lane sends, with the lane's number, for measurements."""
        for number, lane in enumerate(self._lanes):
            lane.recorder = partial(recorder, number)

    @property
    def is_listening(self) -> bool:
        """Whether hints arrive at the moment."""
        return self._process_id is not None and self._listener.is_listening

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        if self._process_id is not None:
            raise StoreUnavailable("the store is open already", code="TEN-4002")
        self._is_guest = is_guest
        self._start(process_id)
        try:
            if not self._may_write:
                await require_newest(self._heart, await checked_version(self._heart))
                return now
            await migrate(self._heart)
            await self._stand_behind(await reader_of(self._heart))
            return await enter(self._heart, process_id, now, is_guest=is_guest)
        except BaseException:
            self.abandon()
            raise

    async def enter(self, process_id: str, now: datetime) -> None:
        self._require_writer()
        await enter(self._heart, process_id, now, is_guest=self._is_guest)
        self._process_id = process_id
        self._claims = Claims()

    async def beat(self) -> Pulse:
        process_id = self._require_writer()
        pulse = await beat(self._heart, process_id, self._rhythm, self._passing_over)
        return pulse._replace(has_orphans=True) if self._claims.is_in_doubt else pulse

    async def workers(self) -> int:
        silence: dict[str, Column] = {"dead_after": self._rhythm.dead_after // _MILLISECOND}
        [(living,)] = await self._connections.rows("workers", silence)
        return int(living)

    async def living(self, process_ids: Collection[str]) -> set[str]:
        dead_after = self._rhythm.dead_after // _MILLISECOND
        asked: dict[str, Column] = {"ids": list(process_ids), "dead_after": dead_after}
        return {id for (id,) in await self._connections.rows("living_processes", asked)}

    async def listen(self, hear: Callable[[], None]) -> None:
        self._require_open()
        await self._listener.start(hear)

    async def hint(self, process_ids: Collection[str]) -> None:
        self._require_open()
        hint = {"channel": self._address.schema, "payload": payload_for(sorted(process_ids))}
        await self._pool.rows("notify", hint)

    async def close(self, now: datetime, *, clean: bool) -> None:
        if self._process_id is None:
            return
        try:
            await self._listener.stop()
            if self._may_write:
                await leave(self._heart, self._process_id, now, self._rhythm, clean=clean)
            await self._say_goodbye()
        finally:
            self.abandon()

    async def _say_goodbye(self) -> None:
        # All of it is a courtesy, which nobody waits for any longer than for a beat.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._rhythm.patience):
                if self._may_write:
                    # Somebody else goes on with what is left: at once, if the hint arrives.
                    with suppress(StoreUnavailable):
                        await self.hint(())
                for each in (self._heart, *self._lanes):
                    await each.close()
                await self._pool.close()
                if self._walled is not None:
                    await self._walled.close()

    def abandon(self) -> None:
        """What SIGKILL does: nothing is handed over, and sockets close without a word."""
        if self._process_id is None:
            return
        self._process_id = None
        self._listener.abandon()
        for each in (self._heart, *self._lanes):
            each.abandon()
        self._pool.abandon()
        if self._walled is not None:
            self._walled.abandon()

    async def migrate(self) -> list[str]:
        """Bring the schema of a store that is not open up to date; the names of what was done."""
        session = Session(Server(self._address))
        try:
            done = await migrate(session)
        finally:
            await session.close()
        return [f"{each.version:04} {each.name}" for each in done]

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:
        self._require_writer()
        return await commit_turn(self._lanes[lane], turn, lane)

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        process_id = self._require_open()
        return await looked_for_each(
            instance_ids, lambda ids: reads.load(self._pool, process_id, ids, known)
        )

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        look = reads.entries(self._connections, instance_id, after, limit)
        return await looked_for(look, nothing=[])

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        return await reads.entries_at(self._connections, instance_id, seqs)

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        return await reads.newest_seqs(self._connections, instance_ids)

    async def instances(self, query: InstanceQuery) -> InstancePage:
        look = reads.instances(self._connections, self._address.schema, query)
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
        rows = [wait_columns(each, 0) for each in triggers]
        arrays = {name: [getattr(row, name) for row in rows] for name in _OF_TRIGGERS}
        while True:
            newest = await reads.definition(self._connections, tenant, id, None)
            refuse_superseded(newest, only_after)
            if newest is not None and newest.content_hash == content_hash:
                return newest
            version = 1 if newest is None else newest.version + 1
            columns = DefinitionColumns(tenant, id, version, content, content_hash, epoch_ms(now))
            if await self._pool.rows("insert_definition", columns._asdict() | arrays):
                return definition_row(columns)
            # Something else has this number; or it is this, and the answer got lost: then it is not
            # saved once more, whatever was saved after it.
            there = await reads.definition(self._connections, tenant, id, version)
            if there is not None and there.content_hash == content_hash:
                return there

    async def definition(
        self, tenant: str, id: str, version: int | None = None
    ) -> DefinitionRow | None:
        return await looked_for(
            reads.definition(self._connections, tenant, id, version), nothing=None
        )

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        return await looked_for(reads.used_key(self._connections, tenant, key), nothing=None)

    async def tenants(self) -> list[str]:
        return [tenant for (tenant,) in await self._connections.rows("tenants")]

    async def definition_ids(self, tenant: str) -> list[str]:
        return await reads.definition_ids(self._connections, tenant)

    async def newest_definitions(
        self, tenant: str, *, after: str = "", limit: int
    ) -> list[DefinitionRow]:
        return await reads.newest_definitions(self._connections, tenant, after, limit)

    async def wait_terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        return await reads.wait_terms(self._connections, tenant, pattern)

    async def waits_for(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        return await reads.waits_for(self._connections, tenant, terms, limit, after)

    async def waits_near(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int
    ) -> list[WaitRow]:
        return await reads.waits_near(self._connections, tenant, terms, limit)

    async def waits(self, instance_id: str) -> list[WaitRow]:
        return await looked_for(reads.waits(self._connections, instance_id), nothing=[])

    async def unlooked_waits(self, limit: int) -> list[WaitRow]:
        return await reads.unlooked_waits(self._connections, limit)

    async def past_events(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        return await reads.past_events(self._connections, asked, after, limit)

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        return await reads.first_past(self._connections, asked)

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        return await reads.past_texts(self._connections, tenant, pattern, path, first, limit)

    async def latest_events(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[tuple[int, Event]]:
        return await reads.latest_events(
            self._connections, tenant, pattern, since, limit=limit, below=below
        )

    async def event(self, tenant: str, id: str) -> InboxEvent | None:
        return await reads.event(self._connections, tenant, id)

    async def unmatched_events(self, limit: int) -> list[tuple[int, Event]]:
        return await reads.unmatched_events(self._connections, limit)

    async def due_timers(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        claim: dict[str, Column] = {
            "process_id": self._require_writer(),
            "now": epoch_ms(now),
            "limit": limit,
            **self._passing_over,
        }
        found = await self._connections.rows("claim_timers", claim)
        due = sorted((TimerColumns._make(row) for row in found if row[0] is not None), key=_order)
        following = [from_epoch_ms(row[4]) for row in found if row[0] is None]
        return [timer_row(each) for each in due], following[0] if following else None

    async def timers(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        found = await self._connections.rows("timers_of", {"ids": list(instance_ids)})
        return [timer_row(TimerColumns._make(row)) for row in found]

    async def mail(self, limit: int, *, again: bool = True) -> list[Mail]:
        self._require_writer()
        found: list[Mail] = []
        owners: set[str] = set()
        last = 0
        while True:
            room = limit - len(found)
            rows = await self._claim_mail(room, last, again=again)
            mine = [row[:4] for row in rows if row[5] is None and not row[6]]
            found += [mail_row(MailColumns._make(row)) for row in mine]
            owners.update(row[5] for row in rows if row[5] is not None)
            if len(mine) == len(rows) or len(rows) < room:
                break
            last = rows[-1][4]
        if owners:
            # They look by themselves too, only later.
            with suppress(StoreUnavailable):
                await self.hint(owners)
        return found

    async def _claim_mail(self, limit: int, after: int, *, again: bool) -> list[Row]:
        page: dict[str, Column] = {
            "process_id": self._process_id,
            "limit": limit,
            "after": after,
            "again": again,
            "letter_ids": [letter.id for letter in self._letters_passed_over],
            "letter_instances": [letter.instance_id for letter in self._letters_passed_over],
            **self._passing_over,
        }
        if not again:
            async with self._connections.session() as session:
                try:
                    return await session.commit(statement("claim_mail", session.schema), page)
                except CommitUnknown:
                    # What was claimed and not heard of is this process's by now.
                    page["again"] = True
        return await self._connections.rows("claim_mail", page)

    async def put_back(self, letters: Sequence[MailKey]) -> None:
        had = part("mail_taken", letters).parameters()
        await self._connections.rows("put_back_mail", had | {"process_id": self._require_writer()})

    async def waiting_mail(self, letters: Sequence[MailKey]) -> set[MailKey]:
        asked = part("mail_taken", letters).parameters()
        return {MailKey(*row) for row in await self._connections.rows("waiting_mail", asked)}

    async def send(self, mail: Sequence[Mail]) -> None:
        self._require_open()
        if mail:
            rows = [(*mail_columns(each), each.for_owner) for each in mail]
            sent: dict[str, Column] = {**part("mail_sent", rows).parameters(), "claimed_by": None}
            async with self._connections.session() as session:
                await _sent_once(session, sent)

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        process_id = self._require_writer()
        async with self._pool.session() as session:
            return await self._claims.take(
                session, process_id, self._rhythm, limit, self._passing_over
            )

    async def give_back(self, unread: Unread) -> bool:
        given: dict[str, Column] = {
            "process_id": self._require_writer(),
            "instance_id": [each.instance_id for each in unread.instances],
            "is_clean": [each.clean for each in unread.instances],
            "mail_id": [letter.id for letter in unread.letters],
            "mail_instance_id": [letter.instance_id for letter in unread.letters],
        }
        held = part("leases", [(*each.key, each.token) for each in unread.leases]).parameters()
        given |= {f"job_{name}": column for name, column in held.items()}
        [(count,)] = await self._connections.rows("give_back", given)
        return bool(count)

    async def pass_over(
        self,
        instance_ids: Collection[str],
        letters: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        self._require_writer()
        self._passing_over = {"passed_over": sorted(instance_ids), "only_own": only_own}
        self._letters_passed_over = sorted(letters)

    async def claim_jobs(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        del now  # the server has a clock
        claim = {
            "process_id": self._require_writer(),
            "task_ids": list(dict.fromkeys(task_ids)),
            "limit": limit,
            "lease": lease // _MILLISECOND,
            "lapsed": lapsed,
            **self._passing_over,
        }
        async with self._connections.session() as session:
            # Not repeated without a word: what the first one brought nobody would know of.
            rows = await session.commit(statement("claim_jobs", session.schema), claim)
        claims = JobClaims([], [])
        for row in rows:
            found = Lease(JobKey(*row[1:5]), row[5])
            if row[0] is None:
                claims.granted.append(found)
            else:
                claims.lapsed.append(Lapsed(found, row[0], reads.overrun_of(row)))
        return claims

    async def leases(self, now: datetime) -> list[Lease]:
        del now  # the server has a clock
        found = await self._connections.rows("leases_of", {"process_id": self._require_writer()})
        return [Lease(JobKey(*key), token) for *key, token in found]

    async def extend_leases(
        self, leases: Sequence[Lease], lease: timedelta, now: datetime
    ) -> set[Lease]:
        del now  # the server has a clock
        held = part("leases", [(*each.key, each.token) for each in leases]).parameters()
        held |= {"process_id": self._require_writer(), "lease": lease // _MILLISECOND}
        found = await self._connections.rows("extend_leases", held)
        return {Lease(JobKey(*key), token) for *key, token in found}

    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        del now  # the server has a clock
        self._require_writer()
        wanted = {
            "tenant": claim.tenant,
            "worker_id": claim.worker_id,
            "task_ids": list(dict.fromkeys(claim.task_ids or ())),
            "any_task": claim.task_ids is None,
            "limit": claim.limit,
            "lease": claim.lease // _MILLISECOND,
            **self._passing_over,
        }
        async with self._connections.session() as session:
            rows = await session.commit(statement("claim_for_worker", session.schema), wanted)
        return [
            Grant(Lease(JobKey(*key), token), from_epoch_ms(until)) for *key, token, until in rows
        ]

    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        del now  # the server has a clock
        self._require_writer()
        # Of two for one lease one is enough: which row a statement takes is its own affair.
        rows = {lease: (*lease.key, lease.token, details) for lease, details in beats}
        found = await self._connections.rows(
            "extend_for_workers", part("beats", list(rows.values())).parameters()
        )
        return {
            Lease(JobKey(*key), token): Extension(from_epoch_ms(until), is_called_off)
            for *key, token, until, is_called_off in found
        }

    async def put_back_jobs(self, leases: Sequence[Lease]) -> None:
        self._require_writer()
        held = part("leases", [(*each.key, each.token) for each in leases]).parameters()
        await self._connections.rows("put_back_jobs", held)

    async def take_called_off(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        del now  # the server has a clock
        wanted = part("jobs_called_off", list(keys)).parameters()
        wanted |= {"process_id": self._require_writer(), "lease": lease // _MILLISECOND}
        found = await self._connections.rows("take_called_off", wanted)
        return sorted(Lease(JobKey(*key), token) for *key, token in found)

    async def next_lapse(self, now: datetime) -> timedelta | None:
        del now  # the server has a clock
        found = await self._connections.rows("next_lapse", {})
        return found[0][0] * _MILLISECOND if found else None

    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        self._require_writer()
        await self._connections.rows("keep_secret", {"name": name, "value": proposed})
        [(value,)] = await self._connections.rows("secret", {"name": name})
        return bytes(value)

    async def dead_letters(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        return await reads.dead_letters(self._connections, tenant, limit, below)

    async def dead_letter(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        look = reads.dead_letter(self._connections, tenant, instance_id, id)
        return await looked_for(look, nothing=None)

    async def discard_dead_letter(self, tenant: str, instance_id: str, id: str) -> bool:
        self._require_writer()
        which = {"tenant": tenant, "instance_id": instance_id, "id": id}
        return bool(await self._pool.rows("delete_dead_letter", which))

    async def deliveries(self, instance_id: str) -> list[Delivery]:
        return await looked_for(reads.deliveries(self._connections, instance_id), nothing=[])

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        return await reads.deliveries_of(self._connections, tenant, event_id)

    async def put_listener(self, listener: Listener) -> None:
        self._require_open()
        await outbox.put_listener(self._pool, listener)

    async def remove_listener(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        self._require_open()
        return await outbox.remove_listener(self._pool, tenant, kind, id)

    async def listeners(self, tenant: str | None) -> list[Listener]:
        return await outbox.listeners(self._connections, tenant)

    async def enable_listener(self, listener: Listener) -> bool:
        self._require_open()
        return await outbox.enable_listener(self._pool, listener)

    async def change_listener(self, listener: Listener) -> bool:
        self._require_open()
        return await outbox.change_listener(self._pool, listener)

    async def listening(self) -> int:
        return await outbox.listening(self._connections)

    async def outbox(self, limit: int, *, passing_over: Collection[str] = ()) -> list[OutboxRow]:
        return await outbox.outbox(self._pool, self._require_writer(), limit, passing_over)

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        return await outbox.stretches(self._connections, asked)

    async def drained(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        await outbox.drained(self._pool, self._require_writer(), numbers, postings)

    async def due_postings(
        self,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        me, moment = self._require_writer(), epoch_ms(now)
        return await outbox.due_postings(
            self._pool, me, moment, most=most, each=each, busy=busy, among=among
        )

    async def settle(self, settlement: Settlement) -> None:
        await outbox.settle(self._pool, self._require_writer(), settlement)

    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        return await outbox.backlogs(self._connections, tenant)

    @property
    def is_pooled(self) -> bool:
        return self._connections.is_pooled

    def seen_by(self, tenant: str) -> TenantReads:
        if self._walled is not None:
            return _SeenByTenant(self, self._walled, tenant)
        if self._no_wall is not None:
            self._no_wall.read_for(tenant)
        return self

    async def wall(self) -> Wall | None:
        async with self._connections.session() as session:
            return await wall_of(session, await reader_of(session))

    async def depths(self, now: datetime) -> Depths:
        found = await upkeep.depths(self._connections, now)
        if self._walled is None:
            return found
        return replace(
            found,
            connections=found.connections + self._walled.size,
            connections_in_use=found.connections_in_use + self._walled.in_use,
        )

    async def prune_bulks(self, tenant: str, before: datetime, limit: int) -> int:
        self._require_writer()
        return await bulk_operations.prune_bulks(self._pool, tenant, epoch_ms(before), limit)

    async def prune_events(self, tenant: str, before: datetime, limit: int) -> int:
        self._require_writer()
        return await outbox.prune_events(self._pool, tenant, epoch_ms(before), limit)

    async def put_task(self, task: TaskRow) -> bool:
        return await tasks.put_task(self._connections, task)

    async def task(self, tenant: str, id: str) -> TaskRow | None:
        return await looked_for(tasks.task(self._connections, tenant, id), nothing=None)

    async def tasks(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        return await tasks.tasks(self._connections, tenant, after, limit)

    async def pushed_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return await tasks.pushed_tasks(self._connections, after, limit)

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        return await tasks.pushed_with_jobs(self._connections)

    async def all_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return await tasks.all_tasks(self._connections, after, limit)

    async def remove_task(self, tenant: str, id: str) -> bool:
        return await tasks.remove_task(self._connections, tenant, id)

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        return await tasks.target(self._connections, tenant, task_id)

    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        return await tasks.put_target(self._connections, tenant, task_id, target)

    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        del now  # the server has a clock
        self._require_writer()
        held = part("leases", [(*each.key, each.token) for each in leases]).parameters()
        found = await self._connections.rows("hand_over", held)
        return {Lease(JobKey(*key), token) for *key, token in found}

    async def put_key(self, key: KeyRow) -> bool:
        return await access.put_key(self._connections, key)

    async def key(self, id: str) -> KeyRow | None:
        return await looked_for(access.key(self._connections, id), nothing=None)

    async def has_keys(self) -> bool:
        return await access.has_keys(self._connections)

    async def keys(self, tenant: str) -> list[KeyRow]:
        return await looked_for(access.keys(self._connections, tenant), nothing=[])

    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        return await looked_for(access.revoke_key(self._connections, tenant, id, now), nothing=None)

    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        await access.touch_keys(self._connections, used)

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        return await access.append_audit(self._connections, entries)

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        return await looked_for(access.audit(self._connections, query), nothing=[])

    async def audit_lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        return await looked_for(
            access.audit_lines(self._connections, tenant, after, limit), nothing=[]
        )

    async def audit_head(self, tenant: str) -> AuditHead:
        return await access.audit_head(self._connections, tenant)

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        return await stats.tallies(self._connections, tenant, since, apart_from, most)

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        return await stats.waiting_jobs(self._connections, tenant, most)

    async def erase_instances(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        self._require_writer()
        return await erasing.erase_instances(self._pool, tenant, ids, manner)

    async def erase_definition(self, tenant: str, id: str) -> None:
        self._require_writer()
        await erasing.erase_definition(self._pool, tenant, id)

    async def old_rehearsals(self, before: datetime, limit: int) -> list[DefinitionKey]:
        return await looked_for(
            erasing.old_rehearsals(self._connections, before, limit), nothing=[]
        )

    async def put_bulk(self, row: BulkRow) -> BulkRow:
        self._require_writer()
        return await bulk_operations.put_bulk(self._pool, row)

    async def bulk(self, tenant: str, id: str) -> BulkRow | None:
        return await looked_for(bulk_operations.bulk(self._connections, tenant, id), nothing=None)

    async def bulks(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        return await looked_for(
            bulk_operations.bulks(self._connections, tenant, limit, below), nothing=[]
        )

    async def claim_bulks(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        self._require_writer()
        return await bulk_operations.claim_bulks(self._pool, now, until, limit)

    async def save_bulk(self, row: BulkRow, until: datetime) -> BulkRow | None:
        self._require_writer()
        return await bulk_operations.save_bulk(self._pool, row, until)

    async def stop_bulk(self, tenant: str, id: str) -> BulkRow | None:
        self._require_writer()
        return await bulk_operations.stop_bulk(self._pool, tenant, id)

    async def settings(self) -> dict[str, str]:
        """The settings that decide how fast and how safe this is, for people to see."""
        found = await self._connections.rows("settings_in_force")
        return {name: str(value) for name, value in found}

    def _start(self, process_id: str) -> None:
        server = Server(self._address)
        listening = (
            server if self._listen_address is self._address else Server(self._listen_address)
        )
        self._heart = Session(server)
        self._lanes = [Session(server) for _ in range(self.lanes)]
        self._claims = Claims()
        self._pool = Pool(server, self._most_connections, self._patience)
        self._walled: WalledPool | None = None
        self._no_wall: NoWall | None = None
        self._listener = HintListener(
            listening,
            self._address.schema,
            lambda: self._process_id,
            is_apart=listening is not server,
        )
        self._process_id = process_id

    async def _stand_behind(self, reader: Reader) -> None:
        if reader.is_ready:
            server = self._heart.server
            size = self._most_connections
            self._walled = WalledPool(server, size, self._patience, reader.name)
            return
        self._no_wall = NoWall(self._address.shown, await wall_of(self._heart, reader))

    @property
    def _connections(self) -> Pool:
        self._require_open()
        return self._pool

    def _require_open(self) -> str:
        if self._process_id is None:
            raise StoreUnavailable(f"the store {self._address.shown} is not open")
        return self._process_id

    def _require_writer(self) -> str:
        if not self._may_write:
            raise StoreUnavailable(
                f"the store {self._address.shown} was opened for reading",
                code="TEN-4004",
                advice="Ask an engine that has it open: a reader can only send mail.",
            )
        return self._require_open()


class _SeenByTenant(PostgresStore):
    """The same store for what is read for one tenant, through connections that see no other's."""

    def __init__(self, whole: PostgresStore, walled: WalledPool, tenant: str) -> None:
        self._whole = whole
        self._address = whole._address  # noqa: SLF001 - it is one of ours
        self._behind = TenantPool(walled, tenant)

    @property
    def _connections(self) -> Pool:
        self._whole._require_open()  # noqa: SLF001
        return self._behind


async def _sent_once(session: Session, sent: dict[str, Column]) -> None:
    """Not repeated without a word: what was taken off meanwhile would come, and be done, again."""
    for attempt in range(1, TRIES + 1):
        try:
            await session.commit(statement("mail_sent", session.schema), sent)
            return
        except CommitUnknown as error:
            raise may_be_written(
                f"the connection broke while letters were sent: {error}"
            ) from error
        except StoreUnavailable as error:
            cause = error.__cause__
            if cause is None or not may_go_again(cause) or attempt == TRIES:
                raise


def _order(timer: TimerColumns) -> tuple[int, str, str, str, str]:
    return timer.due, timer.instance_id, timer.kind, timer.node, timer.iteration
