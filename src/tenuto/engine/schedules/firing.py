"""Advances schedules: decides what becomes of the ticks that are due, and writes it at once.

The state of a schedule, its ticks and the messages that start instances go into one transaction,
which goes through only from the version of the schedule that was read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from tenuto.calendars import WorkingCalendar
from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.engine.schedules.documents import Parsed, ScheduleDocuments
from tenuto.engine.schedules.meter import ScheduleMeter
from tenuto.engine.schedules.open_ticks import OpenTicks, Running, nothing
from tenuto.engine.schedules.targets import Target, Targets
from tenuto.engine.schedules.work import Work
from tenuto.engine.shared import Shared
from tenuto.engine.usage import Usage
from tenuto.expr import ExpressionSyntaxError
from tenuto.model.errors import InvalidInput, Problem, StoreUnavailable
from tenuto.model.inputs import ScheduleCause, Started
from tenuto.model.quotas import QuotaExceeded
from tenuto.schedules import (
    Bounds,
    CancelThenStart,
    Queue,
    Schedule,
    Skip,
    Start,
    at_end,
    at_tick,
    due,
)
from tenuto.schedules.schedule import Overlap, Target as ScheduleTarget
from tenuto.store.errors import DataRefused
from tenuto.store.parts.schedules import (
    Fire,
    ScheduleKey,
    ScheduleRow,
    TickMark,
)

log = logging.getLogger("tenuto.schedules")

MOST_STARTS = 1_000
"""About the most starts of one transaction."""
MOST_BYTES = 2_000_000
"""About the most bytes of inputs of one transaction."""
_PART_SECONDS = 0.005
"""After so long a pass lets others go on."""
_LONGEST_REST = 0.02
"""Seconds between two parts of a pass over schedules of one tenant, while others are at work."""
_COMPILED_FOR = 0.5
"""After so many seconds of a pass the other inputs that are not compiled wait for the next one."""
_WRITTEN_AFTER = 0.1
"""Seconds for which what is decided waits for other decisions to be written with it."""

_CORRECT = "Correct the schedule, and save it again."


class Undone(NamedTuple):
    """Schedules of a pass for which nothing was written."""

    lost: set[ScheduleKey]
    """Another has changed them."""
    slow: set[ScheduleKey]
    """Their inputs are not compiled yet, which takes long: they stay due."""


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
        values: LargeDocuments,
        sent: Callable[[], None],
    ) -> None:
        """`reason`: why the start of an instance was refused. `sent`: there are new messages.

        `values`: the thread in which long expressions of inputs are compiled.
        """
        self._store = shared.store
        self._clock = shared.clock
        self._sharing = shared.sharing
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
        self.documents = ScheduleDocuments(values)
        self._open = OpenTicks(shared.store, reason)
        self._with_queue: dict[ScheduleKey, _Waiting] = {}
        """Schedules that had ticks in their queues when this process fired them last."""
        self.idle: set[ScheduleKey] = set()
        """Schedules for which there is nothing more to do, of those that were fired."""

    def may_have_queue(self, key: ScheduleKey) -> bool:
        """Whether ticks of a schedule may wait for an instance to end."""
        overlap = self.documents.overlap_of(key)
        return overlap is None or overlap == "queue" or key in self._with_queue

    async def advance(self, rows: Sequence[ScheduleRow], now: datetime) -> Undone:
        """Do what is to do for schedules at `now`; returns those for which it was not done."""
        lost: set[ScheduleKey] = set()
        left: set[ScheduleKey] = set()
        fires: list[Fire] = []
        starts = size = 0
        running = await self._running(rows)
        found: Found = {}
        # The ticks of all tenants of a pass would wait for a rest.
        rests = len({row.tenant for row in rows}) == 1
        began = begun = first = self._clock.ticks()
        # One after the other: those that wait for nothing come first.
        slow = [row for row in rows if not self.documents.has_input(row)]
        names = {row.key for row in slow}
        quick = [row for row in rows if row.key not in names]
        for number, row in enumerate([*quick, *slow]):
            if number > len(quick) and self._clock.ticks() - begun >= _COMPILED_FOR:
                left = {each.key for each in slow[number - len(quick) :]}
                break
            if number == len(quick):
                # What is decided does not wait for the first of them, which may take a second.
                lost |= await self.fire(fires)
                fires, starts, size = [], 0, 0
                begun = first = self._clock.ticks()
            here = running.get(row.key) or nothing()
            try:
                fire = await self.decided(row, here, now, found=found)
            except StoreUnavailable:
                raise
            except Exception as error:  # one faulty schedule must not stop the others
                log.exception("schedule=%s cannot be advanced", row.id)
                fire = Work(row, Parsed(schedule=None), nothing(), now).failed(
                    f"{type(error).__name__}: {error}"
                )
            fires.append(fire)
            starts += len(fire.mail)
            size += sum(len(each.input) for each in fire.mail)
            is_old = self._clock.ticks() - first >= _WRITTEN_AFTER
            if is_old or starts >= MOST_STARTS or size >= MOST_BYTES:
                lost |= await self.fire(fires)
                fires, starts, size = [], 0, 0
                first = self._clock.ticks()
            began = await self._let_go_on(row.tenant if rests else None, began)
        return Undone(lost | await self.fire(fires), left)

    async def _let_go_on(self, tenant: str | None, began: float) -> float:
        """Let others go on after some decisions: inputs of hundreds of schedules may be costly.

        `tenant`: the one whose schedules all are; None: no rest. Returns when the part of the pass
        began that is under way.
        """
        took = self._clock.ticks() - began
        if took < _PART_SECONDS:
            return began
        rest = 0.0
        if tenant is not None:
            rest = self._sharing.rest_after(took, tenant, _LONGEST_REST, is_in_loop=True)
        await self._clock.sleep(rest)
        return self._clock.ticks()

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
        except StoreUnavailable:
            if any(fire.mail for fire in fires):
                self._sent()  # the answer alone may be lost, and none else looks for them
            raise
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
        work = Work(before, Parsed(schedule=None), nothing(), self._clock.now())
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
        work = Work(row, parsed, running, now)
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
            try:
                work.input = await self.documents.input_of(row, schedule)
            except ExpressionSyntaxError as error:
                message = f"its document cannot be read: its input: {error}"
                return work.failed(_refused_if(asked, _problem("$", message, _CORRECT)))
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

    def _wait(self, key: ScheduleKey, work: Work) -> timedelta:
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
            return None, _problem("$", message, _CORRECT)
        name = parsed.schedule.calendar
        if name is None:
            return None, None
        calendars = await self._calendars.resolved(tenant)
        with suppress(KeyError):
            return calendars[name], None
        return None, _problem("$.calendar", f"there is no calendar {name}", "Make it again.")

    async def _promote(self, work: Work, target: Target | None) -> None:
        """Start ticks that have waited, as long as nothing runs."""
        while at_end(work.running, len(work.queued)):
            tick = work.queued.pop(0)
            await self._start(work, target, tick.nominal, tick.at, tick.mark)

    async def _tick(
        self,
        work: Work,
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
        self, work: Work, target: Target | None, nominal: datetime, at: datetime, mark: TickMark
    ) -> bool:
        """Start a tick, or record why it is refused; whether it is started."""
        assert target is not None  # it was found
        assert work.input is not None  # with it
        tenant = work.row.tenant
        input, reason = await self._targets.input_of(tenant, work.input, target, nominal, work.now)
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


def _refused_if(asked: Asked | None, problem: Problem | None) -> str:
    """Why no tick can succeed; InvalidInput where a user asked for one."""
    assert problem is not None
    if asked is not None:
        raise InvalidInput("the schedule cannot be started", [problem])
    return problem.message


def _problem(path: str, message: str, advice: str) -> Problem:
    return Problem(code="TEN-2730", path=path, message=message, advice=advice)
