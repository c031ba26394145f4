"""Resolves a calendar and those that it extends into one value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from msgspec import Struct

from tenuto.calendars.calendar import WEEKDAYS, Calendar
from tenuto.calendars.public_holidays import holidays_of
from tenuto.calendars.working_calendar import with_version
from tenuto.calendars.working_time import has_working_time
from tenuto.calendars.zones import FIRST_YEAR, LAST_YEAR
from tenuto.model.errors import Problem
from tenuto.model.pauses import between_parts
from tenuto.model.working_time import Hours, SpecialDay, WorkingCalendar

MOST_EXTENDED = 10
"""The longest chain of calendars that extend each other."""
YEARS_BEFORE = 2
YEARS_AFTER = 10
"""For which years around the present one holidays are known."""


class Unresolved(Struct, frozen=True):
    """Why a calendar has no working time of its own."""

    problems: tuple[Problem, ...]


def resolve(
    calendar: Calendar, others: Mapping[str, Calendar], year: int
) -> WorkingCalendar | Unresolved:
    """The working time of `calendar`, with the holidays of the years around `year`.

    `others` are the calendars that can be extended, by id.
    """
    chain = [calendar]
    while (parent := chain[-1].extends) is not None:
        names = [each.id for each in chain]
        if parent in names:
            way = " → ".join((*names[names.index(parent) :], parent))
            return _refused("TEN-2713", "$.extends", f"it extends itself: {way}")
        if parent not in others:
            whose = "" if len(chain) == 1 else f", which `{chain[-1].id}` extends"
            return _refused("TEN-2714", "$.extends", f"there is no calendar `{parent}`{whose}")
        if len(chain) == MOST_EXTENDED:
            message = f"more than {MOST_EXTENDED} calendars extend each other"
            return _refused("TEN-2713", "$.extends", message)
        chain.append(others[parent])
    zone = next((each.timezone for each in chain if each.timezone is not None), None)
    if zone is None:
        return _refused("TEN-2711", "$.timezone", "neither it nor what it extends names a zone")
    first, last = max(year - YEARS_BEFORE, FIRST_YEAR), min(year + YEARS_AFTER, LAST_YEAR)
    chain.reverse()  # The calendar itself comes last, and wins.
    resolved = with_version(
        WorkingCalendar(
            id=calendar.id,
            timezone=zone,
            week=_week(chain),
            special=_special(chain, range(first, last + 1)),
            first_year=first,
            last_year=last,
        )
    )
    if not has_working_time(resolved):
        return _refused("TEN-2712", "$.week", "no day has working time")
    return resolved


def _week(chain: list[Calendar]) -> tuple[Hours, Hours, Hours, Hours, Hours, Hours, Hours]:
    week = {name: hours for each in chain for name, hours in each.week.items()}
    mon, tue, wed, thu, fri, sat, sun = (week.get(name, ()) for name in WEEKDAYS)
    return mon, tue, wed, thu, fri, sat, sun


def _special(chain: list[Calendar], years: range) -> tuple[SpecialDay, ...]:
    days: dict[date, SpecialDay] = {}
    for each in chain:
        for rule in each.holidays:
            between_parts()
            for day, name in holidays_of(rule, years).items():
                days[day] = SpecialDay(date=day, name=name, kind="holiday")
    # A calendar's own dates count more than any holiday.
    for each in chain:
        for own in each.dates:
            days[own.date] = SpecialDay(date=own.date, hours=own.hours, name=own.name)
    return tuple(days[day] for day in sorted(days))


def _refused(code: str, path: str, message: str) -> Unresolved:
    from tenuto.model.codes import CATALOGUE  # noqa: PLC0415  read only where one is refused

    return Unresolved(
        (Problem(code=code, path=path, message=message, advice=CATALOGUE[code].advice),)
    )
