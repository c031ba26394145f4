"""The business calendars of one tenant: what needs a store alone, and arithmetic in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from operator import attrgetter
from zoneinfo import ZoneInfo

import msgspec
from whenever import TimeDelta

from tenuto.calendars import (
    Hours,
    WorkingCalendar,
    add,
    days,
    parse_working_duration,
    working_time_between,
)
from tenuto.calendars.calendar import WEEKDAYS, clock
from tenuto.calendars.days import MOST_DAYS, reason
from tenuto.calendars.working_time import worked_days
from tenuto.definition.report import did_you_mean
from tenuto.engine.definitions.calendar_values import Resolved, document_of
from tenuto.model.checks import calculable, within
from tenuto.model.durations import iso
from tenuto.model.errors import InvalidInput, NotFound, Problem
from tenuto.model.pauses import between_parts
from tenuto.model.working_time import WorkingDuration
from tenuto.store.parts.calendars import CalendarRow
from tenuto.store.protocol import Parts
from tenuto.workspace.calendar_uses import calendar_uses
from tenuto.workspace.portions import page_by_name, size_of_parts
from tenuto.workspace.schedule_values import (
    CalendarDay,
    CalendarUses,
    CountedDay,
    RecordMetadata,
    SavedCalendar,
    WorkingSpan,
)
from tenuto.workspace.source import Source
from tenuto.workspace.values import MOST_ITEMS, Page

MOST_COUNTED = 400
"""So many days of a calculation are listed."""
_ALL = 10_000
_DAY = timedelta(days=1)
_LONGEST = MOST_DAYS * _DAY


class StoredCalendars:
    """The business calendars of one tenant, as the store has them."""

    def __init__(self, source: Source, tenant: str) -> None:
        self._source = source
        self._tenant = tenant

    async def get(self, id: str, version: int | None = None) -> SavedCalendar:
        """A calendar as it was saved; the newest version unless one is given. NotFound."""
        return await self._shown(await self._row(id, version))

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedCalendar]:
        """A page of calendars, ordered by id; long lists of dates end it before its limit."""
        within(limit, "limit", 1, MOST_ITEMS)

        async def read(after: str, count: int) -> Sequence[CalendarRow]:
            return await self._seen.calendars.page(self._tenant, after=after, limit=count)

        rows, next_cursor = await page_by_name(
            limit, cursor, read, name=attrgetter("id"), size=lambda row: size_of_parts(row.document)
        )
        return Page(items=[await self._shown(row) for row in rows], next_cursor=next_cursor)

    async def uses(self, id: str) -> CalendarUses:
        """The schedules, calendars and workflows that name a calendar; NotFound."""
        await self._row(id)
        values = self._source.plans.values
        return await calendar_uses(self._seen, values, self._tenant, id)

    async def days(self, id: str, first: date, last: date) -> list[CalendarDay]:
        """The days from `first` to `last`, both included, each with its hours; NotFound."""
        working = await self._working(await self._row(id))
        # Ten years of days with many hours are megabytes.
        work = partial(_days, working, first, last)
        return await self._source.plans.values.aside(work, tenant=self._tenant)

    async def add(self, id: str, start: datetime, duration: str | int) -> WorkingSpan:
        """When a duration of working time is over that begins at `start`; NotFound.

        `PT4H` is working time, `P3D` working days; a number is milliseconds.
        """
        calculable(start, "from")
        try:
            length = parse_working_duration(duration)
        except ValueError as error:
            problem = Problem(
                code="TEN-1015",
                path="$.duration",
                message=str(error)[:200],
                advice="Write `PT4H` for working time, or `P3D` for working days.",
            )
            raise InvalidInput("nothing can be added", [problem]) from None
        row = await self._row(id)
        if _least(length) > _LONGEST:
            # Centuries of a calendar would be counted only to name the end.
            raise _too_long("duration", "it lasts more than ten years")
        working = await self._working(row)
        # Where each year has to be looked at, two hundred of them take a tenth of a second.
        at = await self._source.plans.values.aside(
            partial(add, working, start, length), tenant=self._tenant
        )
        return await self._span(working, row.version, start, at, "duration")

    async def between(self, id: str, start: datetime, end: datetime) -> WorkingSpan:
        """The working time between two moments; NotFound."""
        calculable(start, "from")
        calculable(end, "to")
        if end < start:
            problem = Problem(
                code="TEN-2716",
                path="$.to",
                message="it is before `from`",
                advice="Name the earlier moment first.",
            )
            raise InvalidInput("there is nothing between these moments", [problem])
        row = await self._row(id)
        return await self._span(await self._working(row), row.version, start, end, "to")

    async def known(self) -> Mapping[str, WorkingCalendar]:
        """The working time of each calendar, by id."""
        rows = await self._seen.calendars.page(self._tenant, limit=_ALL)
        return Resolved({row.id: row for row in rows}, self._source.clock.now().year)

    # -- inner

    async def _span(
        self, working: WorkingCalendar, version: int, start: datetime, end: datetime, name: str
    ) -> WorkingSpan:
        if end - start > _LONGEST:
            raise _too_long(name, f"it lasts until {iso(end)}, which is more than ten years")
        calculable(end, name)
        work = partial(_span, working, version, start, end)
        return await self._source.plans.values.aside(work, tenant=self._tenant)

    async def _working(self, row: CalendarRow) -> WorkingCalendar:
        """The working time of a calendar, of which only those that it extends are read."""
        rows = {row.id: row}
        known = Resolved(rows, self._source.clock.now().year)
        while (parent := known.chain(row.id)[-1]) not in rows:
            found = await self._seen.calendars.get(self._tenant, parent)
            if found is None:
                break
            rows = {**rows, parent: found}
            known = known.with_rows(rows)
        work, tenant = partial(known.get, row.id), self._tenant
        working = await self._source.plans.values.read(known.cost(row.id), work, tenant=tenant)
        if working is None:
            problem = Problem(
                code="TEN-2712",
                path="$",
                message=f"the calendar {row.id} cannot be read, or one that it extends is gone",
                advice="Save it again.",
            )
            raise InvalidInput(f"the calendar {row.id} has no working time", [problem])
        return working

    async def _row(self, id: str, version: int | None = None) -> CalendarRow:
        newest = await self._seen.calendars.get(self._tenant, id)
        if newest is None:
            known = [each.id for each in await self._seen.calendars.page(self._tenant)]
            advice = did_you_mean(id, known, "`tenuto calendars list` shows the calendars.")
            raise NotFound(f"there is no calendar {id}", code="TEN-3083", advice=advice)
        if version is None or version == newest.version:
            return newest
        row = await self._seen.calendars.get(self._tenant, id, version)
        if row is None:
            raise NotFound(
                f"the calendar {id} has no version {version}",
                code="TEN-3083",
                advice=f"Its newest version is {newest.version}.",
            )
        return row

    async def _shown(self, row: CalendarRow, problems: Iterable[Problem] = ()) -> SavedCalendar:
        first = row
        if row.version > 1:
            first = await self._seen.calendars.get(self._tenant, row.id, 1) or row
        return shown(row, first, problems)

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)

    async def list(self) -> list[SavedCalendar]:
        """Every calendar, ordered by id."""
        found: list[SavedCalendar] = []
        cursor: str | None = None
        while True:
            page = await self.page(limit=MOST_ITEMS, cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return found


def shown(row: CalendarRow, first: CalendarRow, problems: Iterable[Problem] = ()) -> SavedCalendar:
    """A version of a calendar as users see it; `first` is its first version."""
    document = document_of(row)
    week = document.get("week")
    if isinstance(week, dict):
        # The store keeps its fields in another order.
        document["week"] = {day: week[day] for day in WEEKDAYS if day in week}
    metadata = document.pop("metadata", None)
    description = metadata.get("description") if isinstance(metadata, dict) else None
    return msgspec.convert(
        {
            "holidays": [],
            "dates": [],
            "week": {},
            **document,
            "id": row.id,
            "version": row.version,
            "metadata": RecordMetadata(
                created_by=first.created_by or "",
                created_at=first.created_at,
                last_modified_at=row.created_at,
                description=description if isinstance(description, str) else None,
            ),
            "problems": tuple(problems),
        },
        SavedCalendar,
    )


def _too_long(name: str, message: str) -> InvalidInput:
    problem = Problem(code="TEN-2716", path=f"$.{name}", message=message, advice="Ask for less.")
    return InvalidInput("this is not calculated", [problem])


def _least(length: WorkingDuration) -> timedelta:
    """So long a duration lasts at least, in a calendar that works day and night."""
    days = 28 * length.months + 7 * length.weeks + length.days
    # The clock may be set forward, and the first day may have begun.
    return (days - 2) * _DAY + length.span


def _span(working: WorkingCalendar, version: int, start: datetime, end: datetime) -> WorkingSpan:
    worked = worked_days(working, start, end)
    return WorkingSpan(
        start=start,
        at=end,
        working_time=_text(working_time_between(working, start, end)),
        working_days=len(worked),
        days=list(_counted(working, start, end, worked)),
        version=version,
    )


def _days(working: WorkingCalendar, first: date, last: date) -> list[CalendarDay]:
    # Few days have hours of their own: each text is made once.
    texts: dict[Hours, list[str]] = {}
    found: list[CalendarDay] = []
    for day in days(working, first, last):
        between_parts()
        shown = texts.get(day.hours)
        if shown is None:
            shown = texts[day.hours] = _texts(day.hours)
        found.append(CalendarDay(date=day.date, hours=shown, kind=day.kind, name=day.name))
    return found


def _counted(
    working: WorkingCalendar, start: datetime, end: datetime, worked: Mapping[date, timedelta]
) -> Iterator[CountedDay]:
    zone = ZoneInfo(working.timezone)
    first, last = start.astimezone(zone).date(), end.astimezone(zone).date()
    last = min(last, first + _DAY * (MOST_COUNTED - 1))
    day = first
    while day <= last:
        between_parts()
        found = worked.get(day, timedelta())
        yield CountedDay(
            date=day, worked=_text(found), reason=None if found else reason(working, day)
        )
        day += _DAY


def _text(span: timedelta) -> str:
    return TimeDelta(span).format_iso()


def _texts(hours: Hours) -> list[str]:
    return [f"{clock(span.start)}-{clock(span.end)}" for span in hours]
