"""What one decision about a schedule finds: its new state, its ticks and its messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice

import msgspec
from msgspec.structs import replace

from tenuto.calendars import WorkingCalendar
from tenuto.engine.schedules.documents import Parsed, TickInput
from tenuto.engine.schedules.open_ticks import Running
from tenuto.engine.turns.requests import ScheduledStart
from tenuto.model.durations import iso
from tenuto.model.family import scheduled_id
from tenuto.model.ids import start_letter
from tenuto.model.inputs import CancelAsked, Started
from tenuto.schedules import Due, Recurring, Schedule, Tick, Unsearched, at_end, find_start, ticks
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.schedules import Fire, ScheduleRow, TickMark, TickOutcome, TickRow

CONFIRM_AFTER = timedelta(seconds=60)
"""So long after a start it is checked whether the instance was started."""
LONGEST_REST = 3_600.0
"""The most seconds until a schedule in error is looked at again."""
MOST_LISTED = 10
"""The most skipped ticks in a row that are recorded one by one."""
OVERTAKEN = "a later tick is due, too"
_A_SECOND = timedelta(seconds=1)
_encode = msgspec.json.Encoder().encode


class Work:
    """What one decision has found so far."""

    def __init__(self, row: ScheduleRow, parsed: Parsed, running: Running, now: datetime) -> None:
        self.row = row
        self.parsed = parsed
        self.input: TickInput | None = None
        """That of its ticks, once one may be started."""
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
        return self._with(state, self._mail)

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
        following = find_start(schedule, calendar, answer.handled)
        if isinstance(following, Unsearched):
            # It may start something once that has passed, or the calendar is another one.
            until, name = iso(following.until), schedule.calendar
            self.row = replace(row, handled=answer.handled)
            return self.failed(f"the calendar {name} skips all its times until {until}")
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
