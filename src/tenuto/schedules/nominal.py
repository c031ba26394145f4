"""Nominal times: the moments that the timing of a schedule names.

They depend on the timing alone: neither on the present, nor on what was started before.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from tenuto.calendars.zones import Segment, moment_of, seconds_of, segments, segments_back
from tenuto.schedules.schedule import OneTime, Recurring, Timing

MOST_YEARS = 60
"""After so many years without any time there is none: a rule about the clock may take them all."""
_MOST_SECONDS = MOST_YEARS * 366 * 86_400


class _Times(NamedTuple):
    """The times of a cron expression within a segment of a zone."""

    low: int
    high: int
    """The local times that count here: from `low` until before `high`."""
    after_gap: int | None
    """The moment at which the segment begins, if it stands for times that were left out."""


def after(timing: Timing, moment: datetime) -> Iterator[datetime]:
    """The nominal times after `moment`, in order, as many as are asked for."""
    match timing:
        case OneTime(at=at):
            if at > moment:
                yield at
        case Recurring():
            yield from map(moment_of, _after(timing, seconds_of(moment)))


def latest(timing: Timing, moment: datetime) -> datetime | None:
    """The last nominal time that is not after `moment`; None if there is none."""
    match timing:
        case OneTime(at=at):
            return at if at <= moment else None
        case Recurring():
            found = _latest(timing, seconds_of(moment))
            return None if found is None else moment_of(found)


def count(timing: Timing, start: datetime, end: datetime) -> int:
    """How many nominal times are after `start` and not after `end`, without listing them."""
    match timing:
        case OneTime(at=at):
            return int(start < at <= end)
        case Recurring():
            return _count(timing, seconds_of(start), seconds_of(end))


# Whole seconds since 1970 from here on: no expression names a part of one.


def _after(timing: Recurring, moment: int) -> Iterator[int]:
    if timing.start is not None:
        moment = max(moment, _ceiling(timing) - 1)
    end = None if timing.end is None else seconds_of(timing.end)
    cron, quiet_since = timing.cron, moment
    for segment in segments(timing.timezone, moment + 1):
        low, high, gap = _times(timing, segment)
        if gap is not None and gap > moment:
            if end is not None and gap > end:
                return
            yield gap
            quiet_since = gap
        local = cron.first_at(max(low, moment + 1 + segment.offset))
        while local is not None and local < high:
            nominal = local - segment.offset
            if end is not None and nominal > end:
                return
            yield nominal
            quiet_since = nominal
            local = cron.first_at(local + 1)
        is_over = end is not None and segment.end > end
        if is_over or local is None or segment.end - quiet_since > _MOST_SECONDS:
            return


def _latest(timing: Recurring, moment: int) -> int | None:
    if timing.end is not None:
        moment = min(moment, seconds_of(timing.end))
    least = None if timing.start is None else _ceiling(timing)
    for segment in segments_back(timing.timezone, moment):
        low, high, gap = _times(timing, segment)
        local = timing.cron.last_at(min(high - 1, moment + segment.offset))
        if local is not None and local >= low:
            nominal = local - segment.offset
        elif gap is not None and gap <= moment:
            nominal = gap
        elif (least is not None and segment.start < least) or (
            moment - segment.start > _MOST_SECONDS
        ):
            return None
        else:
            continue
        return nominal if least is None or nominal >= least else None
    return None


def _count(timing: Recurring, start: int, end: int) -> int:
    if timing.start is not None:
        start = max(start, _ceiling(timing) - 1)
    if timing.end is not None:
        end = min(end, seconds_of(timing.end))
    found = 0
    for segment in segments(timing.timezone, start + 1):
        if segment.start > end:
            break
        low, high, gap = _times(timing, segment)
        if gap is not None and start < gap <= end:
            found += 1
        offset = segment.offset
        found += timing.cron.count(max(low, start + 1 + offset), min(high, end + 1 + offset))
    return found


def _ceiling(timing: Recurring) -> int:
    """The first whole second that is not before the start of a schedule."""
    assert timing.start is not None
    whole = seconds_of(timing.start)
    return whole if moment_of(whole) == timing.start else whole + 1


def _times(timing: Recurring, segment: Segment) -> _Times:
    cron, dst, offset, before = timing.cron, timing.dst, segment.offset, segment.before
    low, high = segment.start + offset, segment.end + offset
    if before > offset and dst.repeated == "first":
        # The clock was set back: it has shown these times already.
        return _Times(min(segment.start + before, high), high, None)
    if before < offset and dst.missing == "next":
        missing = cron.first_at(segment.start + before)
        is_one_missing = missing is not None and missing < low
        if is_one_missing and cron.first_at(low) != low:
            return _Times(low, high, segment.start)
    return _Times(low, high, None)
