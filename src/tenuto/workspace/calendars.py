"""The business calendars of one tenant: saved, read, removed, and arithmetic in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import cast
from zoneinfo import ZoneInfo

import msgspec
from whenever import TimeDelta

from tenuto.calendars import (
    Calendar,
    OwnDate,
    WorkingCalendar,
    add,
    days,
    parse_working_duration,
    resolve,
    working_time_between,
)
from tenuto.calendars.calendar import Hours, clock
from tenuto.calendars.days import reason
from tenuto.calendars.documents import read_calendar, stored_calendar, write_calendar
from tenuto.calendars.ical import import_dates
from tenuto.calendars.resolution import MOST_EXTENDED, YEARS_AFTER, YEARS_BEFORE
from tenuto.calendars.working_time import working_spans
from tenuto.definition.report import did_you_mean
from tenuto.definition.slug import slug
from tenuto.model.checks import aware, within
from tenuto.model.durations import iso
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem
from tenuto.model.json import JSON, Object
from tenuto.store.parts.calendars import CalendarRow
from tenuto.store.protocol import Parts
from tenuto.workspace.calendar_uses import calendar_uses, uses_text
from tenuto.workspace.cursors import read_cursor, write_cursor
from tenuto.workspace.definitions import candidate_ids
from tenuto.workspace.schedule_values import (
    CalendarDay,
    CalendarUses,
    CountedDay,
    ImportedDates,
    RecordMetadata,
    SavedCalendar,
    WorkingSpan,
)
from tenuto.workspace.source import Source
from tenuto.workspace.values import MOST_ITEMS, Page

MOST_COUNTED = 400
"""So many days of a calculation are listed."""
MOST_CALENDARS = 1_000
"""A tenant has no more."""
_DAY = timedelta(days=1)
_LONGEST = 36_525 * _DAY


class Calendars:
    """The business calendars of one tenant, and their versions."""

    def __init__(
        self, source: Source, tenant: str, actor: str, changed: Callable[[], None] = lambda: None
    ) -> None:
        """`changed` is called when one was saved or removed."""
        self._source = source
        self._tenant = tenant
        self._actor = actor
        self._changed = changed

    # -- changes

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedCalendar:
        """Save a calendar, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is the newest version; Conflict.
        """
        if isinstance(document, dict) and "id" not in document:
            return await self.create(document)
        while True:
            calendar, problems = await self._read(document)
            before = await self._seen.calendars.newest(self._tenant, calendar.id)
            is_there = before is not None and not before.is_removed
            newest = before.version if before is not None and is_there else 0
            if only_after not in (None, newest):
                raise Conflict(
                    f"the calendar {calendar.id} has version {newest}", code="TEN-3413"
                )
            content = msgspec.json.encode(write_calendar(calendar))
            if before is not None and is_there and before.document == content:
                return await self._shown(before, problems)
            if not is_there:
                await self._refuse_beyond_quota()
            if (saved := await self._put(calendar, before)) is not None:
                return await self._shown(saved, problems)

    async def create(self, document: JSON) -> SavedCalendar:
        """Save a new calendar; Conflict where its id is taken.

        One without an id gets a free one, made of its name.
        """
        if isinstance(document, dict) and "id" not in document:
            for id in candidate_ids(slug(document, "calendar"), self._source.ids):
                if await self._seen.calendars.newest(self._tenant, id) is None:
                    with suppress(Conflict):
                        return await self.create({"id": id, **document})
        calendar, problems = await self._read(document)
        before = await self._seen.calendars.newest(self._tenant, calendar.id)
        if before is not None and not before.is_removed:
            raise _is_taken(calendar.id)
        await self._refuse_beyond_quota()
        saved = await self._put(calendar, before)
        if saved is None:
            raise _is_taken(calendar.id)
        return await self._shown(saved, problems)

    async def import_dates(self, id: str, text: str | bytes) -> ImportedDates:
        """Add the whole days of an iCalendar file to the dates of a calendar, as days off.

        A date that the calendar has already stays as it is. InvalidInput; NotFound.
        """
        while True:
            row = await self._row(id)
            calendar = _calendar(row)
            working = await self._working(row)
            year = self._year
            first, last = date(year - YEARS_BEFORE, 1, 1), date(year + YEARS_AFTER, 12, 31)
            found = import_dates(text, working.timezone, first, last)
            own = {each.date for each in calendar.dates}
            new = [each for each in found.dates if each.date not in own]
            left_out = [
                f"{each.name or 'a day'}: the calendar has {each.date} already"
                for each in found.dates
                if each.date in own
            ]
            imported = [_date_json(each) for each in new]
            if new:
                dates = sorted((*calendar.dates, *new), key=lambda each: each.date)
                changed = msgspec.structs.replace(calendar, dates=tuple(dates))
                # It is read again: with these dates it may have no working time left.
                changed, _ = await self._read(write_calendar(changed))
                saved = await self._put(changed, row)
                if saved is None:
                    continue
                row = saved
            return ImportedDates(
                calendar=await self._shown(row),
                imported=imported,
                left_out=[*found.left_out, *left_out][:100],
            )

    async def remove(self, id: str) -> None:
        """Remove a calendar; Conflict while something names it. NotFound.

        What has begun with it goes on with the version that it began with.
        """
        while True:
            row = await self._row(id)
            used = await self.uses(id)
            if said := uses_text(used):
                raise Conflict(
                    f"the calendar {id} is used by {said}",
                    code="TEN-3414",
                    advice="Change or remove what uses it first.",
                )
            removal = CalendarRow(
                tenant=self._tenant,
                id=id,
                version=row.version + 1,
                document=b"",
                created_at=self._source.clock.now(),
                created_by=self._actor,
                is_removed=True,
            )
            if await self._source.store.calendars.put(removal):
                self._changed()
                return

    # -- reads

    async def get(self, id: str, version: int | None = None) -> SavedCalendar:
        """A calendar as it was saved; the newest version unless one is given. NotFound."""
        return await self._shown(await self._row(id, version))

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

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedCalendar]:
        """A page of calendars, ordered by id."""
        within(limit, "limit", 1, MOST_ITEMS)
        after = read_cursor(cursor, str) or ""
        rows = await self._seen.calendars.page(self._tenant, after=after, limit=limit + 1)
        shown = rows[:limit]
        return Page(
            items=[await self._shown(row) for row in shown],
            next_cursor=write_cursor(shown[-1].id) if len(rows) > limit else None,
        )

    async def uses(self, id: str) -> CalendarUses:
        """The schedules, calendars and workflows that name a calendar; NotFound."""
        await self._row(id)
        return await calendar_uses(self._seen, self._tenant, id)

    async def days(self, id: str, first: date, last: date) -> list[CalendarDay]:
        """The days from `first` to `last`, both included, each with its hours; NotFound."""
        working = await self._working(await self._row(id))
        return [
            CalendarDay(date=day.date, hours=_texts(day.hours), kind=day.kind, name=day.name)
            for day in days(working, first, last)
        ]

    async def add(self, id: str, start: datetime, duration: str | float) -> WorkingSpan:
        """When a duration of working time is over that begins at `start`; NotFound.

        `PT4H` is working time, `P3D` working days; a number is milliseconds.
        """
        start = cast("datetime", aware(start, "from"))
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
        working = await self._working(row)
        return _span(working, row.version, start, add(working, start, length))

    async def between(self, id: str, start: datetime, end: datetime) -> WorkingSpan:
        """The working time between two moments; NotFound."""
        start, end = cast("datetime", aware(start, "from")), cast("datetime", aware(end, "to"))
        if end < start:
            problem = Problem(
                code="TEN-2716",
                path="$.to",
                message="it is before `from`",
                advice="Name the earlier moment first.",
            )
            raise InvalidInput("there is nothing between these moments", [problem])
        row = await self._row(id)
        return _span(await self._working(row), row.version, start, end)

    async def working(self, id: str) -> WorkingCalendar | None:
        """The working time of a calendar; None if there is none, or it cannot be resolved."""
        row = await self._seen.calendars.get(self._tenant, id)
        if row is None:
            return None
        with suppress(InvalidInput):
            return await self._working(row)
        return None

    # -- inner

    async def _read(self, document: JSON) -> tuple[Calendar, tuple[Problem, ...]]:
        """The calendar of a document, and its warnings; InvalidInput with all its problems."""
        id = document.get("id") if isinstance(document, dict) else None
        extends = document.get("extends") if isinstance(document, dict) else None
        others = await self._others(extends) if isinstance(extends, str) else {}
        read = read_calendar(document, others, self._year)
        if read.calendar is None:
            what = f"the calendar {id[:80]!r}" if isinstance(id, str) else "the calendar"
            raise InvalidInput(f"{what} cannot be saved", list(read.problems))
        await self._refuse_broken_heirs(read.calendar)
        return read.calendar, read.problems

    async def _refuse_broken_heirs(self, calendar: Calendar) -> None:
        """InvalidInput if a calendar that extends this one would have no working time left."""
        every = {row.id: _calendar(row) for row in await self._rows()}
        if not any(each.extends == calendar.id for each in every.values()):
            return
        every[calendar.id] = calendar
        for each in every.values():
            if each.id == calendar.id or calendar.id not in _ancestors(each, every):
                continue
            found = resolve(each, every, self._year)
            if not isinstance(found, WorkingCalendar):
                problems = [
                    msgspec.structs.replace(
                        problem, path="$", message=f"`{each.id}`, which extends it: {problem.message}"
                    )
                    for problem in found.problems
                ]
                raise InvalidInput(f"the calendar {calendar.id!r} cannot be saved", problems)

    async def _others(self, name: str) -> Mapping[str, Calendar]:
        """The calendars that one may extend: the chain from `name`; all, where it is unknown."""
        chain = await self._chain(name)
        if name in chain:
            return chain
        # The advice names the nearest.
        return {row.id: _calendar(row) for row in await self._rows()}

    async def _chain(self, name: str | None) -> dict[str, Calendar]:
        chain: dict[str, Calendar] = {}
        while name is not None and name not in chain and len(chain) <= MOST_EXTENDED:
            row = await self._seen.calendars.get(self._tenant, name)
            if row is None:
                break
            chain[name] = _calendar(row)
            name = chain[name].extends
        return chain

    async def _working(self, row: CalendarRow) -> WorkingCalendar:
        """The working time of a version, with what it inherits now."""
        chain = [row.document]
        names = {row.id}
        extends = _calendar(row).extends
        while extends is not None and extends not in names and len(chain) <= MOST_EXTENDED:
            parent = await self._seen.calendars.get(self._tenant, extends)
            if parent is None:
                break
            chain.append(parent.document)
            names.add(extends)
            extends = _calendar(parent).extends
        return _resolved(tuple(chain), self._year)

    async def _put(self, calendar: Calendar, before: CalendarRow | None) -> CalendarRow | None:
        """The version that follows `before`, once it is durable; None: another one does."""
        row = CalendarRow(
            tenant=self._tenant,
            id=calendar.id,
            version=1 if before is None else before.version + 1,
            document=msgspec.json.encode(write_calendar(calendar)),
            created_at=self._source.clock.now(),
            created_by=self._actor,
        )
        if not await self._source.store.calendars.put(row):
            return None
        self._changed()
        return row

    async def _refuse_beyond_quota(self) -> None:
        if len(await self._rows()) >= MOST_CALENDARS:
            raise Conflict(
                f"there are {MOST_CALENDARS:,} calendars already",
                code="TEN-3415",
                advice="Remove those that nothing uses.",
            )

    async def _rows(self) -> list[CalendarRow]:
        return await self._seen.calendars.page(self._tenant, limit=MOST_CALENDARS)

    async def _row(self, id: str, version: int | None = None) -> CalendarRow:
        newest = await self._seen.calendars.get(self._tenant, id)
        row = newest
        if newest is not None and version is not None:
            row = await self._seen.calendars.get(self._tenant, id, version)
        if row is not None:
            return row
        if newest is not None:
            raise NotFound(
                f"the calendar {id} has no version {version}",
                code="TEN-3411",
                advice=f"Its newest version is {newest.version}.",
            )
        known = [each.id for each in await self._rows()]
        otherwise = "`tenuto calendars list` shows those that there are."
        raise NotFound(
            f"there is no calendar {id}", code="TEN-3411", advice=did_you_mean(id, known, otherwise)
        )

    async def _shown(
        self, row: CalendarRow, problems: Iterable[Problem] = ()
    ) -> SavedCalendar:
        document = msgspec.json.decode(row.document, type=dict[str, JSON])
        first = row
        if row.version > 1:
            versions = await self._seen.calendars.get(self._tenant, row.id, 1)
            first = versions or row
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

    @property
    def _year(self) -> int:
        return self._source.clock.now().year

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)


@lru_cache(maxsize=256)
def _resolved(chain: tuple[bytes, ...], year: int) -> WorkingCalendar:
    """The working time of the first of some calendars, each of which the one before it extends."""
    calendars = [_stored(each) for each in chain]
    found = resolve(calendars[0], {each.id: each for each in calendars}, year)
    if not isinstance(found, WorkingCalendar):
        raise InvalidInput(f"the calendar {calendars[0].id!r} cannot be used", found.problems)
    return found


def _calendar(row: CalendarRow) -> Calendar:
    return _stored(row.document)


@lru_cache(maxsize=256)
def _stored(document: bytes) -> Calendar:
    return stored_calendar(msgspec.json.decode(document))


def _ancestors(calendar: Calendar, every: Mapping[str, Calendar]) -> list[str]:
    found: list[str] = []
    extends = calendar.extends
    while extends is not None and extends not in found and extends in every:
        found.append(extends)
        extends = every[extends].extends
    return found


def _span(
    working: WorkingCalendar, version: int, start: datetime, end: datetime
) -> WorkingSpan:
    if end - start > _LONGEST:
        problem = Problem(
            code="TEN-2716",
            path="$",
            message=f"it lasts until {iso(end)}, which is more than 100 years",
            advice="Ask for less.",
        )
        raise InvalidInput("this is not calculated", [problem])
    counted = list(_counted(working, start, end))
    worked = working_time_between(working, start, end)
    return WorkingSpan(
        start=start,
        at=end,
        working_time=_text(worked),
        working_days=_working_days(working, start, end),
        days=counted,
        version=version,
    )


def _working_days(working: WorkingCalendar, start: datetime, end: datetime) -> int:
    zone = ZoneInfo(working.timezone)
    return len({opens.astimezone(zone).date() for opens, _ in working_spans(working, start, end)})


def _counted(working: WorkingCalendar, start: datetime, end: datetime) -> Iterator[CountedDay]:
    zone = ZoneInfo(working.timezone)
    worked: dict[date, timedelta] = {}
    first, last = start.astimezone(zone).date(), end.astimezone(zone).date()
    last = min(last, first + _DAY * (MOST_COUNTED - 1))
    for opens, closes in working_spans(working, start, end):
        day = opens.astimezone(zone).date()
        if day > last:
            break
        worked[day] = worked.get(day, timedelta()) + (closes - opens)
    day = first
    while day <= last:
        found = worked.get(day, timedelta())
        yield CountedDay(
            date=day, worked=_text(found), reason=None if found else reason(working, day)
        )
        day += _DAY


def _text(span: timedelta) -> str:
    return TimeDelta(span).format_iso()


def _texts(hours: Hours) -> list[str]:
    return [f"{clock(span.start)}-{clock(span.end)}" for span in hours]


def _date_json(own: OwnDate) -> Object:
    found: Object = {"date": own.date.isoformat()}
    return found if own.name is None else {**found, "name": own.name}


def _is_taken(id: str) -> Conflict:
    return Conflict(
        f"there is a calendar {id} already",
        code="TEN-3412",
        advice="Change it with PUT, or choose another id.",
    )
