"""Advances schedules: decides what becomes of the ticks that are due, and writes it at once.

The state of a schedule, its ticks and the messages that start instances go into one transaction,
which goes through only from the version of the schedule that was read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenuto.calendars import WorkingCalendar
from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.schedules.documents import Parsed, ScheduleDocuments
from tenuto.engine.schedules.meter import ScheduleMeter
from tenuto.engine.schedules.open_ticks import OpenTicks, Running, nothing
from tenuto.engine.schedules.targets import Target, Targets
from tenuto.engine.shared import Shared
from tenuto.engine.turns.requests import ScheduledStart
from tenuto.engine.usage import Usage
from tenuto.model.errors import InvalidInput, Problem, StoreUnavailable
from tenuto.model.family import scheduled_id
from tenuto.model.ids import start_letter
from tenuto.model.inputs import CancelAsked, ScheduleCause, Started
from tenuto.model.quotas import QuotaExceeded
from tenuto.schedules import (
    Bounds,
    CancelThenStart,
    Due,
    Queue,
    Recurring,
    Schedule,
    Skip,
    Start,
    Tick,
    at_end,
    at_tick,
    due,
    next_start,
    ticks,
)
from tenuto.schedules.schedule import Overlap, Target as ScheduleTarget
from tenuto.store.errors import DataRefused
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.schedules import (
    Fire,
    ScheduleKey,
    ScheduleRow,
    TickMark,
    TickOutcome,
    TickRow,
)

log = logging.getLogger("tenuto.schedules")

CONFIRM_AFTER = timedelta(seconds=60)
"""So long after a start it is checked whether the instance was started."""
LONGEST_REST = 3_600.0
"""The most seconds until a schedule in error is looked at again."""
MOST_LISTED = 10
"""The most skipped ticks in a row that are recorded one by one."""
MOST_STARTS = 1_000
"""About the most starts of one transaction."""
MOST_BYTES = 2_000_000
"""About the most bytes of inputs of one transaction."""
OVERTAKEN = "a later tick is due, too"
_A_SECOND = timedelta(seconds=1)
_encode = msgspec.json.Encoder().encode


Found: TypeAlias = dict[tuple[str, ScheduleTarget], Target | Problem]
"""What the targets of schedules are, by tenant."""


class Asked(Struct, frozen=True, kw_only=True):
    """A tick that a user asks for."""

    nominal: datetime
    mark: TickMark
    overlap: Overlap | None = None
    """Instead of what the schedule says."""


class _Waiting(Struct, frozen=True, kw_only=True):
    """What a queue was when it was last looked at."""

    behind: tuple[str, ...]
    """The oldest instance that it waits for."""
    queued: int
    wait: timedelta
    """How long until it is looked at again."""


class Firing:
    """Decides about schedules and fires them."""

    def __init__(
        self,
        shared: Shared,
        *,
        calendars: Calendars,
        targets: Targets,
        usage: Usage,
        meter: ScheduleMeter,
        reason: Callable[[str], str | None],
        sent: Callable[[], None],
    ) -> None:
        """`reason`: why the start of an instance was refused. `sent`: there are new messages."""
        self._store = shared.store
        self._clock = shared.clock
        self._most = Bounds(most=shared.settings.bounds.schedule_starts)
        # A store of one process has no ends of which that process does not know.
        settings, is_shared = shared.settings, shared.store.is_shared
        every = settings.queued_every if is_shared else settings.longest_nap
        self._queued_every = timedelta(seconds=max(every, settings.queued_every))
        self._longest_wait = max(self._queued_every, timedelta(seconds=settings.longest_nap))
        self._calendars = calendars
        self._targets = targets
        self._usage = usage
        self._meter = meter
        self._sent = sent
        self.documents = ScheduleDocuments()
        self._open = OpenTicks(shared.store, reason)
        self._with_queue: dict[ScheduleKey, _Waiting] = {}
        """Schedules that had ticks in their queues when this process fired them last."""
        self.idle: set[ScheduleKey] = set()
        """Schedules for which there is nothing more to do, of those that were fired."""

    def may_have_queue(self, key: ScheduleKey) -> bool:
        """Whether ticks of a schedule may wait for an instance to end."""
        overlap = self.documents.overlap_of(key)
        return overlap is None or overlap == "queue" or key in self._with_queue

    async def advance(self, rows: Sequence[ScheduleRow], now: datetime) -> set[ScheduleKey]:
        """Do what is to do for schedules at `now`; returns those that another has changed."""
        lost: set[ScheduleKey] = set()
        fires: list[Fire] = []
        starts = size = 0
        running = await self._running(rows)
        found: Found = {}
        for row in rows:
            here = running.get(row.key) or nothing()
            try:
                fire = await self.decided(row, here, now, found=found)
            except StoreUnavailable:
                raise
            except Exception as error:  # one faulty schedule must not stop the others
                log.exception("schedule=%s cannot be advanced", row.id)
                fire = _Work(row, Parsed(schedule=None), nothing(), now).failed(
                    f"{type(error).__name__}: {error}"
                )
            fires.append(fire)
            starts += len(fire.mail)
            size += sum(len(each.input) for each in fire.mail)
            if starts >= MOST_STARTS or size >= MOST_BYTES:
                lost |= await self.fire(fires)
                fires, starts, size = [], 0, 0
        return lost | await self.fire(fires)

    async def one(self, row: ScheduleRow, asked: Asked | None, now: datetime) -> Fire:
        """What is to do for one schedule; InvalidInput if a tick cannot be started."""
        running = await self._running([row])
        return await self.decided(row, running.get(row.key) or nothing(), now, asked)

    async def fire(self, fires: Sequence[Fire]) -> set[ScheduleKey]:
        """Write what was decided; returns the schedules for which it was not written."""
        if not fires:
            return set()
        try:
            lost = await self._store.schedules.fire(fires)
        except DataRefused as error:
            return await self._fire_apart(fires, error)
        now = self._clock.now()
        has_sent = False
        for fire in fires:
            if fire.row.key in lost:
                continue
            has_sent = has_sent or bool(fire.mail)
            if fire.row.next_at is None:
                self.idle.add(fire.row.key)
            self._measure(fire, now)
        if has_sent:
            self._sent()
        return lost

    async def _fire_apart(self, fires: Sequence[Fire], error: DataRefused) -> set[ScheduleKey]:
        """Write each by itself; the one that the store refuses is in error."""
        if len(fires) > 1:
            return {key for each in fires for key in await self.fire([each])}
        [fire] = fires
        log.error("schedule=%s: the store refuses its ticks: %s", fire.row.id, error)
        before = await self._store.schedules.get(*fire.row.key)
        if before is None or before.version != fire.row.version - 1:
            return {fire.row.key}
        work = _Work(before, Parsed(schedule=None), nothing(), self._clock.now())
        return await self._store.schedules.fire([work.failed("the store refuses its ticks")])

    async def _running(self, rows: Sequence[ScheduleRow]) -> dict[ScheduleKey, Running]:
        keys = [row.key for row in rows]
        with_all = [
            row.key
            for row in rows
            if (schedule := self.documents.of(row).schedule) is None or schedule.overlap != "allow"
        ]
        return await self._open.of(keys, all_of=with_all)

    async def decided(
        self,
        row: ScheduleRow,
        running: Running,
        now: datetime,
        asked: Asked | None = None,
        *,
        found: Found | None = None,
    ) -> Fire:
        """What is to do for a schedule; InvalidInput if a tick that was asked for cannot start.

        `found`: the targets that were found a moment ago.
        """
        parsed = self.documents.of(row)
        work = _Work(row, parsed, running, now)
        calendar, problem = await self._calendar(row.tenant, parsed)
        if problem is not None or parsed.schedule is None:
            return work.failed(_refused_if(asked, problem))
        schedule, is_on = parsed.schedule, row.status in ("active", "error")
        answer = due(schedule, calendar, row.handled, now, self._most) if is_on else None
        may_promote = row.status != "paused" and work.may_promote
        is_needed = asked is not None or may_promote or row.status == "error"
        target: Target | None = None
        if is_needed or (answer is not None and answer.start):
            there = await self._target(row.tenant, schedule, {} if found is None else found)
            if isinstance(there, Problem):
                return work.failed(_refused_if(asked, there))
            target = there
        if may_promote:
            await self._promote(work, target)
        if answer is not None:
            work.record(answer, calendar)
            for tick in work.not_overtaken(answer, schedule):
                await self._tick(work, target, tick.nominal, tick.at, schedule.overlap)
        if asked is not None:
            overlap = asked.overlap or schedule.overlap
            await self._tick(work, target, asked.nominal, now, overlap, mark=asked.mark)
        return work.done(schedule, calendar, answer, self._wait(row.key, work))

    def _wait(self, key: ScheduleKey, work: _Work) -> timedelta:
        """How long until its queue is looked at again: longer and longer while nothing changes.

        The process that sees an end looks at once; this is for one that has died.
        """
        if not work.queued:
            self._with_queue.pop(key, None)
            return self._queued_every
        before = self._with_queue.get(key)
        behind, queued = (*work.running[:1],), len(work.queued)
        wait = self._queued_every
        if before is not None and (before.behind, before.queued) == (behind, queued):
            wait = min(2 * before.wait, self._longest_wait)
        self._with_queue[key] = _Waiting(behind=behind, queued=queued, wait=wait)
        return wait

    async def _target(self, tenant: str, schedule: Schedule, found: Found) -> Target | Problem:
        place = (tenant, schedule.target)
        if place not in found:
            found[place] = await self._targets.find(tenant, schedule)
        return found[place]

    async def _calendar(
        self, tenant: str, parsed: Parsed
    ) -> tuple[WorkingCalendar | None, Problem | None]:
        if parsed.schedule is None:
            message = f"its document cannot be read: {parsed.problem}"
            return None, _problem("$", message, "Correct the schedule, and save it again.")
        name = parsed.schedule.calendar
        if name is None:
            return None, None
        calendars = await self._calendars.resolved(tenant)
        with suppress(KeyError):
            return calendars[name], None
        return None, _problem("$.calendar", f"there is no calendar {name}", "Make it again.")

    async def _promote(self, work: _Work, target: Target | None) -> None:
        """Start ticks that have waited, as long as nothing runs."""
        while at_end(work.running, len(work.queued)):
            tick = work.queued.pop(0)
            await self._start(work, target, tick.nominal, tick.at, tick.mark)

    async def _tick(
        self,
        work: _Work,
        target: Target | None,
        nominal: datetime,
        at: datetime,
        overlap: Overlap,
        *,
        mark: TickMark = "",
    ) -> None:
        if work.has(nominal):
            return  # a user asked for it before it was due
        decision = at_tick(overlap, work.running, len(work.queued))
        match decision:
            case Skip(reason=reason):
                work.put(nominal, at, "skipped", mark, reason=reason)
            case Queue():
                work.queue(nominal, at, mark)
            case Start():
                await self._start(work, target, nominal, at, mark)
            case CancelThenStart(cancel=ids):
                # What began before, and has ended, cancels nothing.
                there = await self._store.schedules.tick(work.row.tenant, work.row.id, nominal)
                if there is not None and there.outcome == "started":
                    return
                if await self._start(work, target, nominal, at, mark):
                    work.cancel(ids, nominal)

    async def _start(
        self, work: _Work, target: Target | None, nominal: datetime, at: datetime, mark: TickMark
    ) -> bool:
        """Start a tick, or record why it is refused; whether it is started."""
        assert target is not None  # it was found
        tenant = work.row.tenant
        input, reason = await self._targets.input_of(tenant, work.parsed, target, nominal, work.now)
        if reason is None:
            try:
                await self._usage.refuse_start(tenant)
            except QuotaExceeded as error:
                reason = error.message
        if reason is not None:
            work.put(nominal, at, "refused", mark, reason=reason)
            return False
        started = Started(
            definition_id=target.id,
            definition_version=target.deployed.version,
            input=input,
            schedule=ScheduleCause(id=work.row.id, nominal=nominal, tenant=tenant, mark=mark),
        )
        work.start(started, nominal, at, mark, is_sealed=target.deployed.plan.encrypts)
        return True

    def _measure(self, fire: Fire, now: datetime) -> None:
        for tick in fire.ticks:
            if tick.recorded_at != fire.row.last_executed and tick.outcome == "started":
                continue  # one that was started before, and was looked at
            self._meter.ticks[tick.outcome] += tick.count
            if tick.outcome == "started" and not tick.mark:
                self._meter.lateness.add(max(0.0, (now - tick.at).total_seconds()))


class _Work:
    """What one decision has found so far."""

    def __init__(self, row: ScheduleRow, parsed: Parsed, running: Running, now: datetime) -> None:
        self.row = row
        self.parsed = parsed
        self.now = now
        self.running = running.instances
        self.queued = running.queued
        self.unconfirmed = running.unconfirmed
        self._ticks: dict[tuple[datetime, bool], TickRow] = {
            (tick.nominal, tick.is_range): tick for tick in running.changed
        }
        self._mail: list[Mail] = []

    @property
    def may_promote(self) -> bool:
        """Whether a tick that has waited may be started now."""
        return at_end(self.running, len(self.queued))

    def has(self, nominal: datetime) -> bool:
        """Whether the tick of a nominal time is under way already, as far as was read."""
        tick = self._ticks.get((nominal, False))
        return (
            (tick is not None and tick.outcome == "started")
            or any(each.nominal == nominal for each in self.queued)
            or scheduled_id(self.row.tenant, self.row.id, nominal) in self.running
        )

    def failed(self, problem: str) -> Fire:
        """No tick can succeed: what is due stays so, and is answered when that has changed."""
        row = self.row
        if row.status in ("paused", "completed"):
            is_waited_for = self.queued and row.status == "completed"
            later = self.now + CONFIRM_AFTER if is_waited_for else None
            return self._with(replace(row, next_at=later), ())
        again = self.now + timedelta(seconds=min(LONGEST_REST, 2.0 ** min(row.tries, 12)))
        state = replace(
            row,
            status="error",
            problem=storable(problem),
            tries=row.tries + 1,
            next_at=None if self._is_past_its_end else again,
            next_tick=None,
        )
        return self._with(state, ())

    @property
    def _is_past_its_end(self) -> bool:
        """Whether no tick comes any more; what is due is answered when its target is saved."""
        timing = None if self.parsed.schedule is None else self.parsed.schedule.timing
        end = timing.end if isinstance(timing, Recurring) else None
        return end is not None and end < self.now and not self.queued

    def record(self, answer: Due, calendar: WorkingCalendar | None) -> None:
        """Record the ticks that are not started."""
        missed = answer.missed
        if missed is not None:
            self._put(
                TickRow(
                    tenant=self.row.tenant,
                    schedule_id=self.row.id,
                    nominal=missed.first,
                    is_range=missed.count > 1,
                    at=missed.first,
                    outcome="missed",
                    reason="it was too late",
                    count=missed.count,
                    last=missed.last if missed.count > 1 else None,
                    recorded_at=self.now,
                )
            )
        if answer.skipped and self.parsed.schedule is not None:
            self._skip(self.parsed.schedule, calendar, answer)

    def not_overtaken(self, answer: Due, schedule: Schedule) -> Sequence[Tick]:
        """The ticks that are started: not those that a later one would only cancel."""
        start = answer.start
        if schedule.overlap != "cancel-running":
            return start
        late = len(start) if answer.is_more else max(0, len(start) - 1)
        for tick in start[:late]:
            self.put(tick.nominal, tick.at, "skipped", "", reason=OVERTAKEN)
        return start[late:]

    def _skip(self, schedule: Schedule, calendar: WorkingCalendar | None, answer: Due) -> None:
        """Record ticks outside of working time: a few one by one, many together."""
        listed = (
            tick
            for tick in islice(ticks(schedule, calendar, self.row.handled), 10 * MOST_LISTED)
            if tick.skipped is not None and tick.nominal <= answer.handled
        )
        found = list(islice(listed, MOST_LISTED))
        if len(found) == answer.skipped:
            for tick in found:
                self.put(tick.nominal, tick.at, "skipped", "", reason=tick.skipped)
            return
        first = found[0].nominal if found else answer.handled
        self._put(
            TickRow(
                tenant=self.row.tenant,
                schedule_id=self.row.id,
                nominal=first,
                is_range=True,
                at=first,
                outcome="skipped",
                reason=f"outside of the working time of calendar {schedule.calendar}",
                count=answer.skipped,
                last=answer.handled,
                recorded_at=self.now,
            )
        )

    def put(
        self,
        nominal: datetime,
        at: datetime,
        outcome: TickOutcome,
        mark: TickMark,
        *,
        reason: str | None = None,
        instance_id: str | None = None,
    ) -> None:
        """Record what became of a tick."""
        self._put(
            TickRow(
                tenant=self.row.tenant,
                schedule_id=self.row.id,
                nominal=nominal,
                at=at,
                outcome=outcome,
                instance_id=instance_id,
                reason=reason,
                is_open=outcome in ("started", "queued"),
                mark=mark,
                recorded_at=self.now,
            )
        )

    def queue(self, nominal: datetime, at: datetime, mark: TickMark) -> None:
        """Let a tick wait."""
        reason = f"it waits for {self.running[0]}" if self.running else "it waits for earlier ones"
        self.put(nominal, at, "queued", mark, reason=reason)
        self.queued.append(self._ticks[nominal, False])

    def start(
        self,
        started: Started,
        nominal: datetime,
        at: datetime,
        mark: TickMark,
        *,
        is_sealed: bool,
    ) -> None:
        """Send the message that starts a tick; whether it is stored encrypted."""
        row = self.row
        id = scheduled_id(row.tenant, row.id, nominal)
        mail = Mail(
            id=start_letter(id),
            instance_id=id,
            input=_encode(ScheduledStart(started)),
            created_at=self.now,
            is_sealed=is_sealed,
        )
        self._mail.append(mail)
        self.put(nominal, at, "started", mark, instance_id=id)
        self.running.append(id)
        self.unconfirmed += 1
        self.row = replace(row, last_executed=self.now, last_nominal=nominal, last_instance_id=id)

    def cancel(self, ids: Iterable[str], nominal: datetime) -> None:
        """Cancel the instances of earlier ticks."""
        asked = CancelAsked(
            by=f"schedule:{self.row.id}", reason="a later tick of its schedule", source="API"
        )
        for id in ids:
            letter = f"cancel/{scheduled_id(self.row.tenant, self.row.id, nominal)}"
            self._mail.append(
                Mail(id=letter, instance_id=id, input=_encode(asked), created_at=self.now)
            )

    def done(
        self,
        schedule: Schedule,
        calendar: WorkingCalendar | None,
        answer: Due | None,
        queued_every: timedelta,
    ) -> Fire:
        """The new state of the schedule, with all that goes with it."""
        now, row = self.now, self.row
        if answer is None:
            # It is paused, or over: only what was started or waits is looked at.
            return self._with(replace(row, next_at=self._look(None, queued_every)), self._mail)
        following = next_start(schedule, calendar, answer.handled)
        next_tick = None if following is None else following.at
        is_over = next_tick is None and not self.queued
        next_at = self._look(next_tick, queued_every)
        if answer.is_more:
            next_at = now
        elif next_at is not None and next_at <= now:
            next_at = now + _A_SECOND  # never at once again where nothing was due
        state = replace(
            row,
            status="completed" if is_over else "active",
            handled=answer.handled,
            problem=None,
            tries=0,
            next_tick=next_tick,
            next_at=next_at,
        )
        return self._with(state, self._mail)

    def _look(self, next_tick: datetime | None, queued_every: timedelta) -> datetime | None:
        """When there is something to do again: the next tick, or a look at what is under way."""
        moments = [] if next_tick is None else [next_tick]
        if self.queued and self.row.status != "paused":
            moments.append(self.now + queued_every)
        if self.unconfirmed:
            moments.append(self.now + CONFIRM_AFTER)
        return min(moments, default=None)

    def _put(self, tick: TickRow) -> None:
        if tick.reason is not None:
            tick = replace(tick, reason=storable(tick.reason))
        before = self._ticks.get((tick.nominal, tick.is_range))
        if before is not None and before.outcome == "started" and tick.outcome != "started":
            return  # it was started: its instance is not forgotten
        self._ticks[tick.nominal, tick.is_range] = tick

    def _with(self, state: ScheduleRow, mail: Sequence[Mail]) -> Fire:
        row = replace(state, version=self.row.version + 1)
        return Fire(row=row, ticks=tuple(self._ticks.values()), mail=tuple(mail))


def storable(text: str) -> str:
    """Text that every store takes: it may quote what a user wrote."""
    return text[:1_000].replace("\0", "").encode("utf-8", "replace").decode()


def _refused_if(asked: Asked | None, problem: Problem | None) -> str:
    """Why no tick can succeed; InvalidInput where a user asked for one."""
    assert problem is not None
    if asked is not None:
        raise InvalidInput("the schedule cannot be started", [problem])
    return problem.message


def _problem(path: str, message: str, advice: str) -> Problem:
    return Problem(code="TEN-2730", path=path, message=message, advice=advice)
