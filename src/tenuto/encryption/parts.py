"""Parts of a store between which and the engine values are sealed and opened.

A record about an instance is sealed if the instance is. The lane says so for what a turn writes;
for what is written beside turns, the first entry of the instance's log does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import asdict, replace

from tenuto.encryption.envelope import MARK, is_sealed
from tenuto.encryption.errors import CannotOpen, EncryptionError
from tenuto.encryption.values import BLINDED, Values, sealed_payload
from tenuto.events import fits
from tenuto.model.errors import StoreUnavailable
from tenuto.model.events import Event, stream_of
from tenuto.model.ids import is_of_an_instance
from tenuto.model.log import LogRow
from tenuto.model.test_run import is_inbox_of_test_run
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.inbox import Delivery, InboxEvent, OpenedEvent, PastEvents, PastPage
from tenuto.store.parts.instances import InstancePage, InstanceQuery
from tenuto.store.parts.jobs import Beat, Extension, JobClaims, Lease
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.outbox import DuePostings, OutboxRow, Posting, Stretch
from tenuto.store.parts.schedules import Fire, ScheduleKey
from tenuto.store.parts.task_logs import TaskLogRow
from tenuto.store.parts.turns import (
    NOTHING_KNOWN,
    InstanceWrite,
    MatchWrite,
    StoredInstance,
    Turn,
    TurnResult,
)
from tenuto.store.parts.waits import WaitKey, WaitRow, WaitTerm
from tenuto.store.protocol import Parts

PATTERNS_KEPT: Final = timedelta(seconds=1)
"""How old the known patterns of a tenant may be; a save of new ones takes longer than this."""
USE_KEPT: Final = timedelta(seconds=60)
"""How old the knowledge may be that nothing in a store is encrypted."""
MOST_KNOWN: Final = 20_000
"""Instances of which it is kept in memory whether they are sealed."""


class Sealing:
    """What the parts of one store share."""

    def __init__(self, values: Values, raw: Parts) -> None:
        """`raw`: the parts of the store itself."""
        self.values = values
        self.raw = raw
        self._known: dict[str, bool] = {}
        """Instances, and whether they are sealed."""
        self._patterns: dict[str, tuple[datetime, tuple[str, ...]]] = {}
        """By tenant: the patterns of events that definitions with encryption wait for."""
        self.blinded: dict[tuple[str, str, str], set[str]] = {}
        """Pattern, paths and tenant of blinded terms, with the ids of their keys."""
        self.missed: set[str] = set()
        """Ids of keys without which an event may have missed a wait."""
        self._told: set[str] = set()
        self._used: set[str] = set()
        self._looked: tuple[datetime, bool] | None = None
        """Of a process without keys: whether others encrypt in this store."""
        self._looking = asyncio.Lock()
        """A thousand events that arrive together look once."""

    @property
    def is_on(self) -> bool:
        """Whether anything can be sealed here."""
        return self.values.codec.current is not None

    def know(self, instance_id: str, *, sealed: bool) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[instance_id] = sealed

    async def sealed_among(self, ids: Iterable[str]) -> set[str]:
        """Which of these instances are sealed; without keys none is looked for."""
        if not self.is_on:
            return set()
        wanted = dict.fromkeys(ids)
        unknown = [id for id in wanted if id not in self._known]
        if unknown:
            firsts = await self.raw.outbox.stretches([Stretch(id, 1, 1) for id in unknown])
            for id, rows in zip(unknown, firsts, strict=True):
                if rows:
                    self.know(id, sealed=is_sealed(rows[0].payload or b""))
        return {id for id in wanted if self._known.get(id, False)}

    async def is_event_sealed(self, event: Event, now: datetime) -> bool:
        """Whether the payload of an event that no sealed write publishes is stored sealed.

        It is where a definition with encryption waits for such events, and where a sealed instance
        tells of itself.
        """
        if is_of_an_instance(event.id):
            stream = stream_of(event.tenant, event.id)
            if await self.sealed_among([stream]):
                return True
        if is_inbox_of_test_run(event.tenant):
            return True
        patterns = await self._patterns_of(event.tenant, now)
        return any(fits(pattern, event.pattern) for pattern in patterns)

    async def lacks_keys_for(self, event: Event, now: datetime) -> bool:
        """Whether an event would have to be sealed, and cannot be, since there are no keys."""
        if self.is_on or is_inbox_of_test_run(event.tenant):
            return False
        if not _is_fresh(self._looked, now, USE_KEPT):
            async with self._looking:
                if not _is_fresh(self._looked, now, USE_KEPT):
                    self._looked = (now, bool(await self.raw.sealed.keys()))
        assert self._looked is not None
        return self._looked[1] and await self.is_event_sealed(event, now)

    async def _patterns_of(self, tenant: str, now: datetime) -> tuple[str, ...]:
        known = self._patterns.get(tenant)
        if known is None or not _is_fresh(known, now, PATTERNS_KEPT):
            async with self._looking:
                known = self._patterns.get(tenant)
                if known is None or not _is_fresh(known, now, PATTERNS_KEPT):
                    known = (now, tuple(await self.raw.sealed.patterns(tenant)))
                    self._patterns[tenant] = known
        return known[1]

    async def declare(self, waits: Iterable[WaitRow], now: datetime) -> None:
        """Have events sealed that a sealed instance waits for, also where its definition does not.

        Those that a definition with encryption waits for are declared before it is saved; a child
        of a sealed instance may be of another one.
        """
        wanted = {(wait.tenant, wait.pattern) for wait in waits}
        for tenant in {tenant for tenant, _ in wanted if not is_inbox_of_test_run(tenant)}:
            patterns = {pattern for owner, pattern in wanted if owner == tenant}
            new = patterns.difference(await self._patterns_of(tenant, now))
            if new:
                await self.raw.sealed.declare(tenant, sorted(new))
                self.declared(tenant)

    async def tell_used(self) -> None:
        """Keep which keys encrypt, before anything is encrypted with one."""
        current = self.values.codec.current
        if current is not None and current not in self._used:
            await self.raw.sealed.use([current])
            self._used.add(current)

    async def tell_missed(self) -> None:
        """Keep which keys were missing where events were matched: their waits look back again."""
        new = self.missed - self._told
        if new:
            await self.raw.sealed.miss(sorted(new))
            self._told |= new

    def declared(self, tenant: str) -> None:
        """The patterns of a tenant have changed."""
        self._patterns.pop(tenant, None)


def _is_fresh(known: tuple[datetime, object] | None, now: datetime, kept: timedelta) -> bool:
    """Whether something was read not long before `now`."""
    return known is not None and known[0] <= now < known[0] + kept


class _Around:
    """A part; verbs that have nothing to seal are those of the store."""

    def __init__(self, inner: Any, sealing: Sealing) -> None:  # noqa: ANN401 - any part
        self._inner = inner
        self._sealing = sealing
        self._values = sealing.values

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - whatever the part has
        return getattr(self._inner, verb)


class SealedTurns(_Around):
    """The hot path; a turn without sealed writes and events passes as it is."""

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:
        if self._sealing.is_on or [write for write in turn.writes if write.is_sealed]:
            turn = await self._sealed(turn)
        result: TurnResult = await self._inner.commit(turn, lane)
        return result

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        found: dict[str, StoredInstance] = await self._inner.load(instance_ids, known)
        opened = self._values.opened_stored
        loaded = {id: opened(stored) for id, stored in found.items()}
        if self._sealing.is_on and known:
            # Entries without values do not tell whether the instance is sealed; the first one does.
            unsure = [id for id, stored in loaded.items() if _is_unsure(stored)]
            for id in await self._sealing.sealed_among(unsure):
                loaded[id] = replace(loaded[id], is_sealed=True)
        return loaded

    async def _sealed(self, turn: Turn) -> Turn:
        events, matches, writes = turn.events, turn.matches, turn.writes
        try:
            if events:
                events = await self._events(events, turn.at)
            if any(mail.is_sealed for match in matches for mail in match.mail):
                matches = tuple(map(self._match, matches))
            if any(write.is_sealed or write.events or write.mail_sent for write in writes):
                writes = tuple([await self._write(write, turn.at) for write in writes])
        except EncryptionError as error:
            raise _unavailable(error) from error
        if writes is turn.writes and events is turn.events and matches is turn.matches:
            return turn
        return replace(turn, writes=writes, events=events, matches=matches)

    async def _write(self, write: InstanceWrite, now: datetime) -> InstanceWrite:
        if write.create is not None:
            self._sealing.know(write.instance_id, sealed=write.is_sealed)
        if write.is_sealed:
            await self._sealing.tell_used()
            if write.waits_opened:
                await self._sealing.declare(write.waits_opened, now)
            sealed = self._values.sealed_write(write)
            if write.events:
                sealed = replace(sealed, events=tuple(map(self._values.sealed_event, write.events)))
            return sealed
        if any(mail.is_sealed for mail in write.mail_sent):
            write = replace(write, mail_sent=_mails(self._values, write.mail_sent))
        if write.events:
            write = replace(write, events=await self._events(write.events, now))
        return write

    async def _events(self, events: tuple[Event, ...], now: datetime) -> tuple[Event, ...]:
        wanted = [await self._sealing.is_event_sealed(event, now) for event in events]
        if not any(wanted):
            return events
        seal = self._values.sealed_event
        return tuple(
            seal(event) if is_wanted else event
            for event, is_wanted in zip(events, wanted, strict=True)
        )

    def _match(self, match: MatchWrite) -> MatchWrite:
        sealed = {mail.instance_id for mail in match.mail if mail.is_sealed}
        if not sealed:
            return match
        deliveries = tuple(
            self._values.sealed_delivery(each) if each.instance_id in sealed else each
            for each in match.deliveries
        )
        return replace(match, mail=_mails(self._values, match.mail), deliveries=deliveries)


class SealedInstances(_Around):
    """Rows and logs of instances."""

    async def page(self, query: InstanceQuery) -> InstancePage:
        page: InstancePage = await self._inner.page(query)
        opened = self._values.opened_instance
        return InstancePage([opened(row) for row in page.items], page.next_after)

    async def entries(self, instance_id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
        rows = await self._inner.entries(instance_id, after=after, limit=limit)
        return list(self._values.opened_rows(rows, instance_id.encode()))

    async def entries_at(self, instance_id: str, seqs: Sequence[int]) -> list[LogRow]:
        rows = await self._inner.entries_at(instance_id, seqs)
        return list(self._values.opened_rows(rows, instance_id.encode()))


class SealedWaits(_Around):
    """Waits; equal values are found by blinded terms."""

    async def terms(self, tenant: str, pattern: str) -> list[WaitTerm]:
        found: list[WaitTerm] = await self._inner.terms(tenant, pattern)
        if not any(term.term_paths.startswith(BLINDED) for term in found):
            return found
        shown: dict[WaitTerm, None] = {}
        for term in found:
            if not term.term_paths.startswith(BLINDED):
                shown[term] = None
                continue
            _, key_id, paths = term.term_paths.split(BLINDED, 2)
            self._sealing.blinded.setdefault((tenant, term.pattern, paths), set()).add(key_id)
            shown[term._replace(term_paths=paths)] = None
        return list(shown)

    async def matching(
        self, tenant: str, terms: Sequence[WaitTerm], *, limit: int, after: WaitKey | None = None
    ) -> list[WaitRow]:
        asked = self._with_blinded(tenant, terms) if self._sealing.blinded else terms
        rows: list[WaitRow] = await self._inner.matching(tenant, asked, limit=limit, after=after)
        if any(row.captures.startswith(MARK) for row in rows):
            # What cannot be opened fits no event, and keeps its place: a shorter page is the last.
            rows = [
                self._try(row) or replace(row, condition="false", captures=b"[]") for row in rows
            ]
        await self._sealing.tell_missed()
        return rows

    async def near(self, tenant: str, terms: Sequence[WaitTerm], *, limit: int) -> list[WaitRow]:
        asked = list(terms)
        for term in terms:
            for key_id in self._sealing.blinded.get((tenant, term.pattern, term.term_paths), ()):
                paths = f"{BLINDED}{key_id}{BLINDED}{term.term_paths}"
                asked.append(term._replace(term_paths=paths))
        return self._opened(await self._inner.near(tenant, asked, limit=limit))

    async def of(self, instance_id: str) -> list[WaitRow]:
        return self._opened(await self._inner.of(instance_id))

    async def unlooked(self, limit: int) -> list[WaitRow]:
        return self._opened(await self._inner.unlooked(limit))

    def _with_blinded(self, tenant: str, terms: Sequence[WaitTerm]) -> list[WaitTerm]:
        asked = list(terms)
        for term in terms:
            place = (tenant, term.pattern, term.term_paths)
            if place not in self._sealing.blinded:
                continue
            # Under every key: a wait may be encrypted again between the two reads.
            for key_id in self._sealing.blinded[place].union(self._values.codec.ids):
                try:
                    blinded = self._values.blinded(
                        tenant, term.term_paths, term.term_values, key_id
                    )
                except CannotOpen:
                    self._sealing.missed.add(key_id)
                    continue
                if blinded is not None:
                    paths = f"{BLINDED}{key_id}{BLINDED}{term.term_paths}"
                    asked.append(WaitTerm(term.pattern, paths, blinded))
        return asked

    def _opened(self, rows: list[WaitRow]) -> list[WaitRow]:
        """Waits; those that cannot be opened here are left out."""
        for row in rows:
            if row.captures.startswith(MARK):
                return [each for each in map(self._try, rows) if each is not None]
        return rows

    def _try(self, row: WaitRow) -> WaitRow | None:
        try:
            return self._values.opened_wait(row)
        except CannotOpen as error:
            if error.key_id is not None:
                self._sealing.missed.add(error.key_id)
            return None


class SealedInbox(_Around):
    """Events; a payload that cannot be opened stays sealed, and fits no condition."""

    async def past(self, asked: PastEvents, *, after: int = 0, limit: int = 100) -> PastPage:
        page: PastPage = await self._inner.past(asked, after=after, limit=limit)
        opened = self._values.opened_event
        return page._replace(items=[(number, opened(event)) for number, event in page.items])

    async def latest(self, *args: Any, **named: Any) -> list[InboxEvent]:  # noqa: ANN401
        return list(map(self._opened, await self._inner.latest(*args, **named)))

    async def get(self, tenant: str, id: str) -> InboxEvent | None:
        found: InboxEvent | None = await self._inner.get(tenant, id)
        return None if found is None else self._opened(found)

    async def unmatched(self, limit: int) -> list[tuple[int, Event]]:
        found = await self._inner.unmatched(limit)
        opened = [(number, self._values.opened_event(event)) for number, event in found]
        # One that cannot be opened is matched by a process that can.
        return [
            (number, event) for number, event in opened if sealed_payload(event.payload) is None
        ]

    async def deliveries_to(self, instance_id: str) -> list[Delivery]:
        return list(map(self._values.opened_delivery, await self._inner.deliveries_to(instance_id)))

    async def deliveries_of(self, tenant: str, event_id: str) -> list[Delivery]:
        found = await self._inner.deliveries_of(tenant, event_id)
        return list(map(self._values.opened_delivery, found))

    def _opened(self, found: InboxEvent) -> InboxEvent:
        event = self._values.opened_event(found.event)
        return found if event is found.event else found._replace(event=event)


class SealedMailbox(_Around):
    """Messages to instances."""

    async def claim(self, limit: int, *, again: bool = True) -> list[Mail]:
        return list(map(self._values.opened_mail, await self._inner.claim(limit, again=again)))

    async def send(self, mail: Sequence[Mail]) -> None:
        sealed = await self._sealing.sealed_among(each.instance_id for each in mail)
        await self._inner.send(
            [
                self._values.sealed_mail(each)
                if each.is_sealed or each.instance_id in sealed
                else each
                for each in mail
            ]
        )


class SealedSchedules(_Around):
    """Schedules: the messages that start instances."""

    async def fire(self, fires: Sequence[Fire]) -> set[ScheduleKey]:
        sealed = [
            replace(fire, mail=_mails(self._values, fire.mail))
            if any(mail.is_sealed for mail in fire.mail)
            else fire
            for fire in fires
        ]
        refused: set[ScheduleKey] = await self._inner.fire(sealed)
        return refused


class SealedJobs(_Around):
    """Leases: the details of heartbeats."""

    async def extend_for_workers(
        self, beats: Sequence[Beat], now: datetime
    ) -> dict[Lease, Extension]:
        saying = [beat for beat in beats if beat.details is not None]
        sealed = await self._sealing.sealed_among(beat.lease.key.instance_id for beat in saying)
        if sealed:
            beats = [self._sealed(beat, sealed) for beat in beats]
        found: dict[Lease, Extension] = await self._inner.extend_for_workers(beats, now)
        return found

    async def claim(self, *args: Any, **named: Any) -> JobClaims:  # noqa: ANN401
        found: JobClaims = await self._inner.claim(*args, **named)
        for place, lapsed in enumerate(found.lapsed):
            overrun = lapsed.overrun
            if overrun is not None and overrun.details is not None:
                about = lapsed.lease.key.instance_id.encode()
                details = self._values.opened_text(overrun.details, about)
                found.lapsed[place] = lapsed._replace(overrun=overrun._replace(details=details))
        return found

    def _sealed(self, beat: Beat, sealed: Collection[str]) -> Beat:
        id = beat.lease.key.instance_id
        if beat.details is None or id not in sealed:
            return beat
        return beat._replace(details=self._values.sealed_text(beat.details, id.encode()))


class SealedDeadLetters(_Around):
    """Dead letters."""

    async def page(self, *args: Any, **named: Any) -> list[DeadLetterRow]:  # noqa: ANN401
        return list(map(self._values.opened_letter, await self._inner.page(*args, **named)))

    async def get(self, tenant: str, instance_id: str, id: str) -> DeadLetterRow | None:
        found = await self._inner.get(tenant, instance_id, id)
        return None if found is None else self._values.opened_letter(found)


class SealedOutbox(_Around):
    """Notifications and their deliveries."""

    async def events(self, rows: Sequence[OutboxRow]) -> list[Event | None]:
        found: list[Event | None] = await self._inner.events(rows)
        return [None if event is None else self._opened(event) for event in found]

    def _opened(self, event: Event) -> Event:
        opened = self._values.opened_event(event)
        # Its deliveries are sealed as it is, whenever they are written: it says so itself, since
        # another process may drain its row.
        return opened if opened is event else OpenedEvent(**asdict(opened))

    async def stretches(self, asked: Sequence[Stretch]) -> list[list[LogRow]]:
        """Entries; those that cannot be opened stay sealed, which no program can read."""
        found = await self._inner.stretches(asked)
        opened: list[list[LogRow]] = []
        for stretch, rows in zip(asked, found, strict=True):
            try:
                opened.append(list(self._values.opened_rows(rows, stretch.instance_id.encode())))
            except CannotOpen:
                opened.append(rows)
        return opened

    async def drain(self, numbers: Sequence[int], postings: Sequence[Posting]) -> None:
        sealed = await self._sealing.sealed_among(
            posting.stream for posting in postings if is_of_an_instance(posting.event_id)
        )
        seal = self._values.codec.seal
        postings = [
            replace(each, body=seal(each.body, each.event_id.encode()))
            if each.is_sealed or each.stream in sealed
            else each
            for each in postings
        ]
        await self._inner.drain(numbers, postings)

    async def claim_due(self, *args: Any, **named: Any) -> DuePostings:  # noqa: ANN401
        """Due postings; one that cannot be opened waits for a process that can."""
        due: DuePostings = await self._inner.claim_due(*args, **named)
        if not any(is_sealed(each.body) for each in due.items):
            return due
        items: list[Posting] = []
        for each in due.items:
            try:
                body = self._values.opened(each.body, each.event_id.encode())
            except CannotOpen:
                continue
            items.append(each if body is None else replace(each, body=body))
        return due._replace(items=items)


class SealedTaskLogs(_Around):
    """Lines of tasks."""

    async def add(self, rows: Sequence[TaskLogRow], now: datetime) -> dict[str, int]:
        sealed = await self._sealing.sealed_among(row.instance_id for row in rows)
        if sealed:
            seal = self._values.codec.seal
            rows = [
                replace(row, lines=seal(row.lines, row.instance_id.encode()))
                if row.instance_id in sealed
                else row
                for row in rows
            ]
        stored: dict[str, int] = await self._inner.add(rows, now)
        return stored

    async def page(self, *args: Any, **named: Any) -> list[TaskLogRow]:  # noqa: ANN401
        rows: list[TaskLogRow] = await self._inner.page(*args, **named)
        return [
            replace(row, lines=self._values.opened(row.lines, row.instance_id.encode()))
            if is_sealed(row.lines)
            else row
            for row in rows
        ]


class SealedPatterns(_Around):
    """Patterns of events that are stored sealed."""

    async def declare(self, tenant: str, patterns: Collection[str]) -> int:
        added: int = await self._inner.declare(tenant, patterns)
        self._sealing.declared(tenant)
        return added


WRAPPERS: Final[dict[str, Callable[[Any, Sealing], _Around]]] = {
    "turns": SealedTurns,
    "instances": SealedInstances,
    "waits": SealedWaits,
    "inbox": SealedInbox,
    "mailbox": SealedMailbox,
    "schedules": SealedSchedules,
    "jobs": SealedJobs,
    "dead_letters": SealedDeadLetters,
    "outbox": SealedOutbox,
    "task_logs": SealedTaskLogs,
    "sealed": SealedPatterns,
}
"""The parts with values in them; all others are those of the store."""


def _is_unsure(stored: StoredInstance) -> bool:
    """Whether only such entries were read as may be without a value."""
    if stored.is_sealed or stored.state is not None:
        return False
    return not stored.tail or stored.tail[0].seq > 1


def _mails(values: Values, mail: Sequence[Mail]) -> tuple[Mail, ...]:
    return tuple(values.sealed_mail(each) if each.is_sealed else each for each in mail)


def _unavailable(error: EncryptionError) -> StoreUnavailable:
    """Nothing was written, and the turn is tried again: the keys may come back."""
    return StoreUnavailable(error.message, code=error.code, advice=error.advice)
