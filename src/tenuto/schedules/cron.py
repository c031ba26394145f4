"""Cron expressions: reading them, and the local times that they allow.

Local times are seconds of a clock on the wall, counted as if it stood in UTC; zones are not known
here. As in cron, a day is allowed by either of its two fields, or by both where one begins with
a star.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final

from msgspec import Struct

from tenuto.calendars.zones import DAY, FIRST_YEAR, LAST_YEAR
from tenuto.schedules.cron_fields import SHAPES, CronField, FieldProblem, read_field

LONGEST = 500
"""The most characters of an expression."""
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LONGEST_PAUSE = 41
"""Years without any day after which there is none: 29 February is a Monday every 28 years, or 40
around a year such as 2100."""
_ALIASES: Final[Mapping[str, str]] = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}


class Cron(Struct, frozen=True, kw_only=True, cache_hash=True):
    """A valid expression that allows at least one day."""

    text: str
    """As it was written."""
    second: CronField
    minute: CronField
    hour: CronField
    day: CronField
    month: CronField
    weekday: CronField

    @property
    def needs_both_days(self) -> bool:
        """Whether a day must be allowed by the day of the month and by the day of the week."""
        return self.day.is_star or self.weekday.is_star

    @property
    def times_a_day(self) -> int:
        return len(self.second.values) * len(self.minute.values) * len(self.hour.values)

    def first_at(self, local: int) -> int | None:
        """The first allowed local time that is not before `local`."""
        day, time = divmod(local, DAY)
        day += _EPOCH_DAY
        if _is_allowed(self, day) and (found := self._time_at(time)) is not None:
            return (day - _EPOCH_DAY) * DAY + found
        following = _day_from(self, day + 1)
        if following is None:
            return None
        return (following - _EPOCH_DAY) * DAY + self._first_time

    def last_at(self, local: int) -> int | None:
        """The last allowed local time that is not after `local`."""
        day, time = divmod(local, DAY)
        day += _EPOCH_DAY
        if _is_allowed(self, day) and (found := self._time_until(time)) is not None:
            return (day - _EPOCH_DAY) * DAY + found
        earlier = _day_until(self, day - 1)
        if earlier is None:
            return None
        return (earlier - _EPOCH_DAY) * DAY + self._last_time

    def count(self, low: int, high: int) -> int:
        """How many local times are allowed from `low` until before `high`."""
        if high <= low:
            return 0
        first, last = low // DAY + _EPOCH_DAY, high // DAY + _EPOCH_DAY
        found = _days_between(self, first, last) * self.times_a_day
        if _is_allowed(self, first):
            found -= self._times_before(low % DAY)
        if _is_allowed(self, last):
            found += self._times_before(high % DAY)
        return found

    @property
    def _first_time(self) -> int:
        return _time(self.hour.values[0], self.minute.values[0], self.second.values[0])

    @property
    def _last_time(self) -> int:
        return _time(self.hour.values[-1], self.minute.values[-1], self.second.values[-1])

    def _time_at(self, time: int) -> int | None:
        """The first allowed time of the day that is not before `time`."""
        hours, minutes, seconds = self.hour.values, self.minute.values, self.second.values
        hour, minute, second = time // 3600, time // 60 % 60, time % 60
        if hour in hours:
            if minute in minutes and second <= seconds[-1]:
                return _time(hour, minute, seconds[bisect_left(seconds, second)])
            if minute < minutes[-1]:
                return _time(hour, minutes[bisect_right(minutes, minute)], seconds[0])
        if hour < hours[-1]:
            return _time(hours[bisect_right(hours, hour)], minutes[0], seconds[0])
        return None

    def _time_until(self, time: int) -> int | None:
        """The last allowed time of the day that is not after `time`."""
        hours, minutes, seconds = self.hour.values, self.minute.values, self.second.values
        hour, minute, second = time // 3600, time // 60 % 60, time % 60
        if hour in hours:
            if minute in minutes and second >= seconds[0]:
                return _time(hour, minute, seconds[bisect_right(seconds, second) - 1])
            if minute > minutes[0]:
                return _time(hour, minutes[bisect_left(minutes, minute) - 1], seconds[-1])
        if hour > hours[0]:
            return _time(hours[bisect_left(hours, hour) - 1], minutes[-1], seconds[-1])
        return None

    def _times_before(self, time: int) -> int:
        """How many times of the day are allowed before `time`."""
        hours, minutes, seconds = self.hour.values, self.minute.values, self.second.values
        hour, minute, second = time // 3600, time // 60 % 60, time % 60
        found = bisect_left(hours, hour) * len(minutes) * len(seconds)
        if hour in hours:
            found += bisect_left(minutes, minute) * len(seconds)
            if minute in minutes:
                found += bisect_left(seconds, second)
        return found


def parse_cron(text: str) -> Cron | tuple[FieldProblem, ...]:
    """The expression of a text, or all its problems."""
    if len(text) > LONGEST:
        message = f"{len(text):,} characters are more than {LONGEST}"
        return (FieldProblem(message, "Write several schedules."),)
    upper = " ".join(text.upper().split())
    if upper.startswith("@"):
        if upper not in _ALIASES:
            return (_unknown_alias(upper),)
        upper = _ALIASES[upper]
    parts = upper.split()
    if len(parts) not in (5, 6):
        return (_wrong_count(len(parts)),)
    if len(parts) == 5:
        parts.insert(0, "0")
    read = [read_field(part, shape) for part, shape in zip(parts, SHAPES, strict=True)]
    problems = tuple(each for each in read if isinstance(each, FieldProblem))
    if problems:
        return problems
    fields = [each for each in read if isinstance(each, CronField)]
    second, minute, hour, day, month, weekday = fields
    cron = Cron(
        text=text,
        second=second,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
    )
    if _day_from(cron, date(2000, 1, 1).toordinal()) is None:
        message = "no day is allowed, so that it never fires"
        advice = "No month has that day: check the day of the month against the months."
        return (FieldProblem(message, advice),)
    return cron


def _wrong_count(count: int) -> FieldProblem:
    advice = (
        "Write minute, hour, day of the month, month, day of the week: `0 9 * * MON-FRI`; "
        "with seconds, these come first."
    )
    return FieldProblem(f"an expression has 5 fields, or 6 with seconds, not {count}", advice)


def _unknown_alias(text: str) -> FieldProblem:
    if text.startswith("@EVERY"):
        return FieldProblem(
            "`@every` is not known", "Write steps: `*/5 * * * *` is every 5 minutes."
        )
    names = ", ".join(name.lower() for name in _ALIASES)
    return FieldProblem(f"`{text[:20].lower()}` is not known", f"Known are {names}.")


def _time(hour: int, minute: int, second: int) -> int:
    return hour * 3600 + minute * 60 + second


# -- days


def _is_allowed(cron: Cron, ordinal: int) -> bool:
    on = _date(ordinal)
    return on is not None and on.day in _days_of_month(cron, on.year, on.month)


def _date(ordinal: int) -> date | None:
    try:
        return date.fromordinal(ordinal)
    except (ValueError, OverflowError):
        return None


def _day_from(cron: Cron, ordinal: int) -> int | None:
    """The first allowed day that is not before one; None if there is none for decades."""
    on = _date(ordinal)
    if on is None:
        return None
    for year in range(max(on.year, FIRST_YEAR), min(on.year + _LONGEST_PAUSE, LAST_YEAR) + 1):
        for month in cron.month.values:
            if (year, month) < (on.year, on.month):
                continue
            least = on.day if (year, month) == (on.year, on.month) else 1
            for day in _days_of_month(cron, year, month):
                if day >= least:
                    return date(year, month, day).toordinal()
    return None


def _day_until(cron: Cron, ordinal: int) -> int | None:
    """The last allowed day that is not after one; None if there is none for decades."""
    on = _date(ordinal)
    if on is None:
        return None
    for year in range(min(on.year, LAST_YEAR), max(on.year - _LONGEST_PAUSE, FIRST_YEAR) - 1, -1):
        for month in reversed(cron.month.values):
            if (year, month) > (on.year, on.month):
                continue
            most = on.day if (year, month) == (on.year, on.month) else 31
            for day in reversed(_days_of_month(cron, year, month)):
                if day <= most:
                    return date(year, month, day).toordinal()
    return None


def _days_between(cron: Cron, first: int, last: int) -> int:
    """How many days are allowed from `first` until before `last`."""
    start, end = date.fromordinal(first), date.fromordinal(last)
    found = 0
    for year in range(start.year, end.year + 1):
        for month in cron.month.values:
            if (start.year, start.month) <= (year, month) <= (end.year, end.month):
                days = _days_of_month(cron, year, month)
                found += len(days)
                if (year, month) == (start.year, start.month):
                    found -= bisect_left(days, start.day)
                if (year, month) == (end.year, end.month):
                    found -= len(days) - bisect_left(days, end.day)
    return found


@lru_cache(maxsize=8192)
def _days_of_month(cron: Cron, year: int, month: int) -> tuple[int, ...]:
    """The allowed days of a month, in order."""
    if month not in cron.month.values:
        return ()
    first_weekday, length = monthrange(year, month)
    by_month = _by_day_of_month(cron.day, first_weekday, length)
    by_week = _by_day_of_week(cron.weekday, first_weekday, length)
    both = by_month & by_week if cron.needs_both_days else by_month | by_week
    return tuple(sorted(both))


def _by_day_of_month(field: CronField, first_weekday: int, length: int) -> set[int]:
    days = {day for day in field.values if day <= length}
    days |= {length - before for before in field.last if before < length}
    if field.is_last_weekday:
        days.add(_nearest_weekday(length, first_weekday, length))
    days |= {_nearest_weekday(day, first_weekday, length) for day in field.nearest if day <= length}
    return days


def _nearest_weekday(day: int, first_weekday: int, length: int) -> int:
    """The day from Monday to Friday that is nearest to a day, in the same month."""
    match (first_weekday + day - 1) % 7:
        case 5:  # Saturday
            return day - 1 if day > 1 else day + 2
        case 6:  # Sunday
            return day + 1 if day < length else day - 2
        case _:
            return day


def _by_day_of_week(field: CronField, first_weekday: int, length: int) -> set[int]:
    # Weekdays of cron begin with Sunday, those of Python with Monday.
    firsts = {weekday: (weekday - 1 - first_weekday) % 7 + 1 for weekday in range(7)}
    days = {day for weekday in field.values for day in range(firsts[weekday], length + 1, 7)}
    days |= {
        day
        for weekday, number in field.nth
        if (day := firsts[weekday] + 7 * (number - 1)) <= length
    }
    days |= {firsts[weekday] + (length - firsts[weekday]) // 7 * 7 for weekday in field.last}
    return days
