"""The schedules part of an engine: the loop that fires them, and what users do with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from tenuto.calendars import WorkingCalendar
from tenuto.definition.report import did_you_mean
from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.definitions.definitions import Definitions
from tenuto.engine.schedules.callbacks import KEPT_AS, secret_of
from tenuto.engine.schedules.documents import input_problems, parse
from tenuto.engine.schedules.firing import CONFIRM_AFTER, Asked, Firing, storable
from tenuto.engine.schedules.meter import ScheduleMeter
from tenuto.engine.schedules.targets import Targets
from tenuto.engine.shared import Shared
from tenuto.engine.turns.draft import Draft
from tenuto.engine.usage import Usage
from tenuto.expr import ExpressionError
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem
from tenuto.model.family import scheduled_id
from tenuto.model.ids import start_letter
from tenuto.model.inputs import Started
from tenuto.model.json import JSON
from tenuto.model.own_names import is_callback
from tenuto.model.quotas import refuse_beyond
from tenuto.ports import Timer
from tenuto.schedules import (
    OneTime,
    Schedule,
    Tick,
    count_starts,
    latest_start,
    newest_due,
    next_start,
    preview,
)
from tenuto.schedules.documents import read_schedule, write_schedule
from tenuto.schedules.schedule import Overlap
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.schedules import Fire, ScheduleKey, ScheduleRow, TickRow

_MOST_TRIES = 20
_MOST_REASONS = 10_000
_TRIM_EVERY = 64
"""One in so many changes of a schedule deletes its oldest ticks."""
_CLOSE_AFTER = 1.0
"""Seconds until ticks are closed whose instances have ended, if nothing waits for them."""
_HELD_ELSEWHERE = 0.1
"""Seconds until schedules are looked at again that another process is about to fire."""
_PAGE = 500
_MILLISECOND = timedelta(milliseconds=1)


class Checked(Struct, frozen=True, kw_only=True):
    """The result of checking a document: its problems, and the schedule if it has no errors."""

    schedule: Schedule | None
    problems: tuple[Problem, ...]


class Schedules:
    """Fires schedules in the background, and takes what users ask for."""

    def __init__(
        self, shared: Shared, definitions: Definitions, usage: Usage, *, sent: Callable[[], None]
    ) -> None:
        """`sent` is called when there are new messages in the mailbox."""
        self._shared = shared
        self._store = shared.store
        self._clock = shared.clock
        self._settings = shared.settings
        self._calendars: Calendars = definitions.calendars
        self.meter = ScheduleMeter()
        self._targets = Targets(shared, definitions)
        self._firing = Firing(
            shared,
            calendars=definitions.calendars,
            targets=self._targets,
            usage=usage,
            meter=self.meter,
            reason=self._reason_of,
            sent=sent,
        )
        definitions.plans.saved = self.saved_workflow
        self._hint = asyncio.Event()
        definitions.calendars.changed = self._hint.set
        self._hinted: set[ScheduleKey] = set()
        """Schedules that are looked at with the next pass, due or not."""
        self._ended: set[tuple[ScheduleKey, datetime]] = set()
        """Ticks whose instances have ended."""
        self._reasons: dict[str, str] = {}
        """Why starts were refused, by instance: the newest ones."""
        self._saved: set[tuple[str, str]] = set()
        """Workflows that were saved, for which schedules may wait."""
        self._closing: Timer | None = None
        self._secret: bytes | None = None

    # -- in the background

    def start(self) -> None:
        """Begin to fire."""
        self._shared.loops.run("schedules", self.run_once, hint=self._hint)

    def hint(self) -> None:
        """There may be something to do."""
        self._hint.set()

    def concluded(self, draft: Draft) -> None:
        """An instance has ended, or a start was refused."""
        state = draft.state
        if draft.refused_start is not None:
            self._refused(draft)
        elif (
            state.schedule is not None
            and state.status.is_final
            and not draft.before.status.is_final
        ):
            key = ScheduleKey(draft.held.tenant, state.schedule.id)
            self._ended.add((key, state.schedule.nominal))
            if self._firing.may_have_queue(key):
                self._hinted.add(key)
                self._hint.set()
            elif self._closing is None:
                self._closing = self._clock.call_later(_CLOSE_AFTER, self._close)

    def saved_workflow(self, tenant: str, workflow_id: str) -> None:
        """A workflow was saved: schedules in error that start it are looked at at once."""
        self._saved.add((tenant, workflow_id))
        self._hint.set()

    async def run_once(self) -> float:
        """Do what is to do now; returns the seconds until there is more."""
        self.meter.passes += 1
        await self._close_ended()
        await self._look_at_saved()
        now = self._clock.now()
        most = self._settings.bounds.schedules
        due = await self._store.schedules.due(now, most)
        hinted, self._hinted = self._hinted, set()
        try:
            others = await self._store.schedules.those(hinted - {row.key for row in due})
            for first in range(0, len(rows := [*due, *others]), most):
                page = rows[first : first + most]
                lost = await self._firing.advance(page, now)
                # Who fired them may have looked before the end that this process has seen.
                self._hinted |= lost & hinted
                await self._trim([row for row in page if row.key not in lost])
        except BaseException:
            self._hinted |= hinted
            raise
        if len(due) >= most:
            return 0.0
        seconds = await self._until_next()
        return min(seconds, _HELD_ELSEWHERE) if self._hinted else seconds

    async def _until_next(self) -> float:
        next_due = await self._store.schedules.next_due()
        if next_due is None:
            return self._settings.longest_nap
        seconds = (next_due - self._clock.now()).total_seconds()
        if seconds <= 0:
            return _HELD_ELSEWHERE if self._store.is_shared else 0.0
        return min(self._settings.longest_nap, seconds)

    async def _close_ended(self) -> None:
        ended = sorted(self._ended)
        for first in range(0, len(ended), _PAGE):
            page = ended[first : first + _PAGE]
            await self._store.schedules.close(page)
            await self._look_at_queues({key for key, _ in page} - self._hinted)
            self._ended.difference_update(page)

    async def _look_at_queues(self, keys: set[ScheduleKey]) -> None:
        """Look at schedules whose ticks wait, as another process has decided."""
        if not self._store.is_shared:
            return
        for key, ticks in (await self._store.schedules.open_ticks(keys, _PAGE)).items():
            if any(each.outcome == "queued" for each in ticks):
                self._hinted.add(key)

    async def _look_at_saved(self) -> None:
        """Look at schedules in error whose workflows were saved."""
        while self._saved:
            tenant, workflow_id = min(self._saved)
            after = ""
            while True:
                page = await self._store.schedules.page(
                    tenant, workflow_id=workflow_id, status="error", after=after, limit=_PAGE
                )
                self._hinted |= {row.key for row in page}
                if len(page) < _PAGE:
                    break
                after = page[-1].id
            self._saved.discard((tenant, workflow_id))

    async def _trim(self, rows: Sequence[ScheduleRow]) -> None:
        idle, self._firing.idle = self._firing.idle, set()
        for key in sorted(idle | {row.key for row in rows if row.version % _TRIM_EVERY == 0}):
            await self._store.schedules.trim(key, self._settings.bounds.schedule_ticks)

    def _close(self) -> None:
        self._closing = None
        self._hint.set()

    def _reason_of(self, instance_id: str) -> str | None:
        return self._reasons.get(instance_id)

    def _refused(self, draft: Draft) -> None:
        assert draft.refused_start is not None
        for request in draft.requests:
            started = request.input
            if isinstance(started, Started) and started.schedule is not UNSET:
                cause = started.schedule
                self._reasons[draft.instance_id] = draft.refused_start.message
                if len(self._reasons) > _MOST_REASONS:
                    del self._reasons[next(iter(self._reasons))]
                self._hinted.add(ScheduleKey(cause.tenant, cause.id))
                self._hint.set()

    # -- for users

    async def check(self, tenant: str, document: JSON, *, id: str | None = None) -> Checked:
        """Read a document with all its problems; `id`: that of one that names none."""
        now = self._clock.now()
        calendars = await self._calendars.resolved(tenant)
        read = read_schedule(document, calendars, now, fallback_id=id or "schedule")
        if read.schedule is None:
            return Checked(schedule=None, problems=read.problems)
        schedule = read.schedule
        problems = [
            *read.problems,
            *input_problems(schedule),
            *self._targets.problems(tenant, schedule),
        ]
        if not any(each.severity == "error" for each in problems):
            problems += await self._target_problems(tenant, schedule, now)
        is_sound = not any(each.severity == "error" for each in problems)
        return Checked(schedule=schedule if is_sound else None, problems=tuple(problems))

    async def _target_problems(
        self, tenant: str, schedule: Schedule, now: datetime
    ) -> list[Problem]:
        target = await self._targets.find(tenant, schedule)
        if isinstance(target, Problem):
            return [target]
        parsed = parse(_row(tenant, schedule, now))
        if parsed.schedule is None:
            message = parsed.problem or "it cannot be read again"
            return [Problem(code="TEN-2725", path="$", message=message, advice="Correct it.")]
        first = next_start(schedule, None, now)
        try:
            input = parsed.input_at(now if first is None else first.nominal)
        except ExpressionError as error:
            advice = "Templates of the input see `schedule`: id, nominal, previous and next."
            return [Problem(code="TEN-1031", path="$.input", message=str(error), advice=advice)]
        if is_callback(target.id):
            return []
        return [
            msgspec.structs.replace(each, path=f"$.input{each.path.removeprefix('$')}")
            for each in await self._targets.misfits(tenant, target, input)
        ]

    async def save(
        self,
        tenant: str,
        document: JSON,
        *,
        by: str | None,
        id: str | None = None,
        only_after: int | None = None,
        is_new: bool = False,
    ) -> ScheduleRow:
        """Save a schedule; unchanged content changes nothing.

        One that a workflow function owns stays its own, also if the document does not say so.

        InvalidInput with all problems. Conflict where `is_new` and there is one, or unless
        `only_after` is its revision (0: there is none). QuotaExceeded.
        """
        checked = await self.check(tenant, document, id=id)
        if checked.schedule is None:
            errors = [each for each in checked.problems if each.severity == "error"]
            raise InvalidInput("the schedule cannot be saved", errors)
        schedule = checked.schedule
        for _ in range(_MOST_TRIES):
            row = await self._store.schedules.get(tenant, schedule.id)
            if is_new and row is not None:
                raise Conflict(f"there is a schedule {schedule.id}", code="TEN-3081")
            self._refuse_unless(schedule.id, 0 if row is None else row.revision, only_after)
            if row is None:
                most = self._settings.quotas.schedules
                used = await self._store.schedules.stored(tenant, most)
                refuse_beyond("schedules", used, most)
            else:
                schedule = self._owned(schedule, row)
            content = msgspec.json.encode(write_schedule(schedule), order="deterministic")
            if row is not None:
                if row.content == content:
                    return row
                row = await self._answered(await self._advanced(row), schedule)
            saved = await self._saved_row(tenant, schedule, content, row, by)
            if await self._store.schedules.save(saved):
                self._hint.set()
                return saved
        raise _busy(schedule.id)

    def _owned(self, schedule: Schedule, row: ScheduleRow) -> Schedule:
        """The schedule with the workflow function that owns the saved one."""
        there = self._firing.documents.of(row).schedule
        if schedule.definition is not None or there is None:
            return schedule
        return replace(schedule, definition=there.definition)

    async def _saved_row(
        self,
        tenant: str,
        schedule: Schedule,
        content: bytes,
        row: ScheduleRow | None,
        by: str | None,
    ) -> ScheduleRow:
        now = self._clock.now()
        calendar = await self._calendar(tenant, schedule)
        before = None if row is None else self._firing.documents.of(row).schedule
        if row is not None and before is not None and _times(before) == _times(schedule):
            handled = row.handled
        elif isinstance(schedule.timing, OneTime):
            handled = min(now, schedule.timing.at - _MILLISECOND)
        else:
            # A tick that the calendar moves before now, when there was no such schedule, is none.
            handled = max(now, newest_due(schedule, calendar, now) or now)
        following = next_start(schedule, calendar, handled)
        made = ScheduleRow(
            tenant=tenant,
            id=schedule.id,
            content=content,
            revision=1,
            version=1,
            status="active",
            next_at=None if following is None else following.at,
            next_tick=None if following is None else following.at,
            handled=handled,
            workflow_id=self._targets.workflow_id(schedule),
            calendar_id=schedule.calendar,
            created_at=now,
            created_by=by,
            changed_at=now,
            changed_by=by,
        )
        if row is None:
            return made
        # Soon: what is under way, and what waits, is looked at by the new rules.
        is_paused = row.status == "paused"
        return replace(
            made,
            revision=row.revision + 1,
            version=row.version + 1,
            status="paused" if is_paused else "active",
            note=row.note,
            next_at=now + CONFIRM_AFTER if is_paused else now,
            next_tick=None if is_paused else made.next_tick,
            last_executed=row.last_executed,
            last_nominal=row.last_nominal,
            last_instance_id=row.last_instance_id,
            created_at=row.created_at,
            created_by=row.created_by,
        )

    async def get(self, tenant: str, id: str) -> ScheduleRow:
        """A schedule; NotFound."""
        found = await self._store.schedules.get(tenant, id)
        if found is None:
            names = [each.id for each in await self._store.schedules.page(tenant, limit=_PAGE)]
            advice = did_you_mean(id, names, "`tenuto schedules list` shows the schedules.")
            raise NotFound(f"there is no schedule {id}", code="TEN-3080", advice=advice)
        return found

    async def pause(
        self,
        tenant: str,
        id: str,
        *,
        by: str | None,
        note: str | None = None,
        only_after: int | None = None,
    ) -> ScheduleRow:
        """Start no more ticks until it is resumed; NotFound."""

        def paused(row: ScheduleRow) -> Fire | None:
            if row.status in ("paused", "completed"):
                return None
            now = self._clock.now()
            return Fire(
                row=replace(
                    row,
                    status="paused",
                    note=None if note is None else storable(note),
                    problem=None,
                    tries=0,
                    next_tick=None,
                    next_at=now + CONFIRM_AFTER,
                    changed_at=now,
                    changed_by=by,
                )
            )

        return await self._change(tenant, id, paused, only_after)

    async def resume(
        self, tenant: str, id: str, *, by: str | None, only_after: int | None = None
    ) -> ScheduleRow:
        """Go on; ticks of the time in which it was paused are skipped. NotFound."""
        calendars = await self._calendars.resolved(tenant)
        started = await self._started(tenant, id)

        def resumed(row: ScheduleRow) -> Fire | None:
            if row.status != "paused":
                return None
            now = self._clock.now()
            schedule = self._firing.documents.of(row).schedule
            ticks: tuple[TickRow, ...] = ()
            handled, next_tick = row.handled, None
            is_there = schedule is not None and (
                schedule.calendar is None or schedule.calendar in calendars
            )
            if schedule is not None and is_there:
                calendar = None if schedule.calendar is None else calendars[schedule.calendar]
                handled = max(handled, newest_due(schedule, calendar, now) or handled)
                ticks = _skipped(row, schedule, calendar, handled, now, started=started)
                following = next_start(schedule, calendar, handled)
                next_tick = None if following is None else following.at
            state = replace(
                row,
                status="active",
                note=None,
                handled=handled,
                next_tick=next_tick,
                next_at=now,
                changed_at=now,
                changed_by=by,
            )
            return Fire(row=state, ticks=ticks)

        return await self._change(tenant, id, resumed, only_after)

    async def remove(self, tenant: str, id: str) -> None:
        """Remove a schedule and its ticks; NotFound. Its instances stay."""
        await self.get(tenant, id)
        await self._store.schedules.remove(tenant, id)

    async def trigger(
        self, tenant: str, id: str, *, by: str | None = None, at: datetime | None = None
    ) -> TickRow:
        """A tick now, or the tick of the nominal time `at`; NotFound.

        What runs already counts as at every tick. InvalidInput if the target does not exist. A tick
        that was started, or waits, is returned as it is.
        """
        _ = by  # who asks is in the audit log
        nominal = self._clock.now() if at is None else at
        if at is None and not nominal.microsecond:
            nominal += _MILLISECOND  # a moment that no expression names
        return await self._tick(tenant, id, Asked(nominal=nominal, mark="manual"))

    async def backfill_tick(
        self, tenant: str, id: str, nominal: datetime, *, overlap: Overlap | None = None
    ) -> TickRow:
        """The tick of a nominal time, which was missed or skipped; NotFound.

        One that was started, or waits, is returned as it is. What runs already does not count,
        unless `overlap` says so.
        """
        asked = Asked(nominal=nominal, mark="backfill", overlap=overlap or "allow")
        return await self._tick(tenant, id, asked)

    async def nominal_times(
        self, tenant: str, id: str, start: datetime, end: datetime, limit: int
    ) -> list[datetime]:
        """The first nominal times from `start` to `end` that are not skipped; NotFound."""
        schedule = self._sound(await self.get(tenant, id))
        calendar = await self._calendar(tenant, schedule)
        found: list[datetime] = []
        after = start - _MILLISECOND
        while len(found) < limit:
            tick = next_start(schedule, calendar, after)
            if tick is None or tick.nominal > end:
                break
            found.append(tick.nominal)
            after = tick.nominal
        return found

    async def running(self, tenant: str, id: str, nominals: Collection[datetime]) -> set[datetime]:
        """Those of these ticks whose instances are to be started, or have not ended."""
        ids = {scheduled_id(tenant, id, nominal): nominal for nominal in nominals}
        if not ids:
            return set()
        letters = [MailKey(start_letter(each), each) for each in sorted(ids)]
        starting = {key.instance_id for key in await self._store.mailbox.waiting(letters)}
        query = InstanceQuery(ids=tuple(sorted(ids)), tenant=tenant, limit=len(ids))
        rows = (await self._store.instances.page(query)).items
        over = {row.id for row in rows if row.status.is_final}
        return {ids[each] for each in (starting | {row.id for row in rows}) - over}

    async def preview(
        self, tenant: str, schedule: Schedule, *, since: datetime | None = None, count: int = 10
    ) -> tuple[Tick, ...]:
        """The next ticks of a schedule after a moment, with the reason for each skip."""
        calendar = await self._calendar(tenant, schedule)
        return preview(schedule, calendar, self._clock.now() if since is None else since, count)

    async def removed_workflow(self, tenant: str, workflow_id: str) -> int:
        """A workflow was hidden: its schedules stop until it is saved again. Returns how many."""
        stopped = 0
        after = ""
        while True:
            page = await self._store.schedules.page(
                tenant, workflow_id=workflow_id, after=after, limit=_PAGE
            )
            now = self._clock.now()
            fires = [
                Fire(
                    row=replace(
                        row,
                        version=row.version + 1,
                        status="error",
                        problem=f"there is no workflow {workflow_id}",
                        tries=row.tries + 1,
                        next_tick=None,
                        next_at=now + timedelta(seconds=60),
                    )
                )
                for row in page
                if row.status in ("active", "error")
            ]
            if fires:
                # One that a process has just fired finds out with its next tick.
                await self._store.schedules.fire(fires)
            stopped += len(fires)
            if len(page) < _PAGE:
                return stopped
            after = page[-1].id

    async def callback_secret(self, tenant: str) -> str:
        """The secret that signs the callbacks of a tenant's schedules, as webhooks are signed."""
        if self._secret is None:
            ids = self._shared.ids
            proposed = "".join(ids.short() for _ in range(4)).encode()
            self._secret = await self._store.access.keep_secret(KEPT_AS, proposed)
        return secret_of(self._secret, tenant)

    # -- changes

    async def _tick(self, tenant: str, id: str, asked: Asked) -> TickRow:
        for _ in range(_MOST_TRIES):
            row = await self.get(tenant, id)
            there = await self._store.schedules.tick(tenant, id, asked.nominal)
            if there is not None and there.outcome in ("started", "queued"):
                return there
            self._sound(row)
            fire = await self._firing.one(row, asked, self._clock.now())
            if not await self._firing.fire([fire]):
                self._hint.set()
                await self._trim([row])
                return next(
                    each
                    for each in fire.ticks
                    if each.nominal == asked.nominal and not each.is_range
                )
        raise _busy(id)

    async def _change(
        self,
        tenant: str,
        id: str,
        change: Callable[[ScheduleRow], Fire | None],
        only_after: int | None,
    ) -> ScheduleRow:
        """Answer what is due, and then change a schedule."""
        for _ in range(_MOST_TRIES):
            row = await self.get(tenant, id)
            self._refuse_unless(id, row.revision, only_after)
            row = await self._advanced(row)
            fire = change(row)
            if fire is None:
                return row
            state = replace(fire.row, version=row.version + 1, revision=row.revision + 1)
            if not await self._store.schedules.fire([replace(fire, row=state)]):
                self._hint.set()
                return state
        raise _busy(id)

    async def _advanced(self, row: ScheduleRow) -> ScheduleRow:
        """A schedule after what was due: a change is about what comes after it."""
        now = self._clock.now()
        if row.next_at is not None and row.next_at <= now and row.status == "active":
            await self._firing.advance([row], now)
            return await self.get(row.tenant, row.id)
        return row

    async def _answered(self, row: ScheduleRow, schedule: Schedule) -> ScheduleRow:
        """A schedule after the ticks that pause or error kept back, if its times change now."""
        before = self._firing.documents.of(row).schedule
        if row.status not in ("paused", "error") or before is None:
            return row
        if _times(before) == _times(schedule):
            return row
        calendars = await self._calendars.resolved(row.tenant)
        if before.calendar is not None and before.calendar not in calendars:
            return row
        calendar = None if before.calendar is None else calendars[before.calendar]
        now = self._clock.now()
        handled = max(row.handled, newest_due(before, calendar, now) or row.handled)
        started = await self._started(row.tenant, row.id)
        ticks = _skipped(row, before, calendar, handled, now, started=started)
        if not ticks:
            return row
        state = replace(row, version=row.version + 1, handled=handled)
        lost = await self._store.schedules.fire([Fire(row=state, ticks=ticks)])
        return row if lost else state  # of an older version, which is not saved

    async def _started(self, tenant: str, id: str) -> set[datetime]:
        """The newest nominal times that were started, perhaps while it was paused."""
        ticks = await self._store.schedules.ticks(tenant, id, _PAGE)
        return {each.nominal for each in ticks if each.outcome == "started"}

    async def _calendar(self, tenant: str, schedule: Schedule) -> WorkingCalendar | None:
        if schedule.calendar is None:
            return None
        calendars = await self._calendars.resolved(tenant)
        if schedule.calendar not in calendars:
            problem = Problem(
                code="TEN-2726",
                path="$.calendar",
                message=f"there is no calendar {schedule.calendar}",
                advice="Make the calendar first.",
            )
            raise InvalidInput("the schedule has no calendar", [problem])
        return calendars[schedule.calendar]

    def _sound(self, row: ScheduleRow) -> Schedule:
        parsed = self._firing.documents.of(row)
        if parsed.schedule is None:
            problem = Problem(
                code="TEN-2730",
                path="$",
                message=parsed.problem or "it cannot be read",
                advice="Correct the schedule, and save it again.",
            )
            raise InvalidInput("the schedule cannot be read", [problem])
        return parsed.schedule

    def _refuse_unless(self, id: str, revision: int, only_after: int | None) -> None:
        if only_after is not None and only_after != revision:
            raise Conflict(f"the revision of schedule {id} is {revision}", code="TEN-3082")


def _times(schedule: Schedule) -> tuple[object, ...]:
    """What the times of a schedule follow from."""
    return (schedule.timing, schedule.calendar, schedule.on_non_working, schedule.jitter)


def _skipped(
    row: ScheduleRow,
    schedule: Schedule,
    calendar: WorkingCalendar | None,
    until: datetime,
    now: datetime,
    *,
    started: Collection[datetime],
) -> tuple[TickRow, ...]:
    """The ticks of the time in which a schedule was paused, or in error, without those started."""
    apart = {each for each in started if row.handled < each <= until}
    apart = {each for each in apart if _is_start(schedule, calendar, each)}
    count = count_starts(schedule, calendar, row.handled, until) - len(apart)
    first = next_start(schedule, calendar, row.handled)
    while first is not None and first.nominal in apart:
        first = next_start(schedule, calendar, first.nominal)
    last = latest_start(schedule, calendar, until)
    if count < 1 or first is None or last is None:
        return ()
    why, said = ("in error", row.problem) if row.status == "error" else ("paused", row.note)
    reason = why if said is None else f"{why}: {said}"
    return (
        TickRow(
            tenant=row.tenant,
            schedule_id=row.id,
            nominal=first.nominal,
            is_range=count > 1,
            at=first.at,
            outcome="skipped",
            reason=storable(reason),
            count=count,
            last=last.nominal if count > 1 else None,
            recorded_at=now,
        ),
    )


def _is_start(schedule: Schedule, calendar: WorkingCalendar | None, moment: datetime) -> bool:
    """Whether a time is one of those at which a schedule starts: a trigger may name another."""
    found = next_start(schedule, calendar, moment - _MILLISECOND)
    return found is not None and found.nominal == moment


def _row(tenant: str, schedule: Schedule, now: datetime) -> ScheduleRow:
    """A row with the document of a schedule alone."""
    return ScheduleRow(
        tenant=tenant,
        id=schedule.id,
        content=msgspec.json.encode(write_schedule(schedule)),
        revision=0,
        version=0,
        status="active",
        next_at=None,
        next_tick=None,
        handled=now,
        workflow_id=None,
        calendar_id=None,
        created_at=now,
        changed_at=now,
    )


def _busy(id: str) -> Conflict:
    return Conflict(f"schedule {id} is changed by others all the time", code="TEN-3082")
