"""Working time as values: calendars, durations beside a calendar, and which calendar was used.

The arithmetic is in `tenuto.calendars`.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct
from whenever import ItemizedDelta

from tenuto.model.durations import SHORT, parse_duration


class Span(NamedTuple):
    """Working hours without a break, in minutes of the day: 540 to 1020 is 09:00-17:00."""

    start: int
    end: int
    """The first minute after them; 1440 is the end of the day."""


Hours: TypeAlias = tuple[Span, ...]
"""The working hours of a day, in order; none: it is not a working day."""


class SpecialDay(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A date that is unlike its weekday, and the reason."""

    date: date
    hours: Hours = ()
    name: str | None = None
    kind: Literal["holiday", "date"] = "date"
    """Whether it is a holiday of a country, or a date of the calendar's own."""


class WorkingCalendar(Struct, frozen=True, kw_only=True, cache_hash=True, rename="camel"):
    """The working time of a calendar with all that it inherits.

    Holidays are dates here, so that another version of the library that knows them, or another law,
    changes no decision that was made before.
    """

    id: str
    timezone: str
    week: tuple[Hours, Hours, Hours, Hours, Hours, Hours, Hours]
    """From Monday on."""
    special: tuple[SpecialDay, ...] = ()
    """In order; each date once."""
    first_year: int
    last_year: int
    """The years for which holidays are known; others have none."""
    version: str = ""
    """A digest of everything above: equal versions have equal working time."""


class CalendarVersion(Struct, frozen=True, gc=False, kw_only=True):
    """Which calendar a moment was computed with."""

    id: str
    version: str


class WorkingDuration(Struct, frozen=True, omit_defaults=True):
    """A duration beside a calendar: its parts are added one after the other, the largest first."""

    months: int = 0
    """Months and years of the calendar on the wall."""
    weeks: int = 0
    days: int = 0
    """Working days."""
    span: timedelta = timedelta(0)
    """Working time."""


class BusinessDuration(Struct, frozen=True, kw_only=True):
    """A duration together with the calendar that it is counted in."""

    duration: WorkingDuration
    calendar: str
    """The id of the calendar."""


def parse_working_duration(value: object) -> WorkingDuration:
    """Read `P3D`, `PT4H`, `4h` or milliseconds; ValueError if it is none of them.

    Unlike `parse_duration` it keeps days apart from hours: with a calendar, `P1D` is a working day
    and `PT24H` is 24 hours of work.
    """
    whole = parse_duration(value)
    if not isinstance(value, str):
        return WorkingDuration(span=whole.span)
    if short := SHORT.match(value):
        weeks, days = (int(number or 0) for number in short.groups()[:2])
    else:
        parts = dict(ItemizedDelta.parse_iso(value).items())
        weeks, days = parts.get("weeks", 0), parts.get("days", 0)
    span = whole.span - timedelta(weeks=weeks, days=days)
    return WorkingDuration(whole.months, weeks, days, span)


def written(duration: WorkingDuration) -> str:
    """ISO 8601 text that `parse_working_duration` reads as `duration`."""
    parts = ((duration.months, "M"), (duration.weeks, "W"), (duration.days, "D"))
    date = "".join(f"{number}{unit}" for number, unit in parts if number)
    whole, microseconds = divmod(duration.span // timedelta(microseconds=1), 1_000_000)
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if microseconds:
        time += f"{seconds}.{microseconds:06d}".rstrip("0") + "S"
    elif seconds:
        time += f"{seconds}S"
    if not date and not time:
        return "PT0S"
    return f"P{date}T{time}" if time else f"P{date}"


def in_words(duration: WorkingDuration) -> str:
    """For messages: `4 working hours`, `3 working days and 30 minutes of working time`."""
    seconds = duration.span.total_seconds()
    hours, minutes = divmod(seconds / 60, 60)
    parts = [
        _counted(duration.months, "month"),
        _counted(duration.weeks, "week"),
        _counted(duration.days, "working day"),
    ]
    if seconds and seconds < 60:
        parts.append(_counted(seconds, "working second"))
    else:
        parts += [_counted(hours, "working hour"), _counted(minutes, "working minute")]
    found = [part for part in parts if part]
    return " and ".join(found) if found else "no working time"


def _counted(number: float, unit: str) -> str:
    return f"{number:g} {unit}{'' if number == 1 else 's'}" if number else ""
