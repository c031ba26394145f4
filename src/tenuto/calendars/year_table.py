"""A year of a calendar's working time as moments: made once, and searched by halving."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from tenuto.calendars.zones import DAY, seconds_of, segments_of_year
from tenuto.model.working_time import Hours, WorkingCalendar

EPOCH_DAY = date(1970, 1, 1).toordinal()
_MOST_TABLES = 1024


class YearTable(NamedTuple):
    """The working time in a year of UTC, as spans of milliseconds since 1970."""

    starts: list[int]
    ends: list[int]
    before: list[int]
    """The working time before each span; behind the last one, that of the whole year."""
    days: list[int]
    """The local days that have working time here, as ordinals; in order."""

    @property
    def total(self) -> int:
        return self.before[-1]

    def worked(self, moment: int) -> int:
        """The working time from the beginning of the year until a moment in it."""
        index = bisect_right(self.starts, moment) - 1
        if index < 0:
            return 0
        return self.before[index] + min(moment, self.ends[index]) - self.starts[index]

    def when_worked(self, time: int) -> int:
        """The first moment at which so much of the year's working time has passed; not zero."""
        index = bisect_left(self.before, time) - 1
        return self.starts[index] + time - self.before[index]


@lru_cache(maxsize=_MOST_TABLES)
def year_table(calendar: WorkingCalendar, year: int) -> YearTable:
    """The working time of a year of UTC.

    A moment is working time if the local clock shows working hours: those that a change of the
    clock repeats count twice, and those that it leaves out do not count.
    """
    opens, closes = _local_hours(calendar, year)
    starts: list[int] = []
    ends: list[int] = []
    days: set[int] = set()
    for segment in segments_of_year(calendar.timezone, year):
        offset = segment.offset
        low, high = segment.start + offset, segment.end + offset
        for index in range(bisect_right(closes, low), bisect_left(opens, high)):
            start, end = max(opens[index], low), min(closes[index], high)
            starts.append((start - offset) * 1000)
            ends.append((end - offset) * 1000)
            days.add(start // DAY + EPOCH_DAY)
    lengths = (end - start for start, end in zip(starts, ends, strict=True))
    return YearTable(starts, ends, list(accumulate(lengths, initial=0)), sorted(days))


def _local_hours(calendar: WorkingCalendar, year: int) -> tuple[list[int], list[int]]:
    """When work begins and ends by the local clock, with a day on either side of the year."""
    special = _special_hours(calendar)
    week = calendar.week
    first, last = (
        seconds_of(datetime(each, 1, 1, tzinfo=UTC)) // DAY + EPOCH_DAY for each in (year, year + 1)
    )
    opens: list[int] = []
    closes: list[int] = []
    for ordinal in range(first - 1, last + 1):
        hours = special.get(ordinal)
        if hours is None:
            hours = week[(ordinal + 6) % 7]
        midnight = (ordinal - EPOCH_DAY) * DAY
        for start, end in hours:
            opens.append(midnight + start * 60)
            closes.append(midnight + end * 60)
    return opens, closes


@lru_cache(maxsize=128)
def _special_hours(calendar: WorkingCalendar) -> dict[int, Hours]:
    return {day.date.toordinal(): day.hours for day in calendar.special}
