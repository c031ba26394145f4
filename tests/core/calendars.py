"""Calendars for histories: complete values, so that no library of holidays changes them."""

from __future__ import annotations

from datetime import date

from tenuto.calendars import Hours, Span, SpecialDay, WorkingCalendar
from tenuto.calendars.working_calendar import with_version
from tenuto.model.policy import Policies

_OFFICE: Hours = (Span(540, 720), Span(780, 1020))
_SHORT: Hours = (Span(600, 720),)


def office(hours: Hours = _OFFICE) -> WorkingCalendar:
    """Berlin, Monday to Friday; New Year's Day and Epiphany are holidays."""
    calendar = WorkingCalendar(
        id="office",
        timezone="Europe/Berlin",
        week=(hours, hours, hours, hours, hours, (), ()),
        special=(
            SpecialDay(date=date(2026, 1, 1), name="New Year", kind="holiday"),
            SpecialDay(date=date(2026, 1, 6), name="Epiphany", kind="holiday"),
        ),
        first_year=2024,
        last_year=2036,
    )
    return with_version(calendar)


def policies(*calendars: WorkingCalendar) -> Policies:
    """The policies of a tenant with these calendars; without any, with that of the office."""
    given = {each.id: each for each in calendars or (office(),)}
    return Policies(calendars=given, version="-".join(each.version for each in given.values()))


def short_office() -> WorkingCalendar:
    """The same after an edit: two hours a day."""
    return office(_SHORT)
