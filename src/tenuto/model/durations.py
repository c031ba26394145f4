"""Durations and timestamps, as users write them: ISO 8601 text or milliseconds.

Days are 24 hours here (everything is UTC); months and years follow the calendar.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from msgspec import Struct
from whenever import Instant, ItemizedDelta, PlainDateTime

LONGEST = timedelta(days=366 * 1000)
EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC, microsecond=999_000)
"""The last representable moment, in whole milliseconds."""


class Duration(Struct, frozen=True, omit_defaults=True):
    """A duration; `months` is a field of its own because a month has no fixed length."""

    span: timedelta
    months: int = 0

    def after(self, moment: datetime) -> datetime:
        """The moment this long after `moment`, at most the last representable one."""
        try:
            if self.months:
                plain = PlainDateTime(moment.astimezone(UTC).replace(tzinfo=None))
                moment = plain.add(months=self.months).to_stdlib().replace(tzinfo=UTC)
            return moment + self.span
        except (OverflowError, ValueError):
            return LATEST

    def before(self, moment: datetime) -> datetime:
        """The moment this long before `moment`, at least the first representable one."""
        try:
            if self.months:
                plain = PlainDateTime(moment.astimezone(UTC).replace(tzinfo=None))
                moment = plain.subtract(months=self.months).to_stdlib().replace(tzinfo=UTC)
            return moment - self.span
        except (OverflowError, ValueError):
            return EARLIEST


SHORT = re.compile(
    r"(?=[0-9])(?:([0-9]{1,9})w)?(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?"
    r"(?:([0-9]{1,9})s)?(?:([0-9]{1,12})ms)?\Z"
)
"""`15m`, `1h30m`, `2d`, `500ms`: each unit once, the largest first."""


def parse_duration(value: object) -> Duration:
    """Read `1h30m`, ISO 8601 text (`PT30S`, `P1M`) or milliseconds; ValueError if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        message = f"expected text such as '15m' or 'PT30S', or milliseconds, not {value!r}"
        raise ValueError(message)
    if isinstance(value, int | float):
        try:
            span = timedelta(milliseconds=value)
        except (OverflowError, ValueError) as error:
            message = f"{value!r} milliseconds is not a usable duration"
            raise ValueError(message) from error
        return _checked(Duration(span), value)
    if short := SHORT.match(value):
        weeks, days, hours, minutes, seconds, milliseconds = (int(n or 0) for n in short.groups())
        span = timedelta(
            weeks=weeks,
            days=days,
            hours=hours,
            minutes=minutes,
            seconds=seconds,
            milliseconds=milliseconds,
        )
        return _checked(Duration(span), value)
    try:
        parsed = ItemizedDelta.parse_iso(value)
    except ValueError as error:
        message = f"{value!r} is not a duration such as '15m', '1h30m', 'PT30S', 'P3D' or 'P1M'"
        raise ValueError(message) from error
    parts = dict(parsed.items())
    span = timedelta(
        weeks=parts.get("weeks", 0),
        days=parts.get("days", 0),
        hours=parts.get("hours", 0),
        minutes=parts.get("minutes", 0),
        seconds=parts.get("seconds", 0),
        microseconds=parts.get("nanoseconds", 0) // 1000,
    )
    months = parts.get("years", 0) * 12 + parts.get("months", 0)
    return _checked(Duration(span, months), value)


def parse_moment(value: object) -> datetime:
    """Read a timestamp with its zone (`2026-11-15T20:12:14Z`); ValueError if it is not one."""
    if not isinstance(value, str):
        message = f"expected a timestamp such as '2026-11-15T20:12:14Z', not {value!r}"
        raise ValueError(message)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        message = f"{value!r} is not a timestamp such as '2026-11-15T20:12:14Z'"
        raise ValueError(message) from error
    if moment.tzinfo is None:
        message = f"{value!r} does not name its time zone; add 'Z' or an offset such as '+02:00'"
        raise ValueError(message)
    return to_milliseconds(in_utc(moment))


def in_utc(moment: datetime) -> datetime:
    """`moment`, which names its zone, in UTC; ValueError if it lies outside the years 1 to 9999."""
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        message = f"{moment.isoformat()} is before the year 1 or after the year 9999 in UTC"
        raise ValueError(message) from error


def to_milliseconds(moment: datetime) -> datetime:
    """`moment` cut to whole milliseconds, the precision of every store."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@lru_cache(maxsize=64)  # all that a turn writes has few moments
def epoch_ms(moment: datetime) -> int:
    """Milliseconds since 1970, exactly."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000


def from_epoch_ms(milliseconds: int) -> datetime:
    """The moment that `epoch_ms` names, bounded by the first and last representable ones.

    Thus every row can be read, whatever value was written into it.
    """
    try:
        return exactly_from_epoch_ms(milliseconds)
    except OverflowError:
        return EARLIEST if milliseconds < 0 else LATEST


def exactly_from_epoch_ms(milliseconds: int) -> datetime:
    """The moment that `epoch_ms` names; OverflowError if it is not representable."""
    return _EPOCH + milliseconds * _MILLISECOND


@lru_cache(maxsize=1024)
def iso(moment: datetime) -> str:
    """`moment` as users see it, bounded by the first and last representable ones.

    All are spelled alike, in UTC with three digits behind the second, and so sort as text.
    """
    try:
        return Instant(moment).format_iso(unit="millisecond")
    except ValueError:
        # Outside the years 1 to 9999 in UTC, because of its zone: a log may hold one.
        return Instant(from_epoch_ms(epoch_ms(moment))).format_iso(unit="millisecond")


_MILLISECOND = timedelta(milliseconds=1)


def _checked(duration: Duration, value: object) -> Duration:
    """`duration` in whole milliseconds, the precision of every store, rounded up."""
    if duration.span < timedelta(0) or duration.months < 0:
        message = f"{value!r} is negative; a duration cannot be"
        raise ValueError(message)
    if duration.span > LONGEST or duration.months > 12_000:
        message = f"{value!r} is longer than a thousand years"
        raise ValueError(message)
    return Duration(-(-duration.span // _MILLISECOND) * _MILLISECOND, duration.months)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
