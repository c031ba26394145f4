"""The days of a calendar, one by one, each with its hours and the reason."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal

from msgspec import Struct

from tenuto.calendars.calendar import DAY_NAMES, MONTH_NAMES, hours_text
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.working_time import Hours, SpecialDay, WorkingCalendar

MOST_DAYS = 3_700
"""Ten years: the most days that are listed at once."""


class Day(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One day of a calendar."""

    date: date
    hours: Hours = ()
    kind: Literal["week", "holiday", "date"] = "week"
    """What its hours come from: its weekday, a holiday of a country, or a date of the calendar."""
    name: str | None = None
    """The name of the holiday or of the date."""


def day(calendar: WorkingCalendar, on: date) -> Day:
    """One day."""
    return _day(calendar, on, {each.date: each for each in calendar.special if each.date == on})


def days(calendar: WorkingCalendar, first: date, last: date) -> tuple[Day, ...]:
    """The days from `first` to `last`, both included; InvalidInput if they are too many."""
    count = (last - first).days + 1
    if not 1 <= count <= MOST_DAYS:
        message = f"from {first} to {last} are {count:,} days"
        problem = Problem(
            code="TEN-2716",
            path="$.to",
            message=message,
            advice=f"Ask for 1 to {MOST_DAYS:,} days.",
        )
        raise InvalidInput("these days cannot be listed", [problem])
    special = {each.date: each for each in calendar.special if first <= each.date <= last}
    return tuple(_day(calendar, first + timedelta(days=index), special) for index in range(count))


def reason(calendar: WorkingCalendar, on: date) -> str:
    """Why a moment of a day is not working time, in words."""
    found = day(calendar, on)
    shown = f"{DAY_NAMES[on.weekday()][:3]} {on.day} {MONTH_NAMES[on.month - 1][:3]} {on.year}"
    if found.hours:
        return f"{shown}: outside of working hours ({hours_text(found.hours)})"
    match found.kind:
        case "week":
            return f"{shown} is not a working day"
        case "holiday":
            return f"{shown} is a holiday: {found.name}"
        case "date":
            return f"{shown} is a day off: {found.name}" if found.name else f"{shown} is a day off"


def _day(calendar: WorkingCalendar, on: date, special: dict[date, SpecialDay]) -> Day:
    found = special.get(on)
    if found is None:
        return Day(date=on, hours=calendar.week[on.weekday()])
    return Day(date=on, hours=found.hours, kind=found.kind, name=found.name)
