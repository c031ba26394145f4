"""The days of a calendar, one by one, each with its hours and the reason."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import date, timedelta
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from tenuto.calendars.calendar import DAY_NAMES, MONTH_NAMES, hours_text
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.working_time import Hours, SpecialDay, WorkingCalendar

MOST_DAYS = 3_700
"""Ten years: the most days that are listed at once."""
MOST_SPANS = 40_000
"""Ten a day for ten years: the most spans of hours that are listed at once."""
_DATE_OF = attrgetter("date")


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
    return _day(calendar, on, _special(calendar, on, on))


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
    special = _special(calendar, first, last)
    found = [_day(calendar, first + timedelta(days=index), special) for index in range(count)]
    spans = sum(len(each.hours) for each in found)
    if spans > MOST_SPANS:
        problem = Problem(
            code="TEN-2716",
            path="$.to",
            message=f"from {first} to {last} are {spans:,} spans of working hours",
            advice=f"Ask for fewer days: at most {MOST_SPANS:,} spans are listed.",
        )
        raise InvalidInput("these days cannot be listed", [problem])
    return tuple(found)


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


def _special(calendar: WorkingCalendar, first: date, last: date) -> dict[date, SpecialDay]:
    # They are in order, and there may be tens of thousands of them.
    begin = bisect_left(calendar.special, first, key=_DATE_OF)
    end = bisect_right(calendar.special, last, key=_DATE_OF)
    return {each.date: each for each in calendar.special[begin:end]}


def _day(calendar: WorkingCalendar, on: date, special: dict[date, SpecialDay]) -> Day:
    found = special.get(on)
    if found is None:
        return Day(date=on, hours=calendar.week[on.weekday()])
    return Day(date=on, hours=found.hours, kind=found.kind, name=found.name)
