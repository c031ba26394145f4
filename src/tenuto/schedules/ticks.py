"""Ticks: nominal times with the moment at which each is started, or the reason why it is not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from tenuto.calendars import (
    WorkingCalendar,
    is_working,
    last_working_moment,
    next_working_moment,
)
from tenuto.calendars.days import reason
from tenuto.calendars.working_time import working_spans
from tenuto.calendars.year_table import kept_answer
from tenuto.model.durations import LATEST, iso
from tenuto.model.family import tick_key
from tenuto.model.json import Object
from tenuto.model.pauses import between_parts
from tenuto.schedules import nominal
from tenuto.schedules.schedule import Recurring, Schedule, Timing

MOST_TRIED = 3_000
"""So many times in a row outside of working hours, and a schedule counts as one that never starts:
of one time a day that is about six years, of one a month 26."""
_OF_A_YEAR = 100
"""As so many times counts the first one that is tried in a year, whose working time is found."""
_TRIED = timedelta(days=nominal.MOST_YEARS * 366)
"""Nor is a time tried that is so much later than the first one: each year has tables to be made."""
_IN_A_PART = 200
"""So many spans of working time are a part of a count."""
_FEW = 400
"""Up to so many times of a year are looked at one by one."""
_OF_A_ZONE, _OF_A_CALENDAR = 40, 250
"""As so many candidates counts a year whose changes of the clock, or working time, are found."""
_MILLISECOND = timedelta(milliseconds=1)
_PREVIEWED = timedelta(days=50 * 366)
"""How much time after its beginning a preview searches: a rare tick may take years each."""


class Tick(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One nominal time of a schedule."""

    nominal: datetime
    at: datetime
    """When it is started: moved by the calendar, delayed by the jitter."""
    skipped: str | None = None
    """Why it is not started."""


class Unsearched(Struct, frozen=True, kw_only=True):
    """A search for a start ended at its budget, and found none."""

    until: datetime
    """Up to here no nominal time is in working hours."""


def tick_values(schedule: Schedule, moment: datetime) -> Object:
    """What templates of the input see as `schedule` in the tick of a nominal time."""
    previous = nominal.latest(schedule.timing, moment - _MILLISECOND)
    following = next(nominal.after(schedule.timing, moment), None)
    return {
        "id": schedule.id,
        "nominal": iso(moment),
        "previous": None if previous is None else iso(previous),
        "next": None if following is None else iso(following),
    }


def ticks(schedule: Schedule, calendar: WorkingCalendar | None, after: datetime) -> Iterator[Tick]:
    """The ticks with nominal times after a moment, in order; also those that are skipped.

    `calendar` is the one that the schedule names. The order is also that of the moments at which
    they are started, where several may be started at once.
    """
    for moment in nominal.after(schedule.timing, after):
        yield tick_at(schedule, calendar, moment)


def preview(
    schedule: Schedule, calendar: WorkingCalendar | None, after: datetime, count: int
) -> tuple[Tick, ...]:
    """The next ticks after a moment, at most `count`, and of so many years as are searched."""
    timing = schedule.timing
    if isinstance(timing, Recurring):
        begin = after if timing.start is None else max(after, timing.start)
        end = LATEST if begin > LATEST - _PREVIEWED else begin + _PREVIEWED
        timing = replace(timing, end=end if timing.end is None else min(timing.end, end))
    moments = islice(nominal.after(timing, after), count)
    return tuple(tick_at(schedule, calendar, each) for each in moments)


def next_start(
    schedule: Schedule, calendar: WorkingCalendar | None, after: datetime
) -> Tick | None:
    """The first tick after a nominal time that is not skipped; None if none is found."""
    found = find_start(schedule, calendar, after)
    return found if isinstance(found, Tick) else None


def find_start(
    schedule: Schedule, calendar: WorkingCalendar | None, after: datetime
) -> Tick | Unsearched | None:
    """The first tick after a nominal time that is not skipped; None if there is none.

    Ticks outside of working hours are passed over together, however many they are.
    """
    moment = next(nominal.after(schedule.timing, after), None)
    if moment is not None and _is_skipped(schedule, calendar, moment):
        assert calendar is not None  # only a calendar skips
        search = partial(_first_in_hours, schedule.timing, calendar, moment)
        # It is the same however often it is asked for until the first of these times comes, and
        # each save asks several times.
        found = kept_answer(calendar, (_first_in_hours, schedule.timing, moment), search)
        if isinstance(found, Unsearched):
            return found
        moment = found
    return None if moment is None else tick_at(schedule, calendar, moment)


def _first_in_hours(
    timing: Timing, calendar: WorkingCalendar, skipped: datetime
) -> datetime | Unsearched | None:
    """The first nominal time in working hours after one that is not."""
    moment: datetime | None = skipped
    last = LATEST if skipped > LATEST - _TRIED else skipped + _TRIED
    after = skipped
    tried = year = 0
    while tried < MOST_TRIED:
        if moment is None:
            return None
        opens = next_working_moment(calendar, moment)
        if opens == moment:
            return moment
        if opens >= LATEST:
            return None
        after = opens - _MILLISECOND
        if moment > last:
            break
        tried += 1 if moment.year == year else _OF_A_YEAR
        year = moment.year
        between_parts()
        moment = next(nominal.after(timing, after), None)
    return Unsearched(until=after)


def latest_start(
    schedule: Schedule,
    calendar: WorkingCalendar | None,
    until: datetime,
    *,
    since: datetime | None = None,
) -> Tick | None:
    """The last tick up to a nominal time that is not skipped; None if none is found.

    `since`: those up to this one do not matter.
    """
    tried = year = 0
    while tried < MOST_TRIED:
        current = nominal.latest(schedule.timing, until)
        if current is None or (since is not None and current <= since):
            return None
        tick = tick_at(schedule, calendar, current)
        if tick.skipped is None:
            return tick
        assert calendar is not None  # only a calendar skips
        closed = last_working_moment(calendar, current)
        if closed is None:
            return None
        until = closed - _MILLISECOND
        tried += 1 if current.year == year else _OF_A_YEAR
        year = current.year
    return None


class Part(NamedTuple):
    """What a part of a count gives."""

    found: int
    looked: int
    """How many candidates were looked at: nominal times or spans of working time; a year, for which
    tables are made, counts as several."""


def count_starts(
    schedule: Schedule, calendar: WorkingCalendar | None, start: datetime, end: datetime
) -> int:
    """How many ticks after `start` and not after `end` are not skipped, without listing them."""
    return sum(part.found for part in count_in_parts(schedule, calendar, start, end))


def count_in_parts(
    schedule: Schedule, calendar: WorkingCalendar | None, start: datetime, end: datetime
) -> Iterator[Part]:
    """The same in parts of a few milliseconds, for who stops at a bound or lets others go on."""
    for low, high in _years(start, end):
        if calendar is None or schedule.on_non_working != "skip":
            yield Part(nominal.count(schedule.timing, low, high), _OF_A_ZONE)
            continue
        times = nominal.count(schedule.timing, low, high)
        yield Part(0, _OF_A_CALENDAR)
        if times <= _FEW:
            # A calendar may have thousands of spans in a year in which there are few times.
            few = islice(nominal.after(schedule.timing, low), times)
            yield Part(sum(is_working(calendar, each) for each in few), times)
            continue
        spans = working_spans(calendar, low, high + _MILLISECOND)
        while part := tuple(islice(spans, _IN_A_PART)):
            counts = (
                nominal.count(
                    schedule.timing, max(opens - _MILLISECOND, low), closes - _MILLISECOND
                )
                for opens, closes in part
            )
            yield Part(sum(counts), len(part))


def _years(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The years between two moments; the first and the last one are cut there."""
    while start < end:
        following = end
        if start.year < end.year:
            following = datetime(start.year + 1, 1, 1, tzinfo=UTC)
        yield start, following
        start = following


def newest_due(
    schedule: Schedule, calendar: WorkingCalendar | None, now: datetime
) -> datetime | None:
    """The last nominal time that is due: it, and all before it, are to be started by `now`."""
    found = _latest_moved(schedule, calendar, now)
    if found is None or tick_at(schedule, calendar, found).at <= now:
        return found
    # The jitter of the last ones lasts beyond the present, and that of those before them does not.
    moved = _moved(schedule, calendar, found)
    return _latest_moved(schedule, calendar, moved - _MILLISECOND)


def tick_at(schedule: Schedule, calendar: WorkingCalendar | None, moment: datetime) -> Tick:
    """The tick of a nominal time."""
    if _is_skipped(schedule, calendar, moment):
        assert calendar is not None  # only a calendar skips
        local = moment.astimezone(ZoneInfo(calendar.timezone))
        return Tick(nominal=moment, at=moment, skipped=reason(calendar, local.date()))
    moved = _moved(schedule, calendar, moment)
    return Tick(nominal=moment, at=moved + _delay(schedule, calendar, moved))


def _is_skipped(schedule: Schedule, calendar: WorkingCalendar | None, moment: datetime) -> bool:
    may_skip = calendar is not None and schedule.on_non_working == "skip"
    return may_skip and calendar is not None and not is_working(calendar, moment)


def _moved(schedule: Schedule, calendar: WorkingCalendar | None, moment: datetime) -> datetime:
    """Where the calendar moves a nominal time to; never one before those of earlier times."""
    if calendar is None or schedule.on_non_working == "skip":
        return moment
    if schedule.on_non_working == "next":
        return next_working_moment(calendar, moment)
    return last_working_moment(calendar, moment) or moment


def _latest_moved(
    schedule: Schedule, calendar: WorkingCalendar | None, until: datetime
) -> datetime | None:
    """The last nominal time that the calendar leaves at, or moves to, a moment up to `until`."""
    if calendar is not None and not is_working(calendar, until):
        if schedule.on_non_working == "next":
            # Those since working hours ended are moved to when they begin again.
            closed = last_working_moment(calendar, until)
            if closed is None:
                return None
            until = closed - _MILLISECOND
        elif schedule.on_non_working == "previous":
            # Those until working hours begin are moved to when they ended.
            until = next_working_moment(calendar, until) - _MILLISECOND
    return nominal.latest(schedule.timing, until)


def _delay(schedule: Schedule, calendar: WorkingCalendar | None, moved: datetime) -> timedelta:
    """The jitter: from the schedule and the moment, so that it never changes.

    It ends before the following ticks, which thus stay in their order.
    """
    if not schedule.jitter:
        return schedule.jitter
    most = schedule.jitter
    following = _moved_after(schedule, calendar, moved)
    if following is not None:
        most = min(most, following - moved)
    seed = tick_key(schedule.id, moved).encode()
    share = int.from_bytes(hashlib.sha256(seed).digest()[:8]) / 2**64
    return most * share // _MILLISECOND * _MILLISECOND


def _moved_after(
    schedule: Schedule, calendar: WorkingCalendar | None, moved: datetime
) -> datetime | None:
    """The first moment after `moved` that a nominal time is left at or moved to."""
    following = next(nominal.after(schedule.timing, moved), None)
    if following is None or calendar is None:
        return following
    target = _moved(schedule, calendar, following)
    if target > moved:
        return target
    # `moved` is the end of working hours, and `following` is moved there too.
    opens = next_working_moment(calendar, moved)
    later = next(nominal.after(schedule.timing, opens - _MILLISECOND), None)
    return None if later is None else _moved(schedule, calendar, later)
