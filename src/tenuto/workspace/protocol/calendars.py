"""Business calendars of a workspace."""

from __future__ import annotations

from datetime import date, datetime
from typing import Protocol

from tenuto.model.json import JSON
from tenuto.workspace.schedule_values import (
    CalendarDay,
    CalendarUses,
    ImportedDates,
    SavedCalendar,
    WorkingSpan,
)
from tenuto.workspace.values import Page


class Calendars(Protocol):
    """Business calendars: weekly hours, holidays and dates, in versions."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedCalendar:
        """Save a calendar, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is the newest version; Conflict.
        """
        ...

    async def get(self, id: str, version: int | None = None) -> SavedCalendar:
        """A calendar as it was saved; the newest version unless one is given. NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedCalendar]:
        """A page of calendars, ordered by id."""
        ...

    async def uses(self, id: str) -> CalendarUses:
        """The schedules, calendars and workflows that name a calendar; NotFound."""
        ...

    async def days(self, id: str, first: date, last: date) -> list[CalendarDay]:
        """The days from `first` to `last`, both included, each with its hours; NotFound."""
        ...

    async def import_dates(self, id: str, text: str | bytes) -> ImportedDates:
        """Add the whole days of an iCalendar file to the dates of a calendar, as days off."""
        ...

    async def add(self, id: str, start: datetime, duration: str | int) -> WorkingSpan:
        """When a duration of working time is over that begins at `start`; NotFound.

        `PT4H` is working time, `P3D` working days; a number is milliseconds.
        """
        ...

    async def between(self, id: str, start: datetime, end: datetime) -> WorkingSpan:
        """The working time between two moments; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove a calendar; Conflict while something names it. NotFound."""
        ...

    async def list(self) -> list[SavedCalendar]:
        """Every calendar, ordered by id."""
        ...
