"""Time zones: looking one up by name, and the spans in which its offset from UTC is constant.

Moments are whole seconds since 1970 here, and so are local times: seconds of a clock on the wall,
counted as if it stood in UTC.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

FIRST_YEAR = 2
LAST_YEAR = 9998
"""Local times of every zone are representable in these years."""
DAY = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_NAME = 100
_RULES_FROM = 2101
"""The database lists no changes from then on; those of Morocco are listed until 2087."""
_KINDS = 28


class Segment(NamedTuple):
    """A span of moments in which a zone has one offset."""

    start: int
    end: int
    """The first moment after it."""
    offset: int
    """Seconds that local time is ahead of UTC."""
    before: int
    """The offset right before it: larger where local times repeat, smaller where some are missing.
    Equal where a year begins."""


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """The names of all zones."""
    return frozenset(available_timezones())


def zone_of(name: str) -> ZoneInfo | None:
    """The zone with a name of any source; None if there is none."""
    # It becomes a path of the database, and may be that of a directory, or too long for a path.
    if len(name) > _LONGEST_NAME:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None


@lru_cache(maxsize=1024)
def is_zone(name: str) -> bool:
    """Whether a name is one of a time zone."""
    # A name becomes a path of the database: names in other spellings are not looked for.
    if len(name) > _LONGEST_NAME or not name.isascii() or name not in zone_names():
        return False
    return zone_of(name) is not None


def seconds_of(moment: datetime) -> int:
    """A moment in whole seconds since 1970, rounded down."""
    delta = moment - _EPOCH
    return delta.days * DAY + delta.seconds


def moment_of(seconds: int) -> datetime:
    """The moment that is so many seconds after 1970 began."""
    return _EPOCH + timedelta(seconds=seconds)


def year_of(seconds: int) -> int:
    """The year of a moment, within those that zones are known for."""
    try:
        return min(max(moment_of(seconds).year, FIRST_YEAR), LAST_YEAR)
    except OverflowError:
        return FIRST_YEAR if seconds < 0 else LAST_YEAR


def segments(zone: str, moment: int) -> Iterator[Segment]:
    """The segments from the one that `moment` is in, onwards."""
    for year in range(year_of(moment), LAST_YEAR + 1):
        for segment in segments_of_year(zone, year):
            if segment.end > moment:
                yield segment


def segments_back(zone: str, moment: int) -> Iterator[Segment]:
    """The segments from the one that `moment` is in, backwards."""
    for year in range(year_of(moment), FIRST_YEAR - 1, -1):
        for segment in reversed(segments_of_year(zone, year)):
            if segment.start <= moment:
                yield segment


def segment_at(zone: str, moment: int) -> Segment:
    """The segment that `moment` is in."""
    return next(segments(zone, moment))


def to_local(zone: str, moment: int) -> int:
    """The local time at a moment."""
    return moment + segment_at(zone, moment).offset


def from_local(zone: str, local: int) -> int:
    """The first moment with a local time; where that time is missing, the first one after it."""
    for segment in segments(zone, local - 2 * DAY):
        if local < segment.end + segment.offset:
            return max(local - segment.offset, segment.start)
    return seconds_of(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC))


@lru_cache(maxsize=4096)
def segments_of_year(zone: str, year: int) -> tuple[Segment, ...]:
    """The segments that together are a year of UTC."""
    like = like_year(year)
    if like == year:
        return probed_segments(zone, year)
    shift = seconds_of(datetime(year, 1, 1, tzinfo=UTC)) - seconds_of(
        datetime(like, 1, 1, tzinfo=UTC)
    )
    return tuple(
        each._replace(start=each.start + shift, end=each.end + shift)
        for each in probed_segments(zone, like)
    )


def like_year(year: int) -> int:
    """A year with the same changes of the clock.

    After the last change that the database lists there are rules, which name days by their month
    and weekday: years that begin on the same weekday have the same changes if both are leap years,
    or neither is. Those of 28 years are all kinds of them.
    """
    if year < _RULES_FROM + _KINDS:
        return year
    first, is_leap = date(year, 1, 1).weekday(), isleap(year)
    return next(
        each
        for each in range(_RULES_FROM, _RULES_FROM + _KINDS)
        if date(each, 1, 1).weekday() == first and isleap(each) is is_leap
    )


@lru_cache(maxsize=4096)
def probed_segments(zone: str, year: int) -> tuple[Segment, ...]:
    """The same, by looking at each day of the year."""
    info = ZoneInfo(zone)
    start, end = (seconds_of(datetime(each, 1, 1, tzinfo=UTC)) for each in (year, year + 1))
    found: list[Segment] = []
    before = offset = _offset(info, start)
    if year > FIRST_YEAR:
        before = _offset(info, start - 1)
    # No zone changes its offset there and back within a day.
    for probe in range(start + DAY, end + DAY, DAY):
        probed = min(probe, end - 1)
        if _offset(info, probed) != offset:
            change = _first_other(info, probe - DAY, probed, offset)
            found.append(Segment(start, change, offset, before))
            start, before, offset = change, offset, _offset(info, change)
    found.append(Segment(start, end, offset, before))
    return tuple(found)


def _first_other(info: ZoneInfo, low: int, high: int, offset: int) -> int:
    """The first moment after `low`, up to `high`, at which the offset is another one."""
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(info, middle) == offset:
            low = middle
        else:
            high = middle
    return high


def _offset(info: ZoneInfo, moment: int) -> int:
    offset = datetime.fromtimestamp(moment, info).utcoffset()
    assert offset is not None  # of a zone
    return offset.days * DAY + offset.seconds
