"""A year of a calendar's working time as moments: made once, and searched by halving.

A table has a row for a day and not one for each of its spans: a calendar may have 48 of them a day,
and centuries of such days would take gigabytes. A duration of many years needs the tables of its
first and its last one; of those between it needs `year_sum`, which counts weeks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from datetime import date
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from threading import Lock
from typing import NamedTuple, TypeVar, cast

from tenuto.calendars.zones import DAY, like_year, segments_of_year
from tenuto.model.pauses import between_parts
from tenuto.model.working_time import Hours, SpecialDay, WorkingCalendar

EPOCH_DAY = date(1970, 1, 1).toordinal()
MOST_KEPT_DAYS = 400_000
"""So many days of tables and dates of their calendars are kept, of all calendars together."""
_DATE_OF = attrgetter("date")
_SUM_DAYS = 4
"""A sum takes as much memory as so many days of a table."""
_ANSWER_DAYS = 100
"""So does what was found out with a calendar, together with what was asked."""
_MOST_ANSWERS = 500
"""The most of these of a calendar: the newest ones."""

Answer = TypeVar("Answer")


class DaySpans(NamedTuple):
    """The working time of a day, as spans of milliseconds since its midnight."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    before: tuple[int, ...]
    """The working time before each span; behind the last one, that of the day."""

    @property
    def total(self) -> int:
        return self.before[-1]

    def worked(self, time: int) -> int:
        """The working time until a time of the day."""
        index = bisect_right(self.starts, time) - 1
        if index < 0:
            return 0
        return self.before[index] + min(time, self.ends[index]) - self.starts[index]

    def when_worked(self, time: int) -> int:
        """The first moment at which so much of the day's working time has passed; not zero."""
        index = bisect_left(self.before, time) - 1
        return self.starts[index] + time - self.before[index]


class YearTable(NamedTuple):
    """The working time in a year of UTC, by days; moments are milliseconds since 1970.

    A day that a change of the clock divides has a row for each part of it.
    """

    starts: array[int]
    """The first working moment of each row."""
    ends: array[int]
    """The end of its last span."""
    before: array[int]
    """The working time before each row; behind the last one, that of the whole year."""
    spans: list[DaySpans]
    row_days: array[int]
    """The local day of each row, as an ordinal."""
    days: array[int]
    """The local days that have working time here, each once and in order."""

    @property
    def total(self) -> int:
        return self.before[-1]

    def worked(self, moment: int) -> int:
        """The working time from the beginning of the year until a moment in it."""
        row = bisect_right(self.starts, moment) - 1
        if row < 0:
            return 0
        return self.before[row] + self.spans[row].worked(moment - self._midnight(row))

    def when_worked(self, time: int) -> int:
        """The first moment at which so much of the year's working time has passed; not zero."""
        row = bisect_left(self.before, time) - 1
        return self._midnight(row) + self.spans[row].when_worked(time - self.before[row])

    def next(self, moment: int) -> int | None:
        """A moment, or the next one in the year that is working time."""
        row = bisect_right(self.starts, moment) - 1
        if row >= 0:
            spans, midnight = self.spans[row], self._midnight(row)
            index = bisect_right(spans.starts, moment - midnight) - 1
            if moment - midnight < spans.ends[index]:
                return moment
            if index + 1 < len(spans.starts):
                return midnight + spans.starts[index + 1]
        return self.starts[row + 1] if row + 1 < len(self.starts) else None

    def last(self, moment: int) -> int | None:
        """A moment, or when working hours of the year ended last before it."""
        row = bisect_right(self.starts, moment) - 1
        if row < 0:
            return None
        spans, midnight = self.spans[row], self._midnight(row)
        index = bisect_right(spans.starts, moment - midnight) - 1
        return min(moment, midnight + spans.ends[index])

    def spans_between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The spans between two moments; the first and the last one are cut there."""
        for row in self._rows_between(low, high):
            midnight = self._midnight(row)
            starts, ends, _ = self.spans[row]
            first = bisect_right(ends, low - midnight)
            for index in range(first, bisect_left(starts, high - midnight)):
                yield max(midnight + starts[index], low), min(midnight + ends[index], high)

    def days_between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The days between two moments that have working time there, and how much.

        Days that a change of the clock divides may come several times.
        """
        for row in self._rows_between(low, high):
            midnight, spans = self._midnight(row), self.spans[row]
            worked = spans.worked(high - midnight) - spans.worked(low - midnight)
            if worked:
                yield self.row_days[row], worked

    def _rows_between(self, low: int, high: int) -> range:
        return range(bisect_right(self.ends, low), bisect_left(self.starts, high))

    def _midnight(self, row: int) -> int:
        """The moment from which the spans of a row are counted."""
        return self.starts[row] - self.spans[row].starts[0]


class YearSum(NamedTuple):
    """What is needed of a year that is passed."""

    total: int
    """Its working time in milliseconds."""
    working_days: int
    """How many local days have working time in it."""
    first: int
    """The first one of them, as an ordinal; 0 where there is none."""
    last: int


def year_table(calendar: WorkingCalendar, year: int) -> YearTable:
    """The working time of a year of UTC.

    A moment is working time if the local clock shows working hours: those that a change of the
    clock repeats count twice, and those that it leaves out do not count.
    """
    kept = _KEPT.of(calendar)
    found = kept.tables.get(year)
    if found is None:
        between_parts()
        found = kept.tables[year] = _made_table(calendar, year)
        _KEPT.grow(calendar, kept, len(found.spans) + 1)
    return found


def year_sum(calendar: WorkingCalendar, year: int) -> YearSum:
    """The sums of a year's table, without its days: it takes microseconds."""
    kept = _KEPT.of(calendar)
    found = kept.sums.get(year)
    if found is None:
        between_parts()
        found = kept.sums[year] = _sum_like(calendar, year) or _made_sum(calendar, year)
        _KEPT.grow(calendar, kept, _SUM_DAYS)
    return found


def kept_answer(
    calendar: WorkingCalendar, question: Hashable, find: Callable[[], Answer]
) -> Answer:
    """What `find` answers to a question about a calendar, which is kept as long as its years.

    Equal questions have answers of one type.
    """
    try:
        return cast("Answer", _KEPT.of(calendar).answers[question])
    except KeyError:
        found = find()
    # What was kept of it before may have been given up meanwhile.
    _KEPT.keep_answer(calendar, _KEPT.of(calendar), question, found)
    return found


def kept_days() -> int:
    """How many days are kept now."""
    return _KEPT.days


def forget_years() -> None:
    """Keep nothing of any calendar, as before its first use."""
    _KEPT.clear()


class _Years:
    """What is known of a calendar's years."""

    def __init__(self, days: int) -> None:
        self.tables: dict[int, YearTable] = {}
        self.sums: dict[int, YearSum] = {}
        self.answers: dict[Hashable, object] = {}
        self.days = days


class _Kept:
    """The years of the calendars that were used last, up to a number of days; for any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calendars: OrderedDict[WorkingCalendar, _Years] = OrderedDict()
        self.days = 0

    def of(self, calendar: WorkingCalendar) -> _Years:
        with self._lock:
            found = self._calendars.get(calendar)
            if found is None:
                # Its dates live as long as it is kept.
                found = self._calendars[calendar] = _Years(len(calendar.special) + 1)
                self.days += found.days
            else:
                self._calendars.move_to_end(calendar)
            return found

    def clear(self) -> None:
        with self._lock:
            self._calendars.clear()
            self.days = 0

    def keep_answer(
        self, calendar: WorkingCalendar, years: _Years, question: Hashable, found: object
    ) -> None:
        with self._lock:
            if question in years.answers:
                return
            is_full = len(years.answers) >= _MOST_ANSWERS
            if is_full:
                del years.answers[next(iter(years.answers))]
            years.answers[question] = found
        if not is_full:
            self.grow(calendar, years, _ANSWER_DAYS)

    def grow(self, calendar: WorkingCalendar, years: _Years, days: int) -> None:
        """More of a calendar is kept; those that were used longest ago are given up for it."""
        with self._lock:
            if self._calendars.get(calendar) is not years:
                return
            years.days += days
            self.days += days
            while self.days > MOST_KEPT_DAYS:
                _, given_up = self._calendars.popitem(last=False)
                self.days -= given_up.days


_KEPT = _Kept()


class _Local:
    """The hours of the local days around a year."""

    def __init__(self, calendar: WorkingCalendar, year: int) -> None:
        self.week = tuple(day_spans(hours) for hours in calendar.week)
        self.special = {
            each.date.toordinal(): day_spans(each.hours) for each in _special_around(calendar, year)
        }

    def of(self, day: int) -> DaySpans | None:
        """The spans of a day by its ordinal; None if there are none."""
        if day in self.special:
            return self.special[day]
        return self.week[(day + 6) % 7]

    def total(self, first: int, end: int) -> tuple[int, int]:
        """The working time of whole days up to `end`, and how many of them have some."""
        total = count = 0
        for weekday, spans in enumerate(self.week):
            if spans is not None:
                # Monday is 1 of the ordinals.
                days = (end - weekday - 2) // 7 - (first - weekday - 2) // 7
                total += spans.total * days
                count += days
        for day, spans in self.special.items():
            if first <= day < end:
                usual = self.week[(day + 6) % 7]
                total += (0 if spans is None else spans.total) - (
                    0 if usual is None else usual.total
                )
                count += (spans is not None) - (usual is not None)
        return total, count


@lru_cache(maxsize=4096)
def day_spans(hours: Hours) -> DaySpans | None:
    """The hours of a day as milliseconds; None if there are none."""
    if not hours:
        return None
    starts = tuple(span.start * 60_000 for span in hours)
    ends = tuple(span.end * 60_000 for span in hours)
    return _spans(starts, ends)


def _spans(starts: tuple[int, ...], ends: tuple[int, ...]) -> DaySpans:
    lengths = (end - start for start, end in zip(starts, ends, strict=True))
    return DaySpans(starts, ends, tuple(accumulate(lengths, initial=0)))


def _cut(spans: DaySpans | None, low: int, high: int) -> DaySpans | None:
    """The part of a day's spans between two times of it, in seconds."""
    if spans is None or (low <= 0 and high >= DAY):
        return spans
    low, high = low * 1000, high * 1000
    pairs = zip(spans.starts, spans.ends, strict=True)
    inside = [
        (max(start, low), min(end, high)) for start, end in pairs if start < high and low < end
    ]
    if not inside:
        return None
    return _spans(*zip(*inside, strict=True))


def _made_table(calendar: WorkingCalendar, year: int) -> YearTable:
    local = _Local(calendar, year)
    starts, ends, row_days = array("q"), array("q"), array("q")
    rows: list[DaySpans] = []
    for segment in segments_of_year(calendar.timezone, year):
        low, high = segment.start + segment.offset, segment.end + segment.offset
        for day in range(low // DAY, (high - 1) // DAY + 1):
            midnight = day * DAY
            spans = _cut(local.of(day + EPOCH_DAY), low - midnight, high - midnight)
            if spans is not None:
                moment = (midnight - segment.offset) * 1000
                starts.append(moment + spans.starts[0])
                ends.append(moment + spans.ends[-1])
                row_days.append(day + EPOCH_DAY)
                rows.append(spans)
    before = array("q", accumulate((spans.total for spans in rows), initial=0))
    return YearTable(starts, ends, before, rows, row_days, array("q", sorted(set(row_days))))


def _sum_like(calendar: WorkingCalendar, year: int) -> YearSum | None:
    """The sum of a year far ahead, by one with the same weekdays; None if it has dates."""
    like = like_year(year)
    if like == year or _special_around(calendar, year) or _special_around(calendar, like):
        return None
    found = year_sum(calendar, like)
    shift = date(year, 1, 1).toordinal() - date(like, 1, 1).toordinal()
    if not found.working_days:
        return found
    return found._replace(first=found.first + shift, last=found.last + shift)


def _special_around(calendar: WorkingCalendar, year: int) -> tuple[SpecialDay, ...]:
    """The dates of a calendar in a year of any zone."""
    special = calendar.special
    low, high = date(max(year - 1, 1), 12, 30), date(min(year + 1, 9999), 1, 3)
    first = bisect_left(special, low, key=_DATE_OF)
    return special[first : bisect_right(special, high, key=_DATE_OF)]


def _made_sum(calendar: WorkingCalendar, year: int) -> YearSum:
    local = _Local(calendar, year)
    total = count = 0
    whole: list[tuple[int, int]] = []
    parts: set[int] = set()
    """Days that have working time in a segment which they are not all in."""
    upto = 0
    for segment in segments_of_year(calendar.timezone, year):
        low, high = segment.start + segment.offset, segment.end + segment.offset
        first, end = -(-low // DAY), high // DAY
        if first < end:
            worked, _ = local.total(first + EPOCH_DAY, end + EPOCH_DAY)
            total += worked
            # A clock that goes back by a whole day has days twice.
            first_new, last_new = max(first + EPOCH_DAY, upto), end + EPOCH_DAY
            if first_new < last_new:
                count += local.total(first_new, last_new)[1]
                whole.append((first_new, last_new))
                upto = last_new
        for day in {low // DAY, high // DAY}:
            begin, until = max(low - day * DAY, 0), min(high - day * DAY, DAY)
            if begin < until and (begin > 0 or until < DAY):
                spans = _cut(local.of(day + EPOCH_DAY), begin, until)
                if spans is not None:
                    total += spans.total
                    parts.add(day + EPOCH_DAY)
    parts = {day for day in parts if not any(first <= day < end for first, end in whole)}
    count += len(parts)
    working = [
        next((day for day in days if local.of(day) is not None), 0)
        for first, end in whole
        for days in (range(first, end), range(end - 1, first - 1, -1))
    ]
    edges = sorted({day for day in working if day} | parts)
    return YearSum(total, count, edges[0] if edges else 0, edges[-1] if edges else 0)
