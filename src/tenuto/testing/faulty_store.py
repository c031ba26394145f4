"""A store between the engine and the real one, at which everything may go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Never, Protocol, TypeVar

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
    Store,
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
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.weather import Fault, Weather

T = TypeVar("T")


class Handle(Store, Protocol):
    """A real store, which can also be left as SIGKILL leaves it."""

    def abandon(self) -> None: ...


class FaultyStore:
    """One process's way to its store."""

    def __init__(
        self,
        inner: Handle,
        loop: VirtualLoop,
        weather: Weather,
        happened: Callable[[Fault], None] = lambda _: None,
    ) -> None:
        """`happened` hears of every fault when it strikes."""
        self.lanes = inner.lanes
        self.is_shared = inner.is_shared
        self.beat_every = inner.beat_every
        self._inner = inner
        self._loop = loop
        self._weather = weather
        self._happened = happened
        self._is_dead = False

    def kill(self) -> None:
        """The process is gone: whatever of it still runs reaches nothing."""
        self._is_dead = True
        self._inner.abandon()

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        opening = partial(self._inner.open, process_id, now, is_guest=is_guest)
        return await self._write("open", opening)

    async def enter(self, process_id: str, now: datetime) -> None:
        await self._write("enter", lambda: self._inner.enter(process_id, now))

    async def beat(self) -> Pulse:
        return await self._write("beat", self._inner.beat)

    async def workers(self) -> int:
        return await self._read(self._inner.workers)

    async def listen(self, hear: Callable[[], None]) -> None:
        await self._read(lambda: self._inner.listen(hear))

    async def hint(self, process_ids: Collection[str]) -> None:
        await self._read(lambda: self._inner.hint(process_ids))

    async def close(self, now: datetime, *, clean: bool) -> None:
        await self._write("close", lambda: self._inner.close(now, clean=clean))

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:
        return await self._write("commit", lambda: self._committed(turn, lane), turn)

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
        saving = partial(self._inner.save_definition, tenant, id, content, content_hash, now)
        return await self._write("save", lambda: saving(triggers=triggers, only_after=only_after))

    async def send(self, mail: Sequence[Mail]) -> None:
        await self._write("send", lambda: self._inner.send(mail))

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        return await self._write("claim", lambda: self._inner.claim_orphans(limit))

    async def give_back(self, unread: Unread) -> bool:
        return await self._write("give back", lambda: self._inner.give_back(unread))

    async def pass_over(
        self,
        instance_ids: Collection[str],
        letters: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        passing = partial(self._inner.pass_over, instance_ids, letters, only_own=only_own)
        await self._read(passing)

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        return await self._read(lambda: self._inner.load(instance_ids, known))

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        return await self._read(lambda: self._inner.entries(instance_id, after=after, limit=limit))

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        return await self._read(lambda: self._inner.entries_at(instance_id, seqs))

    async def living(self, process_ids: Collection[str]) -> set[str]:
        return await self._read(lambda: self._inner.living(process_ids))

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        return await self._read(lambda: self._inner.newest_seqs(instance_ids))

    async def instances(self, query: InstanceQuery) -> InstancePage:
        return await self._read(lambda: self._inner.instances(query))

    async def definition(
        self, tenant: str, id: str, version: int | None = None
    ) -> DefinitionRow | None:
        return await self._read(lambda: self._inner.definition(tenant, id, version))

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        return await self._read(lambda: self._inner.used_key(tenant, key))

    async def tenants(self) -> list[str]:
        return await self._read(self._inner.tenants)

    async def definition_ids(self, tenant: str) -> list[str]:
        return await self._read(lambda: self._inner.definition_ids(tenant))

    async def newest_definitions(
        self, tenant: str, *, after: str = "", limit: int
    ) -> list[DefinitionRow]:
        return await self._read(
            lambda: self._inner.newest_definitions(tenant, after=after, limit=limit)
        )

    async def wait_terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        return await self._read(lambda: self._inner.wait_terms(tenant, pattern))

    async def waits_for(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        return await self._read(
            lambda: self._inner.waits_for(tenant, terms, limit=limit, after=after)
        )

    async def waits_near(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int
    ) -> list[WaitRow]:
        return await self._read(lambda: self._inner.waits_near(tenant, terms, limit=limit))

    async def waits(self, instance_id: str) -> list[WaitRow]:
        return await self._read(lambda: self._inner.waits(instance_id))

    async def unlooked_waits(self, limit: int) -> list[WaitRow]:
        return await self._read(lambda: self._inner.unlooked_waits(limit))

    async def past_events(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        return await self._read(lambda: self._inner.past_events(asked, after=after, limit=limit))

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        return await self._read(lambda: self._inner.first_past(asked))

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        return await self._read(
            lambda: self._inner.past_texts(tenant, pattern, path, first=first, limit=limit)
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
        return await self._read(
            lambda: self._inner.latest_events(tenant, pattern, since, limit=limit, below=below)
        )

    async def event(self, tenant: str, id: str) -> InboxEvent | None:
        return await self._read(lambda: self._inner.event(tenant, id))

    async def unmatched_events(self, limit: int) -> list[tuple[int, Event]]:
        return await self._read(lambda: self._inner.unmatched_events(limit))

    async def due_timers(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        return await self._read(lambda: self._inner.due_timers(now, limit))

    async def timers(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        return await self._read(lambda: self._inner.timers(instance_ids))

    async def mail(self, limit: int, *, again: bool = True) -> list[Mail]:
        claim = partial(self._inner.mail, limit, again=again)
        return await self._read(claim, is_claim=True)

    async def waiting_mail(self, letters: Sequence[MailKey]) -> set[MailKey]:
        return await self._read(lambda: self._inner.waiting_mail(letters))

    async def put_back(self, letters: Sequence[MailKey]) -> None:
        await self._read(lambda: self._inner.put_back(letters), is_claim=True)

    async def claim_jobs(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        return await self._read(
            lambda: self._inner.claim_jobs(task_ids, limit, lease, now, lapsed=lapsed),
            is_claim=True,
        )

    async def leases(self, now: datetime) -> list[Lease]:
        return await self._read(lambda: self._inner.leases(now))

    async def extend_leases(
        self, leases: Sequence[Lease], lease: timedelta, now: datetime
    ) -> set[Lease]:
        return await self._read(lambda: self._inner.extend_leases(leases, lease, now))

    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        claiming = partial(self._inner.claim_for_worker, claim, now)
        return await self._read(claiming, is_claim=True)

    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        extending = partial(self._inner.extend_for_workers, beats, now)
        return await self._read(extending, is_claim=True)

    async def put_back_jobs(self, leases: Sequence[Lease]) -> None:
        await self._read(lambda: self._inner.put_back_jobs(leases), is_claim=True)

    async def take_called_off(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        taking = partial(self._inner.take_called_off, keys, lease, now)
        return await self._read(taking, is_claim=True)

    async def next_lapse(self, now: datetime) -> timedelta | None:
        return await self._read(lambda: self._inner.next_lapse(now))

    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        return await self._read(lambda: self._inner.keep_secret(name, proposed), is_claim=True)

    async def dead_letters(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        return await self._read(lambda: self._inner.dead_letters(tenant, limit, below=below))

    async def dead_letter(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        return await self._read(lambda: self._inner.dead_letter(tenant, instance_id, id))

    async def discard_dead_letter(self, tenant: str, instance_id: str, id: str) -> bool:
        return await self._write(
            "discard dead letter", lambda: self._inner.discard_dead_letter(tenant, instance_id, id)
        )

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        return await self._read(lambda: self._inner.deliveries_of(tenant, event_id))

    async def deliveries(self, instance_id: str) -> list[Delivery]:
        return await self._read(lambda: self._inner.deliveries(instance_id))

    async def put_listener(self, listener: Listener) -> None:
        await self._write("put listener", lambda: self._inner.put_listener(listener))

    async def remove_listener(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        return await self._write(
            "remove listener", lambda: self._inner.remove_listener(tenant, kind, id)
        )

    async def listeners(self, tenant: str | None) -> list[Listener]:
        return await self._read(lambda: self._inner.listeners(tenant))

    async def change_listener(self, listener: Listener) -> bool:
        return await self._write("change listener", lambda: self._inner.change_listener(listener))

    async def enable_listener(self, listener: Listener) -> bool:
        return await self._write("enable listener", lambda: self._inner.enable_listener(listener))

    async def listening(self) -> int:
        return await self._read(self._inner.listening)

    async def outbox(self, limit: int, *, passing_over: Collection[str] = ()) -> list[OutboxRow]:
        look = partial(self._inner.outbox, limit, passing_over=passing_over)
        return await self._read(look, is_claim=True)

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        return await self._read(lambda: self._inner.stretches(asked))

    async def drained(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        await self._write("drain", lambda: self._inner.drained(numbers, postings))

    async def due_postings(
        self,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        look = partial(self._inner.due_postings, now, most=most, each=each, busy=busy, among=among)
        return await self._read(look, is_claim=True)

    async def settle(self, settlement: Settlement) -> None:
        await self._write("settle", lambda: self._inner.settle(settlement))

    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        return await self._read(lambda: self._inner.backlogs(tenant))

    async def put_task(self, task: TaskRow) -> bool:
        return await self._write("put task", lambda: self._inner.put_task(task))

    async def task(self, tenant: str, id: str) -> TaskRow | None:
        return await self._read(lambda: self._inner.task(tenant, id))

    async def tasks(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        return await self._read(lambda: self._inner.tasks(tenant, after=after, limit=limit))

    async def pushed_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return await self._read(lambda: self._inner.pushed_tasks(after=after, limit=limit))

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        return await self._read(self._inner.pushed_with_jobs)

    async def all_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return await self._read(lambda: self._inner.all_tasks(after=after, limit=limit))

    async def remove_task(self, tenant: str, id: str) -> bool:
        return await self._write("remove task", lambda: self._inner.remove_task(tenant, id))

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        return await self._read(lambda: self._inner.target(tenant, task_id))

    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        put = partial(self._inner.put_target, tenant, task_id, target)
        return await self._write("put target", put)

    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        return await self._write("hand over", lambda: self._inner.hand_over(leases, now))

    async def put_key(self, key: KeyRow) -> bool:
        return await self._write("put key", lambda: self._inner.put_key(key))

    async def key(self, id: str) -> KeyRow | None:
        return await self._read(lambda: self._inner.key(id))

    async def has_keys(self) -> bool:
        return await self._read(self._inner.has_keys)

    async def keys(self, tenant: str) -> list[KeyRow]:
        return await self._read(lambda: self._inner.keys(tenant))

    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        return await self._write("revoke key", lambda: self._inner.revoke_key(tenant, id, now))

    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        await self._write("touch keys", lambda: self._inner.touch_keys(used))

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        return await self._write("append audit", lambda: self._inner.append_audit(entries))

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        return await self._read(lambda: self._inner.audit(query))

    async def audit_lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        return await self._read(lambda: self._inner.audit_lines(tenant, after=after, limit=limit))

    async def audit_head(self, tenant: str) -> AuditHead:
        return await self._read(lambda: self._inner.audit_head(tenant))

    @property
    def is_pooled(self) -> bool:
        return self._inner.is_pooled

    def seen_by(self, tenant: str) -> TenantReads:
        # The weather is the same for everybody.
        return self

    async def wall(self) -> Wall | None:
        return await self._read(self._inner.wall)

    async def depths(self, now: datetime) -> Depths:
        return await self._read(lambda: self._inner.depths(now))

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        return await self._read(lambda: self._inner.tallies(tenant, since, apart_from, most))

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        return await self._read(lambda: self._inner.waiting_jobs(tenant, most))

    async def erase_instances(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        return await self._write(
            "erase instances", lambda: self._inner.erase_instances(tenant, ids, manner)
        )

    async def erase_definition(self, tenant: str, id: str) -> None:
        await self._write("erase definition", lambda: self._inner.erase_definition(tenant, id))

    async def old_rehearsals(self, before: datetime, limit: int) -> list[DefinitionKey]:
        return await self._read(lambda: self._inner.old_rehearsals(before, limit))

    async def put_bulk(self, row: BulkRow) -> BulkRow:
        return await self._write("put bulk", lambda: self._inner.put_bulk(row))

    async def bulk(self, tenant: str, id: str) -> BulkRow | None:
        return await self._read(lambda: self._inner.bulk(tenant, id))

    async def bulks(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        return await self._read(lambda: self._inner.bulks(tenant, limit, below=below))

    async def claim_bulks(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        return await self._write("claim bulks", lambda: self._inner.claim_bulks(now, until, limit))

    async def save_bulk(self, row: BulkRow, until: datetime) -> BulkRow | None:
        return await self._write("save bulk", lambda: self._inner.save_bulk(row, until))

    async def stop_bulk(self, tenant: str, id: str) -> BulkRow | None:
        return await self._write("stop bulk", lambda: self._inner.stop_bulk(tenant, id))

    async def prune_bulks(self, tenant: str, before: datetime, limit: int) -> int:
        return await self._write(
            "prune bulks", lambda: self._inner.prune_bulks(tenant, before, limit)
        )

    async def prune_events(self, tenant: str, before: datetime, limit: int) -> int:
        return await self._write("prune", lambda: self._inner.prune_events(tenant, before, limit))

    async def _committed(self, turn: Turn, lane: int) -> TurnResult:
        return await self._inner.commit(turn, lane)

    def _fault_on(self, verb: str, turn: Turn | None) -> Fault | None:
        """What happens to this write."""
        return self._weather.on_write(verb)

    async def _write(
        self, verb: str, write: Callable[[], Awaitable[T]], turn: Turn | None = None
    ) -> T:
        self._refuse_the_dead()
        fault = self._fault_on(verb, turn)
        if fault is not None:
            self._happened(fault)
        if fault is Fault.CRASH_BEFORE:
            await self._die(fault)
        if fault is Fault.UNAVAILABLE:
            raise StoreUnavailable("simulated: the store is away")
        if fault is Fault.UNKNOWN_UNDONE:
            raise _unknown(verb)
        if fault is Fault.SLOW_WRITE:
            await asyncio.sleep(self._weather.seconds())
        result = await write()
        if fault is Fault.CRASH_AFTER:
            await self._die(fault)
        if fault is Fault.ACK_LOST:
            raise _unknown(verb)
        if fault is Fault.SLOW_WRITE:
            await asyncio.sleep(self._weather.seconds())
        return result

    async def _read(self, read: Callable[[], Awaitable[T]], *, is_claim: bool = False) -> T:
        """With `is_claim` it may have been done although nobody hears of it."""
        self._refuse_the_dead()
        fault = self._weather.on_read()
        if fault is None:
            return await read()
        self._happened(fault)
        if fault is Fault.READ_UNAVAILABLE:
            if is_claim:
                await read()
            raise StoreUnavailable("simulated: the store cannot be read")
        await asyncio.sleep(self._weather.seconds())
        result = await read()
        await asyncio.sleep(self._weather.seconds())
        return result

    async def _die(self, fault: Fault) -> Never:
        """Stop the whole process here; none of its code hears of it."""
        self._loop.crash(fault)
        await self._loop.create_future()
        raise AssertionError("nobody comes back from the dead")

    def _refuse_the_dead(self) -> None:
        if self._is_dead:
            raise StoreUnavailable("simulated: this process is dead")


def _unknown(verb: str) -> Exception:
    """What a broken connection looks like: of commits the turn itself can tell."""
    if verb == "commit":
        return CommitUnknown("simulated: the connection broke")
    return may_be_written("simulated: the connection broke")
