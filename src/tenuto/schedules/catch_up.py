"""What is done with the ticks that are due: which are started, and which were missed.

A pure function of the schedule, the last nominal time that was handled, and the present. It lists
what is started and counts everything else, so that ten years of minutes cost little more than one.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from tenuto.calendars import WorkingCalendar
from tenuto.schedules import nominal
from tenuto.schedules.schedule import Schedule
from tenuto.schedules.ticks import (
    Tick,
    count_starts,
    latest_start,
    newest_due,
    next_start,
    tick_at,
)

ON_TIME = timedelta(seconds=10)
"""A tick that is not later than this is on time: it is started, whatever the catch-up mode."""
MOST_STARTED = 1_000
"""The most ticks of one answer; the following one continues after them."""
_MILLISECOND = timedelta(milliseconds=1)


class MissedTicks(Struct, frozen=True, kw_only=True):
    """Ticks that are not started because they are too late."""

    count: int
    first: datetime
    last: datetime
    """Their first and their last nominal time."""


class Due(Struct, frozen=True, kw_only=True):
    """The ticks that are due at a moment."""

    start: tuple[Tick, ...]
    """In order."""
    missed: MissedTicks | None
    """They are all before those that are started."""
    skipped: int
    """How many were not in working time."""
    handled: datetime
    """The nominal time up to which everything is answered; the following answer begins after it."""
    is_more: bool = False
    """Whether more are due now."""


class Bounds(Struct, frozen=True, kw_only=True):
    """What counts as late, and how many are started at once."""

    on_time: timedelta = ON_TIME
    most: int = MOST_STARTED


DEFAULT_BOUNDS = Bounds()


def due(
    schedule: Schedule,
    calendar: WorkingCalendar | None,
    handled: datetime,
    now: datetime,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Due:
    """What becomes of the ticks after the nominal time `handled` that are due at `now`.

    Those on time are started. Of late ones, `all` starts each that is not older than the window,
    `one` the newest of these if nothing is on time, and `none` starts none.
    """
    newest = newest_due(schedule, calendar, now)
    if newest is None or newest <= handled:
        return Due(start=(), missed=None, skipped=0, handled=handled)
    if (alone := _alone(schedule, calendar, handled, newest)) is not None:
        if alone.skipped is not None:
            return Due(start=(), missed=None, skipped=1, handled=newest)
        if alone.at >= now - bounds.on_time:
            return Due(start=(alone,), missed=None, skipped=0, handled=newest)
    catch_up = schedule.catch_up
    late = bounds.on_time if catch_up.mode != "all" else max(catch_up.window, bounds.on_time)
    too_late = newest_due(schedule, calendar, now - late - _MILLISECOND)
    after = handled if too_late is None else max(handled, too_late)
    start = _starts(schedule, calendar, after, newest, bounds.most)
    if not start and catch_up.mode == "one":
        last = latest_start(schedule, calendar, newest, since=handled)
        if last is not None and last.at >= now - catch_up.window:
            start = (last,)
    is_more = len(start) == bounds.most and start[-1].nominal < newest
    until = start[-1].nominal if is_more else newest
    possible = count_starts(schedule, calendar, handled, until)
    before_start = start[0].nominal - _MILLISECOND if start else newest
    return Due(
        start=start,
        missed=_missed(schedule, calendar, handled, before_start, possible - len(start)),
        skipped=nominal.count(schedule.timing, handled, until) - possible,
        handled=until,
        is_more=is_more,
    )


def _alone(
    schedule: Schedule, calendar: WorkingCalendar | None, handled: datetime, newest: datetime
) -> Tick | None:
    """The tick of `newest`, if it is the only one that is due: so it is while nothing is late."""
    first = next(nominal.after(schedule.timing, handled), None)
    return tick_at(schedule, calendar, newest) if first == newest else None


def _starts(
    schedule: Schedule,
    calendar: WorkingCalendar | None,
    after: datetime,
    until: datetime,
    most: int,
) -> tuple[Tick, ...]:
    found: list[Tick] = []
    while len(found) < most:
        tick = next_start(schedule, calendar, after)
        if tick is None or tick.nominal > until:
            break
        found.append(tick)
        after = tick.nominal
    return tuple(found)


def _missed(
    schedule: Schedule,
    calendar: WorkingCalendar | None,
    after: datetime,
    until: datetime,
    count: int,
) -> MissedTicks | None:
    if not count:
        return None
    first = next_start(schedule, calendar, after)
    last = latest_start(schedule, calendar, until, since=after)
    # They were counted; where a search ended at its budget, the range that they are in is named.
    return MissedTicks(
        count=count,
        first=after + _MILLISECOND if first is None else first.nominal,
        last=until if last is None else last.nominal,
    )
