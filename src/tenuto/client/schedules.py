"""The schedules and calendars of a server."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import date, datetime
from functools import partial
from typing import Any, Literal, TypeVar

import msgspec

from tenuto.client.operations import Operations
from tenuto.client.pages import every, up_to
from tenuto.model.checks import aware
from tenuto.model.errors import InvalidDefinition, InvalidInput
from tenuto.model.json import JSON
from tenuto.workspace.schedule_values import (
    ANY_SCHEDULE,
    CalendarDay,
    CalendarUses,
    ImportedDates,
    PreviewedTick,
    SavedCalendar,
    SavedSchedule,
    ScheduleFilter,
    SchedulePreview,
    TickRecord,
    WorkingSpan,
)
from tenuto.workspace.values import BulkOperation, Page

T = TypeVar("T")


class RemoteSchedules:
    """What is started at certain times: workflows, tasks and callbacks."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedSchedule:
        """Save a schedule, new or not; without an id it is a new one. InvalidInput.

        With `only_after` it is saved only while that is its version; Conflict.
        """
        given = document if isinstance(document, dict) else {}
        id = given.get("id", given.get("scheduleId"))
        if isinstance(id, str) and id:
            put = self._operations.put_schedule(id, document, if_match=tag_of(only_after))
            return await of_input(put)
        return await of_input(self._operations.add_schedule(document))

    async def get(self, id: str) -> SavedSchedule:
        """A schedule, and how it stands; NotFound."""
        return await self._operations.get_schedule(id)

    async def page(
        self,
        which: ScheduleFilter = ANY_SCHEDULE,
        *,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[SavedSchedule]:
        """A page of schedules, ordered by id."""
        return await self._operations.list_schedules(
            status=which.status,
            workflow_id=which.workflow_id,
            calendar=which.calendar,
            limit=limit,
            cursor=cursor,
        )

    async def pause(self, id: str, note: str | None = None) -> SavedSchedule:
        """Pass over its ticks until it is resumed; NotFound."""
        return await self._operations.pause_schedule(id, note=note)

    async def resume(self, id: str) -> SavedSchedule:
        """Start its ticks again, from now on; NotFound."""
        return await self._operations.resume_schedule(id)

    async def trigger(self, id: str, at: datetime | None = None) -> TickRecord:
        """Start its target now, as the tick of the nominal time `at`, by default now; NotFound."""
        return await self._operations.trigger_schedule(id, at=aware(at, "at"))

    async def backfill(
        self,
        id: str,
        start: datetime,
        end: datetime,
        *,
        concurrency: int = 10,
        overlap: Literal["allow", "skip", "queue", "cancel-running"] = "allow",
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Start the ticks from `start` to `end` that were not started; NotFound.

        At most `concurrency` of its instances run at the same time. With `dry_run` the ticks are
        only counted.
        """
        aware(start, "from")
        aware(end, "to")
        return await self._operations.backfill_schedule(
            id,
            from_=start,
            to=end,
            concurrency=concurrency,
            overlap=overlap,
            dry_run=dry_run,
            key=key,
        )

    async def preview(
        self, id: str, *, count: int = 10, after: datetime | None = None
    ) -> list[PreviewedTick]:
        """Its next ticks after a moment, by default now; NotFound."""
        found = await self._operations.preview_schedule(id, count=count, from_=aware(after, "from"))
        return msgspec.convert(found["items"], list[PreviewedTick])

    async def preview_document(
        self, document: JSON, *, count: int = 10, after: datetime | None = None
    ) -> SchedulePreview:
        """The next ticks of a schedule that is not saved, and all its problems."""
        return await self._operations.preview_schedule_document(
            document, count=count, from_=aware(after, "from")
        )

    async def ticks(self, id: str, limit: int = 100) -> list[TickRecord]:
        """What became of its ticks, newest first; NotFound."""
        return await up_to(limit, partial(self._operations.list_ticks, id))

    async def tick_page(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[TickRecord]:
        """A page of its ticks, newest first; NotFound."""
        return await self._operations.list_ticks(id, limit=limit, cursor=cursor)

    async def remove(self, id: str) -> None:
        """Remove it; instances that it has started go on. NotFound."""
        await self._operations.remove_schedule(id)

    async def list(
        self,
        *,
        status: str | None = None,
        workflow: str | None = None,
        calendar: str | None = None,
        limit: int = 100,
    ) -> list[SavedSchedule]:
        """Schedules, ordered by id."""
        which = msgspec.convert(
            {"status": status, "workflowId": workflow, "calendar": calendar}, ScheduleFilter
        )
        return await up_to(limit, partial(self.page, which))


class RemoteCalendars:
    """Business calendars: weekly hours, holidays and dates, in versions."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedCalendar:
        """Save a calendar, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is the newest version; Conflict.
        """
        id = document.get("id") if isinstance(document, dict) else None
        if isinstance(id, str) and id:
            put = self._operations.put_calendar(id, document, if_match=tag_of(only_after))
            return await of_input(put)
        return await of_input(self._operations.add_calendar(document))

    async def get(self, id: str, version: int | None = None) -> SavedCalendar:
        """A calendar as it was saved; the newest version unless one is given. NotFound."""
        return await self._operations.get_calendar(id, version=version)

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedCalendar]:
        """A page of calendars, ordered by id."""
        return await self._operations.list_calendars(limit=limit, cursor=cursor)

    async def uses(self, id: str) -> CalendarUses:
        """The schedules, calendars and workflows that name a calendar; NotFound."""
        found = await self._operations.get_calendar(id, include="uses")
        return found.used_by or CalendarUses()

    async def days(self, id: str, first: date, last: date) -> list[CalendarDay]:
        """The days from `first` to `last`, both included, each with its hours; NotFound."""
        found = await self._operations.list_calendar_days(id, from_=first, to=last)
        return msgspec.convert(found["items"], list[CalendarDay])

    async def import_dates(self, id: str, text: str | bytes) -> ImportedDates:
        """Add the whole days of an iCalendar file to the dates of a calendar, as days off."""
        body = text.encode() if isinstance(text, str) else text
        return await self._operations.import_calendar_dates(id, body)

    async def add(self, id: str, start: datetime, duration: str | int) -> WorkingSpan:
        """When a duration of working time is over that begins at `start`; NotFound.

        `PT4H` is working time, `P3D` working days; a number is milliseconds.
        """
        aware(start, "from")
        adding = self._operations.add_working_time(id, from_=start, duration=duration)
        return await of_input(adding)

    async def between(self, id: str, start: datetime, end: datetime) -> WorkingSpan:
        """The working time between two moments; NotFound."""
        aware(start, "from")
        aware(end, "to")
        return await self._operations.get_working_time(id, from_=start, to=end)

    async def remove(self, id: str) -> None:
        """Remove a calendar; Conflict while something names it. NotFound."""
        await self._operations.remove_calendar(id)

    async def list(self) -> list[SavedCalendar]:
        """Every calendar, ordered by id."""
        return await every(self._operations.list_calendars)


async def of_input(asked: Coroutine[Any, Any, T]) -> T:
    """The answer; problems that definitions can have too are those of an input here."""
    try:
        return await asked
    except InvalidDefinition as error:
        refused = InvalidInput(error.message, error.problems)
        refused.code, refused.advice = error.code, error.advice
        raise refused from None


def tag_of(version: int | None) -> str | None:
    """The value of If-Match for a version; None: without one."""
    return None if version is None else f'"{version}"'
