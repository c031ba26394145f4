"""Ticks that a pause or an error kept back: they are skipped, and recorded as one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from tenuto.calendars import WorkingCalendar
from tenuto.engine.schedules.work import storable
from tenuto.schedules import Schedule, count_starts, latest_start, next_start
from tenuto.store.parts.schedules import ScheduleRow, TickRow

_MILLISECOND = timedelta(milliseconds=1)


def kept_back(
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
    last = latest_start(schedule, calendar, until, since=row.handled)
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
