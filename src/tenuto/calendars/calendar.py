"""Calendars as they are written: a zone, hours of a week, holidays, dates of their own."""

from __future__ import annotations

from datetime import date
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct

from tenuto.model.working_time import Hours

Weekday: TypeAlias = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: Final[tuple[Weekday, ...]] = get_args(Weekday)
"""In the order of `date.weekday`."""
DAY_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


class HolidayRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The holidays of a country or of a part of it."""

    country: str
    """ISO 3166: `DE`."""
    subdivision: str | None = None
    """`BY` of `DE-BY`."""
    categories: tuple[str, ...] = ()
    """Such as `public`, `bank`; none: those that are days off by law."""


class OwnDate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A date that is unlike its weekday: a day off, or one with hours of its own."""

    date: date
    hours: Hours = ()
    name: str | None = None


class Calendar(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A calendar as it was written; `resolve` gives its working time."""

    id: str
    name: str | None = None
    timezone: str | None = None
    """None: that of the calendar which it extends."""
    week: dict[Weekday, Hours] = {}
    """Weekdays that are not named are as in the calendar which it extends, else days off."""
    holidays: tuple[HolidayRule, ...] = ()
    dates: tuple[OwnDate, ...] = ()
    extends: str | None = None
    description: str | None = None


def clock(minutes: int) -> str:
    """A minute of the day as text: `09:30`."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def hours_text(hours: Hours) -> str:
    """Working hours as text: `09:00-12:00, 13:00-17:00`."""
    return ", ".join(f"{clock(span.start)}-{clock(span.end)}" for span in hours)
