"""Calendars that tests share."""

from __future__ import annotations

from datetime import UTC, datetime

from tenuto.calendars import Hours, Span, SpecialDay, WorkingCalendar
from tenuto.calendars.documents import read_calendar
from tenuto.calendars.working_calendar import with_version
from tenuto.model.json import Object

OFFICE: Object = {
    "id": "office",
    "name": "Office",
    "timezone": "Europe/Berlin",
    "week": {day: ["09:00-12:00", "13:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
    "holidays": [{"country": "DE", "subdivision": "BY"}],
    "dates": [
        {"date": "2026-12-24", "name": "Christmas Eve"},
        {"date": "2026-12-31", "hours": ["09:00-12:00"], "name": "Last day"},
    ],
    "metadata": {"description": "Everybody in Munich"},
}


def office() -> WorkingCalendar:
    """Working hours from Monday to Friday, with the holidays of Bavaria."""
    read = read_calendar(OFFICE, {}, 2026)
    assert read.working is not None, read.problems
    return read.working


def weekly(
    zone: str, *week: Hours, special: tuple[SpecialDay, ...] = (), year: int = 2026
) -> WorkingCalendar:
    """A calendar with these hours from Monday on."""
    mon, tue, wed, thu, fri, sat, sun = week
    return with_version(
        WorkingCalendar(
            id="weekly",
            timezone=zone,
            week=(mon, tue, wed, thu, fri, sat, sun),
            special=special,
            first_year=year,
            last_year=year,
        )
    )


def hours(*spans: str) -> Hours:
    """`09:00-17:00` as a value."""
    found = []
    for span in spans:
        start, _, end = span.partition("-")
        found.append(Span(*(int(each[:2]) * 60 + int(each[3:]) for each in (start, end))))
    return tuple(found)


def at(text: str) -> datetime:
    """A moment in UTC: `2026-03-29 01:30`."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
