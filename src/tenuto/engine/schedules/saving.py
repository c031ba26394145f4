"""Saves schedules: what a new document changes, and from when on it counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.document_bytes import DocumentBytes
from tenuto.engine.schedules.checks import Checks
from tenuto.engine.schedules.kept_back import kept_back
from tenuto.engine.schedules.lookup import MOST_TRIES, Lookup, busy, refuse_unless
from tenuto.engine.schedules.targets import Targets
from tenuto.engine.schedules.work import CONFIRM_AFTER
from tenuto.engine.shared import Shared
from tenuto.model.errors import Conflict, InvalidInput, Problem
from tenuto.model.json import JSON
from tenuto.model.quotas import refuse_beyond
from tenuto.schedules import OneTime, Schedule, newest_due, next_start
from tenuto.schedules.documents import write_schedule
from tenuto.store.parts.schedules import Fire, ScheduleRow

_MILLISECOND = timedelta(milliseconds=1)


class Saved(NamedTuple):
    """A schedule that was saved, and the warnings about its document."""

    row: ScheduleRow
    warnings: tuple[Problem, ...]


class Saving:
    """Stores the documents of users."""

    def __init__(
        self,
        shared: Shared,
        *,
        calendars: Calendars,
        checks: Checks,
        targets: Targets,
        lookup: Lookup,
        documents: DocumentBytes,
        hint: Callable[[], None],
    ) -> None:
        """`hint`: there may be something to do."""
        self._store = shared.store
        self._clock = shared.clock
        self._settings = shared.settings
        self._calendars = calendars
        self._checks = checks
        self._targets = targets
        self._lookup = lookup
        self._documents = documents
        self._hint = hint

    async def is_saved(self, tenant: str, document: JSON) -> bool:
        """Whether saving a document would change nothing; false also where it is not valid."""
        schedule = (await self._checks.check(tenant, document)).schedule
        if schedule is None:
            return False
        row = await self._store.schedules.get(tenant, schedule.id)
        if row is None:
            return False
        written = write_schedule(self._owned(schedule, row))
        return row.content == msgspec.json.encode(written, order="deterministic")

    async def save(
        self,
        tenant: str,
        document: JSON,
        *,
        by: str | None,
        id: str | None = None,
        only_after: int | None = None,
        is_new: bool = False,
    ) -> ScheduleRow:
        """The same as `save_checked`, without the warnings."""
        saved = await self.save_checked(
            tenant, document, by=by, id=id, only_after=only_after, is_new=is_new
        )
        return saved.row

    async def save_checked(
        self,
        tenant: str,
        document: JSON,
        *,
        by: str | None,
        id: str | None = None,
        only_after: int | None = None,
        is_new: bool = False,
    ) -> Saved:
        """Save a schedule; unchanged content changes nothing.

        One that a workflow function owns stays its own, also if the document does not say so.

        InvalidInput with all problems. Conflict where `is_new` and there is one, or unless
        `only_after` is its revision (0: there is none). QuotaExceeded.
        """
        checked = await self._checks.check(tenant, document, id=id)
        if checked.schedule is None:
            errors = [each for each in checked.problems if each.severity == "error"]
            raise InvalidInput("the schedule cannot be saved", errors)
        schedule = checked.schedule
        warnings = tuple(each for each in checked.problems if each.severity == "warning")
        for _ in range(MOST_TRIES):
            row = await self._store.schedules.get(tenant, schedule.id)
            if is_new and row is not None:
                raise Conflict(f"there is a schedule {schedule.id}", code="TEN-3081")
            refuse_unless(schedule.id, 0 if row is None else row.revision, only_after)
            if row is None:
                most = self._settings.quotas.schedules
                used = await self._store.schedules.stored(tenant, most)
                refuse_beyond("schedules", used, most)
            else:
                schedule = self._owned(schedule, row)
            content = msgspec.json.encode(write_schedule(schedule), order="deterministic")
            if row is not None:
                if row.content == content:
                    return Saved(row, warnings)
                row = await self._answered(await self._lookup.advanced(row), schedule)
            saved = await self._saved_row(tenant, schedule, content, row, by)
            more = len(content) - (0 if row is None else len(row.content))
            save = partial(self._store.schedules.save, saved)
            if await self._documents.keep("schedule_bytes", tenant, more, save):
                self._hint()
                return Saved(saved, warnings)
        raise busy(schedule.id)

    def _owned(self, schedule: Schedule, row: ScheduleRow) -> Schedule:
        """The schedule with the workflow function that owns the saved one."""
        there = self._lookup.of(row)
        if schedule.definition is not None or there is None:
            return schedule
        return replace(schedule, definition=there.definition)

    async def _saved_row(
        self,
        tenant: str,
        schedule: Schedule,
        content: bytes,
        row: ScheduleRow | None,
        by: str | None,
    ) -> ScheduleRow:
        now = self._clock.now()
        if schedule.calendar is not None:
            # After the row was read: one that another process changed since then has moved it.
            await self._calendars.look()
        calendar = await self._checks.calendar(tenant, schedule)
        before = None if row is None else self._lookup.of(row)
        if row is not None and before is not None and _times(before) == _times(schedule):
            handled = row.handled
        elif isinstance(schedule.timing, OneTime):
            handled = min(now, schedule.timing.at - _MILLISECOND)
        else:
            # A tick that the calendar moves before now, when there was no such schedule, is none.
            handled = max(now, newest_due(schedule, calendar, now) or now)
        following = next_start(schedule, calendar, handled)
        made = ScheduleRow(
            tenant=tenant,
            id=schedule.id,
            content=content,
            revision=1,
            version=1,
            status="active",
            next_at=None if following is None else following.at,
            next_tick=None if following is None else following.at,
            handled=handled,
            workflow_id=self._targets.workflow_id(schedule),
            calendar_id=schedule.calendar,
            created_at=now,
            created_by=by,
            changed_at=now,
            changed_by=by,
        )
        if row is None:
            return made
        # Soon: what is under way, and what waits, is looked at by the new rules.
        is_paused = row.status == "paused"
        return replace(
            made,
            revision=row.revision + 1,
            version=row.version + 1,
            status="paused" if is_paused else "active",
            note=row.note,
            next_at=now + CONFIRM_AFTER if is_paused else now,
            next_tick=None if is_paused else made.next_tick,
            last_executed=row.last_executed,
            last_nominal=row.last_nominal,
            last_instance_id=row.last_instance_id,
            created_at=row.created_at,
            created_by=row.created_by,
        )

    async def _answered(self, row: ScheduleRow, schedule: Schedule) -> ScheduleRow:
        """A schedule after the ticks that pause or error kept back, if its times change now."""
        before = self._lookup.of(row)
        if row.status not in ("paused", "error") or before is None:
            return row
        if _times(before) == _times(schedule):
            return row
        calendars = await self._calendars.resolved(row.tenant)
        if before.calendar is not None and before.calendar not in calendars:
            return row
        calendar = None if before.calendar is None else calendars[before.calendar]
        now = self._clock.now()
        handled = max(row.handled, newest_due(before, calendar, now) or row.handled)
        started = await self._lookup.started(row.tenant, row.id)
        ticks = kept_back(row, before, calendar, handled, now, started=started)
        if not ticks:
            return row
        state = replace(row, version=row.version + 1, handled=handled)
        lost = await self._store.schedules.fire([Fire(row=state, ticks=ticks)])
        return row if lost else state  # of an older version, which is not saved


def _times(schedule: Schedule) -> tuple[object, ...]:
    """What the times of a schedule follow from."""
    return (schedule.timing, schedule.calendar, schedule.on_non_working, schedule.jitter)
