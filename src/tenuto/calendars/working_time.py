"""Arithmetic in working time: moments are handed in, no clock is read."""

from __future__ import annotations

from bisect import bisect_right
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from tenuto.calendars.year_table import EPOCH_DAY, year_sum, year_table
from tenuto.calendars.zones import DAY, LAST_YEAR, from_local, to_local, year_of
from tenuto.model.durations import LATEST, epoch_ms, from_epoch_ms
from tenuto.model.working_time import WorkingCalendar, WorkingDuration

MOST_YEARS = 200
"""A duration that is not over after so many years ends at the last representable moment."""
_NEVER = epoch_ms(LATEST)
_MILLISECOND = timedelta(milliseconds=1)


def is_working(calendar: WorkingCalendar, moment: datetime) -> bool:
    """Whether a moment is in working hours; their last moment is the one before they end."""
    milliseconds = epoch_ms(moment)
    return _next(calendar, milliseconds) == milliseconds


def next_working_moment(calendar: WorkingCalendar, moment: datetime) -> datetime:
    """`moment` if it is working time, else when working hours begin next."""
    return from_epoch_ms(_next(calendar, epoch_ms(moment)))


def last_working_moment(calendar: WorkingCalendar, moment: datetime) -> datetime | None:
    """`moment` if it is working time, else when working hours ended last; None: there were none."""
    milliseconds = epoch_ms(moment)
    year = _year(milliseconds)
    for each in range(year, max(year - MOST_YEARS, 1), -1):
        if year_sum(calendar, each).total:
            found = year_table(calendar, each).last(milliseconds)
            if found is not None:
                return from_epoch_ms(found)
    return None


def working_time_between(calendar: WorkingCalendar, start: datetime, end: datetime) -> timedelta:
    """The working time from one moment to another; negative if `end` is before `start`."""
    if end < start:
        return -working_time_between(calendar, end, start)
    return _between(calendar, epoch_ms(start), epoch_ms(end)) * _MILLISECOND


def add(calendar: WorkingCalendar, moment: datetime, duration: WorkingDuration) -> datetime:
    """The moment at which a duration that begins at `moment` is over.

    - Working time (`PT4H`) is over as soon as so much of it has passed: an hour that begins an hour
      before closing time ends at closing time.
    - Working days (`P3D`) end on the third working day after the day of `moment`, at the same time
      of day, or at the next working moment. Where that day is not a working day, they are counted
      from the beginning of the next one.
    - Weeks, months and years lead to the same time of day on another date, or to the next working
      moment.
    """
    at = epoch_ms(moment)
    if duration.months or duration.weeks:
        at = _next(calendar, _on_the_wall(calendar, at, duration.months, duration.weeks))
    if duration.days:
        at = _after_days(calendar, at, duration.days)
    if duration.span:
        at = _after(calendar, at, duration.span // _MILLISECOND)
    return from_epoch_ms(at)


def working_spans(
    calendar: WorkingCalendar, start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The spans of working time between two moments; the first and the last one are cut there."""
    low, high = epoch_ms(start), epoch_ms(end)
    for year in range(_year(low), _year(high) + 1):
        for opens, closes in year_table(calendar, year).spans_between(low, high):
            yield from_epoch_ms(opens), from_epoch_ms(closes)


def worked_days(calendar: WorkingCalendar, start: datetime, end: datetime) -> dict[date, timedelta]:
    """How much is worked between two moments on each local day that has working time there."""
    low, high = epoch_ms(start), epoch_ms(end)
    found: dict[int, int] = {}
    for year in range(_year(low), _year(high) + 1):
        for day, worked in year_table(calendar, year).days_between(low, high):
            found[day] = found.get(day, 0) + worked
    return {date.fromordinal(day): worked * _MILLISECOND for day, worked in found.items()}


def has_working_time(calendar: WorkingCalendar) -> bool:
    """Whether working time never comes to an end, and is not all taken by holidays."""
    years = range(calendar.first_year, calendar.last_year + 1)
    return any(calendar.week) and any(year_sum(calendar, year).total for year in years)


def _year(milliseconds: int) -> int:
    return year_of(milliseconds // 1000)


def _years(milliseconds: int) -> range:
    year = _year(milliseconds)
    return range(year, min(year + MOST_YEARS, LAST_YEAR) + 1)


def _next(calendar: WorkingCalendar, moment: int) -> int:
    for year in _years(moment):
        if year_sum(calendar, year).total:
            found = year_table(calendar, year).next(moment)
            if found is not None:
                return found
    return _NEVER


def _between(calendar: WorkingCalendar, start: int, end: int) -> int:
    first, last = _year(start), _year(end)
    whole = sum(year_sum(calendar, year).total for year in range(first, last))
    worked = year_table(calendar, last).worked(end) - year_table(calendar, first).worked(start)
    return whole + worked


def _after(calendar: WorkingCalendar, moment: int, time: int) -> int:
    time += year_table(calendar, _year(moment)).worked(moment)
    for year in _years(moment):
        total = year_sum(calendar, year).total
        if time <= total:
            return year_table(calendar, year).when_worked(time)
        time -= total
    return _NEVER


def _after_days(calendar: WorkingCalendar, moment: int, count: int) -> int:
    local, rest = divmod(moment, 1000)
    local = to_local(calendar.timezone, local)
    day, time = local // DAY + EPOCH_DAY, local % DAY
    first = _day_after(calendar, day - 1, 1)
    if first is not None and first > day:
        day, time, rest = first, 0, 0
    last = _day_after(calendar, day, count)
    if last is None:
        return _NEVER
    return _next(calendar, _moment(calendar, last, time, rest))


def _day_after(calendar: WorkingCalendar, day: int, count: int) -> int | None:
    """The working day that is the `count`-th after a day; None if it is too far away."""
    for year in _years((day - EPOCH_DAY) * DAY * 1000):
        sums = year_sum(calendar, year)
        if not sums.working_days:
            continue
        # The night of a new year may be in both years.
        left = sums.working_days - (day == sums.first)
        if day > sums.first or count <= left:
            days = year_table(calendar, year).days
            index = bisect_right(days, day) + count - 1
            if index < len(days):
                return days[index]
            count = index - len(days) + 1
        else:
            count -= left
        day = max(day, sums.last)
    return None


def _on_the_wall(calendar: WorkingCalendar, moment: int, months: int, weeks: int) -> int:
    local, rest = divmod(moment, 1000)
    local = to_local(calendar.timezone, local)
    try:
        day = date.fromordinal(local // DAY + EPOCH_DAY)
        year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
        last = monthrange(year, month + 1)[1]
        day = date(year, month + 1, min(day.day, last)) + timedelta(weeks=weeks)
    except (OverflowError, ValueError):
        return _NEVER
    return _moment(calendar, day.toordinal(), local % DAY, rest)


def _moment(calendar: WorkingCalendar, day: int, time: int, rest: int) -> int:
    local = (day - EPOCH_DAY) * DAY + time
    found = from_local(calendar.timezone, local)
    is_missing = to_local(calendar.timezone, found) != local
    return found * 1000 + (0 if is_missing else rest)
