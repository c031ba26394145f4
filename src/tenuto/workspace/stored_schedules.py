"""The schedules of one tenant: what needs a store alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import msgspec

from tenuto.calendars import WorkingCalendar
from tenuto.definition.report import did_you_mean
from tenuto.engine.schedules.documents import document_of, schedule_of
from tenuto.model.checks import calculable, within
from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.errors import NotFound, Problem
from tenuto.model.json import JSON
from tenuto.schedules import OneTime, Recurring, Schedule, in_words, preview
from tenuto.schedules.documents import ReadSchedule, read_schedule
from tenuto.store.parts.schedules import ScheduleRow, TickPlace, TickRow
from tenuto.store.protocol import Parts
from tenuto.workspace.cursors import Milliseconds, Number, read_cursor, write_cursor
from tenuto.workspace.portions import page_by_name, size_of_parts
from tenuto.workspace.schedule_values import (
    ANY_SCHEDULE,
    PreviewedTick,
    RecordMetadata,
    SavedSchedule,
    ScheduleFilter,
    SchedulePreview,
    TickCause,
    TickRecord,
)
from tenuto.workspace.source import Source
from tenuto.workspace.stored_calendars import StoredCalendars
from tenuto.workspace.values import MOST_ITEMS, Page

MOST_PREVIEWED = 200
_CAUSES: dict[str, TickCause] = {"": "schedule", "manual": "trigger", "backfill": "backfill"}
_TIMES = (
    *("type", "cron", "cronExpression", "executeAt", "timezone", "startDate", "endDate", "dst"),
    *("timing", "jitter", "calendar", "onNonWorking"),
)
"""The fields of a document on which its ticks depend."""


class _Place(NamedTuple):
    """The last tick of a page."""

    nominal_ms: Milliseconds
    is_range: Number


class StoredSchedules:
    """The schedules of one tenant, as the store has them."""

    def __init__(self, source: Source, tenant: str, calendars: StoredCalendars) -> None:
        self._source = source
        self._tenant = tenant
        self._calendars = calendars

    async def get(self, id: str) -> SavedSchedule:
        """A schedule, and how it stands; NotFound."""
        return shown(await self.row(id))

    async def page(
        self,
        which: ScheduleFilter = ANY_SCHEDULE,
        *,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[SavedSchedule]:
        """A page of schedules, ordered by id; large inputs end it before its limit."""
        within(limit, "limit", 1, MOST_ITEMS)
        rows, next_cursor = await self._page(which, limit, cursor)
        return Page(items=[*map(shown, rows)], next_cursor=next_cursor)

    async def preview(
        self, id: str, *, count: int = 10, after: datetime | None = None
    ) -> list[PreviewedTick]:
        """The next ticks of a schedule after a moment, by default now; NotFound."""
        within(count, "count", 1, MOST_PREVIEWED)
        schedule = schedule_of(await self.row(id))
        if schedule is None:
            # A newer program wrote it: its `problem` says so.
            return []
        return await self._previewed(schedule, await self._working(schedule), count, after)

    async def preview_document(
        self, document: JSON, *, count: int = 10, after: datetime | None = None
    ) -> SchedulePreview:
        """The next ticks of a schedule that is not saved, and all its problems."""
        within(count, "count", 1, MOST_PREVIEWED)
        now = self._source.clock.now()
        calendars = await self._calendars.known()
        read = await self._read(document, calendars, now)
        schedule, problems = read.schedule, read.problems
        if schedule is not None:
            problems = await self._all_problems(document, schedule) or problems
        elif isinstance(document, dict):
            # Its times may be sound, and its target not chosen yet.
            times = {name: document[name] for name in _TIMES if name in document}
            target: JSON = {"taskId": "any"}
            schedule = (await self._read({**times, "target": target}, calendars, now)).schedule
        if schedule is None:
            return SchedulePreview(valid=False, problems=problems, in_words=None, items=[])
        working = calendars.get(schedule.calendar or "")
        return SchedulePreview(
            valid=not any(each.severity == "error" for each in problems),
            problems=problems,
            in_words=words_of(schedule),
            items=await self._previewed(schedule, working, count, after),
        )

    async def ticks(self, id: str, limit: int = 100) -> list[TickRecord]:
        """What became of the ticks of a schedule, newest first; NotFound."""
        found: list[TickRecord] = []
        cursor: str | None = None
        while len(found) < limit:
            wanted = min(limit - len(found), MOST_ITEMS)
            page = await self.tick_page(id, limit=wanted, cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def tick_page(
        self, id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Page[TickRecord]:
        """A page of its ticks, newest first; NotFound."""
        within(limit, "limit", 1, MOST_ITEMS)
        place = read_cursor(cursor, _Place)
        await self.row(id)
        below = (
            None
            if place is None
            else TickPlace(from_epoch_ms(place.nominal_ms), bool(place.is_range))
        )
        rows = await self._seen.schedules.ticks(self._tenant, id, limit + 1, below=below)
        items = rows[:limit]
        last = _Place(epoch_ms(items[-1].nominal), int(items[-1].is_range)) if items else None
        return Page(
            items=[*map(tick_record, items)],
            next_cursor=write_cursor(last) if len(rows) > limit else None,
        )

    async def row(self, id: str) -> ScheduleRow:
        """A schedule as the store has it; NotFound."""
        found = await self._seen.schedules.get(self._tenant, id)
        if found is not None:
            return found
        known = await self._seen.schedules.ids(self._tenant, MOST_ITEMS)
        otherwise = "`tenuto schedules list` shows those that there are."
        raise NotFound(
            f"there is no schedule {id}", code="TEN-3080", advice=did_you_mean(id, known, otherwise)
        )

    # -- inner

    async def _page(
        self, which: ScheduleFilter, limit: int, cursor: str | None
    ) -> tuple[list[ScheduleRow], str | None]:
        async def read(after: str, count: int) -> Sequence[ScheduleRow]:
            return await self._seen.schedules.page(
                self._tenant,
                after=after,
                limit=count,
                workflow_id=which.workflow_id,
                calendar_id=which.calendar,
                status=which.status,
            )

        return await page_by_name(
            limit, cursor, read, name=attrgetter("id"), size=lambda row: size_of_parts(row.content)
        )

    async def _all_problems(
        self,
        document: JSON,  # noqa: ARG002 - for those that have an engine
        schedule: Schedule,  # noqa: ARG002
    ) -> tuple[Problem, ...]:
        """All problems of a document, with those of its target and input, if they are known."""
        return ()

    async def _read(
        self, document: JSON, calendars: Mapping[str, WorkingCalendar], now: datetime
    ) -> ReadSchedule:
        """Read a document; aside if it names a calendar, which may skip thousands of its times."""
        read = partial(read_schedule, document, calendars, now)
        if not isinstance(document, dict) or document.get("calendar") is None:
            return read()
        return await self._source.plans.values.aside(read, tenant=self._tenant)

    async def _working(self, schedule: Schedule) -> WorkingCalendar | None:
        if schedule.calendar is None:
            return None
        return (await self._calendars.known()).get(schedule.calendar)

    async def _previewed(
        self,
        schedule: Schedule,
        working: WorkingCalendar | None,
        count: int,
        after: datetime | None,
    ) -> list[PreviewedTick]:
        moment = self._source.clock.now() if after is None else calculable(after, "from")
        found = await self._source.plans.values.aside(
            partial(preview, schedule, working, moment, count), tenant=self._tenant
        )
        return [
            PreviewedTick(nominal=each.nominal, at=each.at, skipped=each.skipped) for each in found
        ]

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)

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
        found: list[SavedSchedule] = []
        cursor: str | None = None
        while len(found) < limit:
            page = await self.page(which, limit=min(limit - len(found), MOST_ITEMS), cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        return found


def words_of(schedule: Schedule) -> str:
    """When a schedule fires, for people."""
    match schedule.timing:
        case OneTime(at=at):
            return f"once, at {at:%Y-%m-%d %H:%M:%S} UTC"
        case Recurring() as timing:
            return in_words(
                timing,
                has_calendar=schedule.calendar is not None,
                on_non_working=schedule.on_non_working,
            )


def shown(row: ScheduleRow, problems: Iterable[Problem] = ()) -> SavedSchedule:
    """A schedule as users see it."""
    document = document_of(row)
    schedule = schedule_of(row)
    return msgspec.convert(
        {
            **{name: value for name, value in document.items() if name != "metadata"},
            "id": row.id,
            "version": row.revision,
            "status": row.status,
            "nextExecution": row.next_tick if row.status == "active" else None,
            "lastExecuted": row.last_executed,
            "lastInstanceId": row.last_instance_id,
            "note": row.note,
            "problem": row.problem,
            "inWords": "" if schedule is None else words_of(schedule),
            "metadata": RecordMetadata(
                created_by=row.created_by or "",
                created_at=row.created_at,
                last_modified_at=row.changed_at,
                description=None if schedule is None else schedule.description,
                definition=None if schedule is None else schedule.definition,
            ),
            "problems": tuple(problems),
        },
        SavedSchedule,
    )


def tick_record(row: TickRow) -> TickRecord:
    """What became of a tick, as users see it."""
    return TickRecord(
        nominal=row.nominal,
        at=row.at,
        outcome=row.outcome,
        cause=_CAUSES[row.mark],
        instance_id=row.instance_id,
        reason=row.reason,
        count=row.count,
        last=row.last,
    )
