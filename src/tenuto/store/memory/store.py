"""The verbs of a store, over tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nlargest, nsmallest
from itertools import islice
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import StoreUnavailable
from tenuto.model.events import Event
from tenuto.model.json import JSON
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
    DeadLetterColumns,
    DefinitionColumns,
    EventColumns,
    InstanceColumns,
    MailColumns,
    TimerColumns,
    WaitColumns,
    dead_letter_bound,
    dead_letter_row,
    definition_row,
    event_value,
    instance_row,
    mail_row,
    refuse_superseded,
    timer_row,
    wait_row,
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
from tenuto.store.memory import (
    access,
    bulk as bulk_operations,
    erasing,
    jobs,
    outbox,
    stats,
    tasks,
    upkeep,
)
from tenuto.store.memory.commit import commit_turn, put_mail, put_waits
from tenuto.store.memory.disk import Job, MemoryDisk, Owner, Process, StoredEvent, pack, unpack
from tenuto.store.memory.listing import list_instances
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
    MOST_READ,
    NOTHING_KNOWN,
    WRONG_CLOCK,
    DeadLetterPlace,
    DeadLetterRow,
    DefinitionRow,
    Delivery,
    EventPlace,
    Fenced,
    InboxEvent,
    InstancePage,
    InstanceQuery,
    Mail,
    MailKey,
    Orphan,
    PastEvents,
    PastPage,
    Pulse,
    Snapshot,
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

_wait_key = attrgetter("key")
_decode = msgspec.json.Decoder().decode


class MemoryStore:
    """Keeps everything on a `MemoryDisk`; hand the disk, or the store, to the next engine."""

    lanes = 1
    beat_every = BEAT_EVERY

    def __init__(self, disk: MemoryDisk | None = None, *, shared: bool = False) -> None:
        """With `shared`, engines that also say so may have the same disk open at once."""
        self.disk = MemoryDisk() if disk is None else disk
        self.is_shared = shared
        self._process_id: str | None = None
        self._passed_over: frozenset[str] = frozenset()
        self._letters_passed_over: frozenset[MailKey] = frozenset()
        self._only_own = False

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        disk = self.disk
        may_join = self.is_shared and disk.is_shared
        if self._process_id is not None or (disk.live and not may_join):
            raise StoreUnavailable(
                f"the store is in use by process {', '.join(sorted(disk.live))}",
                code="TEN-4002",
                advice="Stop that engine first, or give this one a store of its own.",
            )
        if process_id in disk.processes:
            raise ValueError(f"process id {process_id!r} was used before")
        latest = self._latest_moment(now)
        with disk.transaction():
            disk.is_shared = self.is_shared
            disk.live.add(process_id)
            if is_guest:
                disk.guests.add(process_id)
            process = Process(epoch_ms(now), None, clean=False, seen_at=latest)
            disk.put(disk.processes, process_id, pack(process))
            self._bury_the_dead(pack(process))
            owning = {unpack(Owner, row).process_id for row in disk.owners.values()}
            owning |= {unpack(Job, row).leased_by or "" for row in disk.jobs.values()}
            for id, row in list(disk.processes.items()):
                if unpack(Process, row).stopped_at is not None and id not in owning:
                    disk.drop(disk.processes, id)
        self._process_id = process_id
        return from_epoch_ms(latest)

    async def enter(self, process_id: str, now: datetime) -> None:
        former = self._require_open()
        disk = self.disk
        with disk.transaction():
            disk.live.add(process_id)
            process = Process(epoch_ms(now), None, clean=False, seen_at=epoch_ms(now))
            disk.put(disk.processes, process_id, pack(process))
        if former in disk.guests:
            disk.guests.add(process_id)
        disk.live.discard(former)
        if former in disk.ears:
            disk.ears[process_id] = disk.ears.pop(former)
        self._process_id = process_id

    async def beat(self) -> Pulse:
        process_id = self._require_open()
        if not self.disk.lives(process_id):
            raise Fenced(f"process {process_id} was taken for dead")
        disk = self.disk
        found_dead = self._bury_the_dead(disk.processes[process_id])
        owners = {
            unpack(Owner, row).process_id
            for id, row in disk.owners.items()
            if not (self._only_own or id in self._passed_over)
        }
        has_orphans = found_dead or not all(map(disk.lives, owners))
        return Pulse(None, has_orphans, tasks.tasks_mark(disk))

    async def workers(self) -> int:
        self._require_open()
        return sum(map(self.disk.lives, self.disk.live - self.disk.guests))

    async def living(self, process_ids: Collection[str]) -> set[str]:
        return set(filter(self.disk.lives, process_ids))

    async def listen(self, hear: Callable[[], None]) -> None:
        self.disk.ears[self._require_open()] = hear

    async def hint(self, process_ids: Collection[str]) -> None:
        for process_id, hear in list(self.disk.ears.items()):
            if not process_ids or process_id in process_ids:
                hear()

    async def close(self, now: datetime, *, clean: bool) -> None:
        if self._process_id is None:
            return
        disk = self.disk
        with disk.transaction():
            process = unpack(Process, disk.processes[self._process_id])
            moment = epoch_ms(now)
            stopped = process._replace(
                stopped_at=moment, clean=clean, seen_at=max(process.seen_at, moment)
            )
            disk.put(disk.processes, self._process_id, pack(stopped))
        self.abandon()

    def abandon(self) -> None:
        """What SIGKILL does: nothing is handed over, and only the lock is freed."""
        if self._process_id is not None:
            self.disk.live.discard(self._process_id)
            self.disk.ears.pop(self._process_id, None)
            self._process_id = None

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:  # noqa: ARG002
        self._require_open()
        return commit_turn(self.disk, turn)

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        return {
            id: self._stored_instance(id, known.get(id, 0))
            for id in dict.fromkeys(instance_ids)
            if id in self.disk.instances
        }

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        return self._log(instance_id, after)[:limit]

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        log = self.disk.log
        return [
            unpack(LogRow, log[instance_id, seq])
            for seq in sorted(set(seqs))
            if (instance_id, seq) in log
        ]

    async def newest_seqs(self, instance_ids: Collection[str]) -> dict[str, int]:
        ends = self.disk.log_ends
        return {id: ends[id] for id in instance_ids if ends.get(id)}

    async def instances(self, query: InstanceQuery) -> InstancePage:
        return list_instances(self.disk, query)

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
        disk = self.disk
        newest = await self.definition(tenant, id)
        refuse_superseded(newest, only_after)
        if newest is not None and newest.content_hash == content_hash:
            return newest
        version = 1 if newest is None else newest.version + 1
        columns = DefinitionColumns(tenant, id, version, content, content_hash, epoch_ms(now))
        with disk.transaction():
            disk.put(disk.definitions, (tenant, id, version), pack(columns))
            disk.put(disk.definition_versions, (tenant, id), version)
            disk.drop(disk.waits, ("", id, tenant))
            put_waits(disk, (replace(each, attempt=version) for each in triggers))
        return definition_row(columns)

    async def definition(
        self, tenant: str, id: str, version: int | None = None
    ) -> DefinitionRow | None:
        if version is None:
            version = self.disk.definition_versions.get((tenant, id), 0)
        row = self.disk.definitions.get((tenant, id, version))
        return None if row is None else definition_row(unpack(DefinitionColumns, row))

    async def used_key(self, tenant: str, key: str) -> UsedKey | None:
        stored = self.disk.keys.get((tenant, key))
        return None if stored is None else unpack(UsedKey, stored)

    async def tenants(self) -> list[str]:
        disk = self.disk
        keyed = (disk.definition_versions, disk.event_numbers, disk.listeners)
        return sorted({key[0] for table in keyed for key in table})

    async def definition_ids(self, tenant: str) -> list[str]:
        return sorted(id for owner, id in self.disk.definition_versions if owner == tenant)

    async def newest_definitions(
        self, tenant: str, *, after: str = "", limit: int
    ) -> list[DefinitionRow]:
        ids = [
            id
            for id in await self.definition_ids(tenant)
            if id > after and not "~test:" <= id < "~tesu"
        ]
        rows = [await self.definition(tenant, id) for id in ids[:limit]]
        return [row for row in rows if row is not None]

    async def wait_terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        return sorted(
            {
                WaitTerm(wait.pattern, wait.term_paths)
                for wait in self._waits()
                if wait.tenant == tenant and (wait.is_wildcard or wait.pattern == pattern)
            }
        )

    async def waits_for(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        wanted = set(terms)
        found = (
            wait
            for wait in self._waits()
            if wait.tenant == tenant
            and (wait.pattern, wait.term_paths, wait.term_values) in wanted
            and (after is None or wait.key > after)
        )
        return [wait_row(wait) for wait in nsmallest(limit, found, key=_wait_key)]

    async def waits_near(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int
    ) -> list[WaitRow]:
        waits = [wait for wait in self._waits() if wait.tenant == tenant]
        near: list[WaitColumns] = []
        for pattern, term_paths in dict.fromkeys(term[:2] for term in terms):
            found = (
                each for each in waits if (each.pattern, each.term_paths) == (pattern, term_paths)
            )
            near += nsmallest(limit, found, key=lambda wait: (wait.term_values, wait.key))
        return [wait_row(wait) for wait in near]

    async def waits(self, instance_id: str) -> list[WaitRow]:
        found = (wait for wait in self._waits() if wait.instance_id == instance_id)
        return [wait_row(wait) for wait in sorted(found, key=_wait_key)]

    async def unlooked_waits(self, limit: int) -> list[WaitRow]:
        found = (wait for wait in self._waits() if not wait.looked_back)
        return [wait_row(wait) for wait in nsmallest(limit, found, key=_wait_key)]

    async def past_events(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        begin, since = self._looks_back_from(asked)
        begin = max(after, begin)
        page = list(islice(self._events_after(begin, asked.tenant, asked.pattern), limit))
        taken = self._taken_by(asked.instance_id)
        items = [
            (number, event_value(event))
            for number, event in page
            if event.received_at >= since and event.id not in taken
        ]
        return PastPage(items, page[-1][0] if page else begin, len(page) < limit)

    async def first_past(self, asked: Sequence[PastEvents]) -> list[int | None]:
        found = (
            self._events_after(self._looks_back_from(each)[0], each.tenant, each.pattern)
            for each in asked
        )
        return [next((number for number, _ in events), None) for events in found]

    async def past_texts(
        self, tenant: str, pattern: str, path: str, *, first: int, limit: int
    ) -> list[tuple[int, str | None]]:
        page = islice(self._events_after(first - 1, tenant, pattern), limit)
        return [(number, _text_at(event.payload, path)) for number, event in page]

    def _events_after(
        self, number: int, tenant: str, pattern: str | None
    ) -> Iterator[tuple[int, EventColumns]]:
        """Those of a name, or of any, in the order of storing."""
        for each in range(number + 1, self.disk.newest_event + 1):
            if each in self.disk.events:
                event = unpack(StoredEvent, self.disk.events[each]).event
                if event.tenant == tenant and pattern in {None, event.pattern}:
                    yield each, event

    def _looks_back_from(self, asked: PastEvents) -> tuple[int, int]:
        """After which event, and from when on."""
        follows = self.disk.followed.get(asked.instance_id)
        packed = self.disk.instances.get(asked.instance_id)
        received_from = epoch_ms(asked.received_from)
        if follows is None or packed is None:
            return 0, received_from
        created_at = unpack(InstanceColumns, packed).created_at
        return (follows, 0) if created_at == epoch_ms(asked.since) else (0, received_from)

    def _taken_by(self, instance_id: str) -> set[str]:
        return {
            key[-1]
            for key, (outcome, _, _) in self.disk.deliveries.items()
            if outcome == "resumed" and key[0] == instance_id
        }

    async def latest_events(
        self,
        tenant: str,
        pattern: str | None,
        since: datetime,
        *,
        limit: int,
        below: EventPlace | None = None,
    ) -> list[tuple[int, Event]]:
        start = epoch_ms(since)
        found = [
            (number, stored.event)
            for number, stored in self._events()
            if stored.event.tenant == tenant and pattern in {None, stored.event.pattern}
        ]
        if pattern is not None:
            if below is not None:
                found = [each for each in found if each[0] < below.number]
            found = nlargest(limit, found)
        elif below is not None:
            end = epoch_ms(below.received_at), below.number
            found = [each for each in found if (each[1].received_at, each[0]) < end]
        recent = (
            ((event.received_at, number), event)
            for number, event in found
            if event.received_at >= start
        )
        return [(number, event_value(event)) for (_, number), event in nlargest(limit, recent)]

    async def event(self, tenant: str, id: str) -> InboxEvent | None:
        number = self.disk.event_numbers.get((tenant, id))
        if number is None:
            return None
        stored = unpack(StoredEvent, self.disk.events[number])
        is_matched = stored.matched_at is not None
        return InboxEvent(number, event_value(stored.event), is_matched, *stored.counts)

    async def unmatched_events(self, limit: int) -> list[tuple[int, Event]]:
        found = (item for item in self._events() if item[1].matched_at is None)
        return [(number, event_value(stored.event)) for number, stored in islice(found, limit)]

    async def due_timers(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        moment = epoch_ms(now)
        timers = (
            unpack(TimerColumns, row)
            for key, row in self.disk.timers.items()
            if not self._passes_over(key[0]) and self._may_claim(key)
        )
        first = nsmallest(limit + 1, timers, key=lambda timer: (timer.due, timer))
        due = [timer_row(timer) for timer in first[:limit] if timer.due <= moment]
        self._claim(timer[:4] for timer in first[: len(due)])
        following = first[len(due) :]
        return due, from_epoch_ms(following[0].due) if following else None

    async def timers(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        wanted = set(instance_ids)
        found = (unpack(TimerColumns, row) for row in self.disk.timers.values())
        return [timer_row(timer) for timer in sorted(found) if timer.instance_id in wanted]

    async def mail(self, limit: int, *, again: bool = True) -> list[Mail]:
        found = (
            (number, unpack(MailColumns, row))
            for number, row in sorted(self.disk.mail.items())
            if self._may_see(number, again=again)
        )
        mine = islice((item for item in found if self._is_for_me(*item)), limit)
        return [mail_row(mail) for _, mail in mine]

    async def put_back(self, letters: Sequence[MailKey]) -> None:
        process_id, disk = self._require_open(), self.disk
        for key in letters:
            number = disk.mail_numbers.get((key.id, key.instance_id))
            if number is not None and disk.claims.get(number) == process_id:
                del disk.claims[number]
                disk.unseen.discard(number)

    async def waiting_mail(self, letters: Sequence[MailKey]) -> set[MailKey]:
        self._require_open()
        return {key for key in letters if tuple(key) in self.disk.mail_numbers}

    async def send(self, mail: Sequence[Mail]) -> None:
        with self.disk.transaction():
            for each in mail:
                put_mail(self.disk, each)

    async def claim_orphans(self, limit: int) -> list[Orphan]:
        process_id = self._require_open()
        disk = self.disk
        if not disk.lives(process_id):
            raise Fenced(f"process {process_id} was taken for dead")
        claimed: list[Orphan] = []
        with disk.transaction():
            owners = [(unpack(Owner, row), id) for id, row in disk.owners.items()]
            for owner, id in sorted(owners, key=lambda item: (item[0].process_id, item[1])):
                process = unpack(Process, disk.processes[owner.process_id])
                if disk.lives(owner.process_id) or self._passes_over(id):
                    continue
                if len(claimed) < limit:
                    heir = Owner(process_id, owner.epoch + 1, process.clean)
                    disk.put(disk.owners, id, pack(heir))
                    claimed.append(Orphan(id, process.clean))
        return claimed

    async def give_back(self, unread: Unread) -> bool:
        process_id, disk = self._require_open(), self.disk
        if not self.is_shared:
            return False
        given = 0
        with disk.transaction():
            for id, clean in unread.instances:
                row = disk.owners.get(id)
                owner = None if row is None else unpack(Owner, row)
                if owner and owner.process_id == process_id:
                    heirless = Owner(self._nobody(clean=clean or owner.clean), owner.epoch)
                    disk.put(disk.owners, id, pack(heirless))
                    given += 1
            for lease in unread.leases:
                row = disk.jobs.get(lease.key)
                job = None if row is None else unpack(Job, row)
                if job and job.is_of(process_id, lease.token):
                    disk.put(disk.jobs, lease.key, pack(job._replace(leased_by=None)))
                    given += 1
        ids, letters = {each.instance_id for each in unread.instances}, unread.letters
        timers = {key for key in disk.timers if key[0] in ids}
        numbers = {disk.mail_numbers[key] for key in letters if key in disk.mail_numbers}
        for claimed in timers | numbers:
            if disk.claims.get(claimed) == process_id:
                del disk.claims[claimed]
                given += 1
        disk.unseen -= numbers - disk.claims.keys()
        return given > 0

    async def pass_over(
        self,
        instance_ids: Collection[str],
        letters: Collection[MailKey],
        *,
        only_own: bool = False,
    ) -> None:
        self._require_open()
        if self.is_shared:
            self._passed_over = frozenset(instance_ids)
            self._letters_passed_over = frozenset(letters)
            self._only_own = only_own

    async def claim_jobs(
        self,
        task_ids: Sequence[str],
        limit: int,
        lease: timedelta,
        now: datetime,
        *,
        lapsed: int = 100,
    ) -> JobClaims:
        process_id, disk = self._require_open(), self.disk
        found = jobs.in_order(disk, self._passed_over)
        gone = jobs.lapsed(disk, found, lapsed, epoch_ms(now), self._stopped_cleanly)
        with disk.transaction():
            wanted = () if self._only_own else task_ids
            until = epoch_ms(now + lease)
            granted = jobs.claim(disk, process_id, found, wanted, limit=limit, until=until)
        return JobClaims(granted, gone)

    async def leases(self, now: datetime) -> list[Lease]:
        process_id = self._require_open()
        found = ((key, unpack(Job, row)) for key, row in sorted(self.disk.jobs.items()))
        return [
            Lease(key, job.token)
            for key, job in found
            if (job.leased_by, job.is_outside) == (process_id, False)
            and epoch_ms(now) < job.leased_until
        ]

    async def extend_leases(
        self, leases: Sequence[Lease], lease: timedelta, now: datetime
    ) -> set[Lease]:
        process_id, disk = self._require_open(), self.disk
        held: set[Lease] = set()
        for each in leases:
            row = disk.jobs.get(each.key)
            job = None if row is None else unpack(Job, row)
            if job and job.is_of(process_id, each.token):
                held.add(each)
                until = max(job.leased_until, epoch_ms(now + lease))
                disk.jobs[each.key] = pack(job._replace(leased_until=until))
        return held

    async def claim_for_worker(self, claim: WorkerClaim, now: datetime) -> list[Grant]:
        self._require_open()
        if self._only_own:
            return []
        return jobs.claim_for_worker(self.disk, claim, epoch_ms(now), self._passed_over)

    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        self._require_open()
        return jobs.extend_for_workers(self.disk, beats, epoch_ms(now))

    async def put_back_jobs(self, leases: Sequence[Lease]) -> None:
        self._require_open()
        jobs.put_back(self.disk, leases)

    async def take_called_off(
        self, keys: Sequence[JobKey], lease: timedelta, now: datetime
    ) -> list[Lease]:
        return jobs.take_called_off(self.disk, self._require_open(), keys, epoch_ms(now + lease))

    async def next_lapse(self, now: datetime) -> timedelta | None:
        self._require_open()
        return jobs.next_lapse(self.disk, epoch_ms(now))

    async def keep_secret(self, name: str, proposed: bytes) -> bytes:
        self._require_open()
        return self.disk.secrets.setdefault(name, proposed)

    async def dead_letters(
        self, tenant: str, limit: int = 100, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        rows = (unpack(DeadLetterColumns, row) for row in self.disk.dead_letters.values())
        place = attrgetter("at", "id", "instance_id")
        end = dead_letter_bound(below)
        found = (row for row in rows if row.tenant == tenant and place(row) < end)
        newest = sorted(found, key=place, reverse=True)
        return [dead_letter_row(row) for row in newest[:limit]]

    async def dead_letter(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        row = self.disk.dead_letters.get((instance_id, id))
        found = None if row is None else dead_letter_row(unpack(DeadLetterColumns, row))
        return found if found is not None and found.tenant == tenant else None

    async def discard_dead_letter(self, tenant: str, instance_id: str, id: str) -> bool:
        self._require_open()
        if await self.dead_letter(tenant, instance_id, id) is None:
            return False
        with self.disk.transaction():
            self.disk.drop(self.disk.dead_letters, (instance_id, id))
        return True

    async def deliveries(self, instance_id: str) -> list[Delivery]:
        return [each for each in self._deliveries() if each.instance_id == instance_id]

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        wanted = (tenant, event_id)
        return [each for each in self._deliveries() if (each.tenant, each.event_id) == wanted]

    async def put_listener(self, listener: Listener) -> None:
        self._require_open()
        outbox.put_listener(self.disk, listener)

    async def remove_listener(self, tenant: str, kind: ListenerKind, id: str) -> bool:
        self._require_open()
        return outbox.remove_listener(self.disk, (tenant, kind, id))

    async def listeners(self, tenant: str | None) -> list[Listener]:
        return outbox.listeners(self.disk, tenant)

    async def enable_listener(self, listener: Listener) -> bool:
        self._require_open()
        return outbox.enable_listener(self.disk, listener)

    async def change_listener(self, listener: Listener) -> bool:
        self._require_open()
        return outbox.change_listener(self.disk, listener)

    async def listening(self) -> int:
        return self.disk.listening

    async def outbox(self, limit: int, *, passing_over: Collection[str] = ()) -> list[OutboxRow]:
        return outbox.outbox(self.disk, self._require_open(), limit, passing_over)

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        return outbox.stretches(self.disk, asked)

    async def drained(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        process_id = self._require_open()
        if not self.disk.lives(process_id):
            raise Fenced(f"process {process_id} was taken for dead")
        outbox.drained(self.disk, process_id, numbers, postings)

    async def due_postings(
        self,
        now: datetime,
        *,
        most: int,
        each: int,
        busy: Collection[str] = (),
        among: Collection[str] | None = None,
    ) -> DuePostings:
        return outbox.due_postings(
            self.disk, self._require_open(), now, most=most, each=each, busy=busy, among=among
        )

    async def settle(self, settlement: Settlement) -> None:
        outbox.settle(self.disk, self._require_open(), settlement)

    async def backlogs(self, tenant: str) -> dict[str, Backlog]:
        return outbox.backlogs(self.disk, tenant)

    async def put_task(self, task: TaskRow) -> bool:
        self._require_open()
        return tasks.put_task(self.disk, task)

    async def task(self, tenant: str, id: str) -> TaskRow | None:
        return tasks.task(self.disk, tenant, id)

    async def tasks(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        return tasks.tasks(self.disk, tenant, after, limit)

    async def pushed_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return tasks.pushed_tasks(self.disk, after)[:limit]

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        return jobs.pushed_with_jobs(self.disk)

    async def all_tasks(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return tasks.all_tasks(self.disk, after)[:limit]

    async def remove_task(self, tenant: str, id: str) -> bool:
        self._require_open()
        return tasks.remove_task(self.disk, tenant, id)

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        return tasks.target(self.disk, tenant, task_id)

    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        self._require_open()
        return tasks.put_target(self.disk, tenant, task_id, target)

    async def hand_over(self, leases: Sequence[Lease], now: datetime) -> set[Lease]:
        self._require_open()
        return jobs.hand_over(self.disk, leases, epoch_ms(now))

    async def put_key(self, key: KeyRow) -> bool:
        self._require_open()
        return access.put_key(self.disk, key)

    async def key(self, id: str) -> KeyRow | None:
        return access.key(self.disk, id)

    async def has_keys(self) -> bool:
        return bool(self.disk.access_keys)

    async def keys(self, tenant: str) -> list[KeyRow]:
        return access.keys(self.disk, tenant)

    async def revoke_key(self, tenant: str, id: str, now: datetime) -> KeyRow | None:
        self._require_open()
        return access.revoke_key(self.disk, tenant, id, now)

    async def touch_keys(self, used: Mapping[str, datetime]) -> None:
        self._require_open()
        access.touch_keys(self.disk, used)

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        self._require_open()
        return access.append_audit(self.disk, entries)

    async def audit(self, query: AuditQuery) -> list[AuditRow]:
        return access.audit(self.disk, query)

    async def audit_lines(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        return access.audit_lines(self.disk, tenant, after, limit)

    async def audit_head(self, tenant: str) -> AuditHead:
        return access.audit_head(self.disk, tenant)

    @property
    def is_pooled(self) -> bool:
        return False

    def seen_by(self, tenant: str) -> TenantReads:  # noqa: ARG002
        return self

    async def wall(self) -> Wall | None:
        return None

    async def depths(self, now: datetime) -> Depths:
        return upkeep.depths(self.disk, now)

    async def tallies(
        self, tenant: str, since: datetime, apart_from: datetime, most: int
    ) -> list[Tally]:
        return stats.tallies(self.disk, tenant, since, apart_from, most)

    async def waiting_jobs(self, tenant: str, most: int) -> WaitingJobs:
        return stats.waiting_jobs(self.disk, tenant, most)

    async def erase_instances(
        self, tenant: str, ids: Collection[str], manner: Erasure = CAREFULLY
    ) -> list[str]:
        self._require_open()
        return erasing.erase_instances(self.disk, tenant, ids, manner)

    async def erase_definition(self, tenant: str, id: str) -> None:
        self._require_open()
        erasing.erase_definition(self.disk, tenant, id)

    async def old_rehearsals(self, before: datetime, limit: int) -> list[DefinitionKey]:
        return erasing.old_rehearsals(self.disk, before, limit)

    async def put_bulk(self, row: BulkRow) -> BulkRow:
        self._require_open()
        return bulk_operations.put_bulk(self.disk, row)

    async def bulk(self, tenant: str, id: str) -> BulkRow | None:
        return bulk_operations.bulk(self.disk, tenant, id)

    async def bulks(
        self, tenant: str, limit: int, *, below: BulkPlace | None = None
    ) -> list[BulkRow]:
        return bulk_operations.bulks(self.disk, tenant, limit, below)

    async def claim_bulks(self, now: datetime, until: datetime, limit: int) -> list[BulkRow]:
        self._require_open()
        return bulk_operations.claim_bulks(self.disk, now, until, limit)

    async def save_bulk(self, row: BulkRow, until: datetime) -> BulkRow | None:
        self._require_open()
        return bulk_operations.save_bulk(self.disk, row, until)

    async def stop_bulk(self, tenant: str, id: str) -> BulkRow | None:
        self._require_open()
        return bulk_operations.stop_bulk(self.disk, tenant, id)

    async def prune_bulks(self, tenant: str, before: datetime, limit: int) -> int:
        self._require_open()
        return bulk_operations.prune_bulks(self.disk, tenant, before, limit)

    async def prune_events(self, tenant: str, before: datetime, limit: int) -> int:
        self._require_open()
        return outbox.prune_events(self.disk, tenant, before, limit)

    def _require_open(self) -> str:
        if self._process_id is None:
            raise StoreUnavailable("the store is not open")
        return self._process_id

    def _is_me(self, process_id: str) -> bool:
        return process_id == self._process_id

    def _stopped_cleanly(self, process_id: str) -> bool:
        row = self.disk.processes.get(process_id)
        return row is not None and unpack(Process, row).clean

    def _latest_moment(self, now: datetime) -> int:
        seen = (unpack(Process, row).seen_at for row in self.disk.processes.values())
        wrong = epoch_ms(now + WRONG_CLOCK)
        return max([epoch_ms(now), *(moment for moment in seen if moment <= wrong)])

    def _bury_the_dead(self, by: bytes) -> bool:
        """Whether there were any; `by` a process that is there now."""
        stopped_at = unpack(Process, by).started_at
        dead = {
            id: process._replace(stopped_at=stopped_at)
            for id, row in self.disk.processes.items()
            if (process := unpack(Process, row)).stopped_at is None and id not in self.disk.live
        }
        for id, process in dead.items():
            self.disk.put(self.disk.processes, id, pack(process))
        return bool(dead)

    def _nobody(self, *, clean: bool) -> str:
        """The name under which there is what was given back: that of a process that is gone."""
        name = "given-back-clean" if clean else "given-back"
        stopped = Process(started_at=0, stopped_at=0, clean=clean, seen_at=0)
        self.disk.put(self.disk.processes, name, pack(stopped))
        return name

    def _may_see(self, number: int, *, again: bool) -> bool:
        """Whether a letter is nobody's, a dead process's, or this one's and not in its hands."""
        is_mine = self.disk.claims.get(number) == self._process_id
        return self._may_claim(number) and (again or not is_mine or number in self.disk.unseen)

    def _is_for_me(self, number: int, mail: MailColumns) -> bool:
        """Claim a letter, or let go of it: for the other owner of its instance, or for anybody.

        What is passed over and nobody's, or of an instance that is this process's own, stays so.
        """
        disk, row = self.disk, self.disk.owners.get(mail.instance_id)
        owner = None if row is None else unpack(Owner, row).process_id
        is_mine = owner == self._process_id
        key = MailKey(mail.id, mail.instance_id)
        is_passed_over = key in self._letters_passed_over or (
            (self._only_own or mail.instance_id in self._passed_over) and not is_mine
        )
        if is_passed_over and (is_mine or number not in disk.claims):
            return False
        disk.unseen.discard(number)
        if owner is not None and not is_mine and disk.lives(owner):
            disk.claims[number] = owner
            disk.unseen.add(number)
            return False
        if is_passed_over:
            del disk.claims[number]
            return False
        self._claim([number])
        return True

    def _passes_over(self, instance_id: str) -> bool:
        """Whether orphans and timers of an instance are left to others."""
        if instance_id in self._passed_over:
            return True
        row = self.disk.owners.get(instance_id) if self._only_own else None
        owner = None if row is None else unpack(Owner, row).process_id
        return self._only_own and owner != self._process_id

    def _may_claim(self, what: object) -> bool:
        claimed_by = self.disk.claims.get(what)
        return claimed_by in {None, self._process_id} or not self.disk.lives(claimed_by)

    def _claim(self, items: Iterable[object]) -> None:
        if self._process_id is not None:
            self.disk.claims.update(dict.fromkeys(items, self._process_id))

    def _stored_instance(self, id: str, known: int) -> StoredInstance:
        packed = self.disk.snapshots.get(id)
        snapshot = None if packed is None else unpack(Snapshot, packed)
        version = 0 if snapshot is None else snapshot.version
        row = self.disk.owners.get(id)
        owner = None if row is None else unpack(Owner, row)
        return StoredInstance(
            row=instance_row(unpack(InstanceColumns, self.disk.instances[id])),
            state=None if snapshot is None or 0 < version <= known else snapshot.state,
            state_version=version,
            state_bytes=0 if snapshot is None else len(snapshot.state),
            tail=tuple(self._log(id, max(version, known - 1))),
            owner=None if owner is None else owner.process_id,
            was_left_clean=owner is not None and owner.clean and self._is_me(owner.process_id),
            jobs=tuple(
                Lease(key, unpack(Job, row).token)
                for key, row in sorted(self.disk.jobs.items())
                if key.instance_id == id
            ),
        )

    def _log(self, instance_id: str, after: int) -> list[LogRow]:
        end = self.disk.log_ends.get(instance_id, 0)
        return [
            unpack(LogRow, self.disk.log[instance_id, seq]) for seq in range(after + 1, end + 1)
        ]

    def _waits(self) -> Iterator[WaitColumns]:
        places = self.disk.waits.values()
        return (unpack(WaitColumns, row) for arms in places for row in arms.values())

    def _deliveries(self) -> Iterator[Delivery]:
        for key, (outcome, reason, tenant) in sorted(self.disk.deliveries.items()):
            id, node, iteration, arm, event_id = key
            yield Delivery(event_id, id, node, iteration, outcome, arm, reason, tenant)

    def _events(self) -> Iterator[tuple[int, StoredEvent]]:
        return (
            (number, unpack(StoredEvent, row)) for number, row in sorted(self.disk.events.items())
        )


def _text_at(payload: bytes, path: str) -> str | None:
    found: JSON = _decode(payload) if len(payload) <= MOST_READ else None
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, int | float) else None
