"""Checks documents of schedules: what they say, what they start, and their calendar."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from tenuto.calendars import WorkingCalendar
from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.schedules.documents import input_problems, parse
from tenuto.engine.schedules.targets import Targets
from tenuto.expr import ExpressionError
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON
from tenuto.model.own_names import is_callback
from tenuto.ports import Clock
from tenuto.schedules import Schedule, Tick, next_start, preview
from tenuto.schedules.documents import read_schedule, write_schedule
from tenuto.store.parts.schedules import ScheduleRow


class Checked(Struct, frozen=True, kw_only=True):
    """The result of checking a document: its problems, and the schedule if it has no errors."""

    schedule: Schedule | None
    problems: tuple[Problem, ...]


class Checks:
    """Reads documents with all their problems."""

    def __init__(self, clock: Clock, calendars: Calendars, targets: Targets) -> None:
        self._clock = clock
        self._calendars = calendars
        self._targets = targets

    async def check(self, tenant: str, document: JSON, *, id: str | None = None) -> Checked:
        """Read a document with all its problems; `id`: that of one that names none."""
        now = self._clock.now()
        calendars = await self._calendars.resolved(tenant)
        read = read_schedule(document, calendars, now, fallback_id=id or "schedule")
        if read.schedule is None:
            return Checked(schedule=None, problems=read.problems)
        schedule = read.schedule
        problems = [
            *read.problems,
            *input_problems(schedule),
            *self._targets.problems(tenant, schedule),
        ]
        if not any(each.severity == "error" for each in problems):
            problems += await self._target_problems(tenant, schedule, now)
        is_sound = not any(each.severity == "error" for each in problems)
        return Checked(schedule=schedule if is_sound else None, problems=tuple(problems))

    async def _target_problems(
        self, tenant: str, schedule: Schedule, now: datetime
    ) -> list[Problem]:
        target = await self._targets.find(tenant, schedule)
        if isinstance(target, Problem):
            return [target]
        parsed = parse(_row(tenant, schedule, now))
        if parsed.schedule is None:
            message = parsed.problem or "it cannot be read again"
            return [Problem(code="TEN-2725", path="$", message=message, advice="Correct it.")]
        first = next_start(schedule, None, now)
        try:
            input = parsed.input_at(now if first is None else first.nominal)
        except ExpressionError as error:
            advice = "Templates of the input see `schedule`: id, nominal, previous and next."
            return [Problem(code="TEN-1031", path="$.input", message=str(error), advice=advice)]
        if is_callback(target.id):
            return []
        return [
            msgspec.structs.replace(each, path=f"$.input{each.path.removeprefix('$')}")
            for each in await self._targets.misfits(tenant, target, input)
        ]

    async def preview(
        self, tenant: str, schedule: Schedule, *, since: datetime | None = None, count: int = 10
    ) -> tuple[Tick, ...]:
        """The next ticks of a schedule after a moment, with the reason for each skip."""
        calendar = await self.calendar(tenant, schedule)
        return preview(schedule, calendar, self._clock.now() if since is None else since, count)

    async def calendar(self, tenant: str, schedule: Schedule) -> WorkingCalendar | None:
        """The calendar of a schedule, if it names one; InvalidInput if there is none."""
        if schedule.calendar is None:
            return None
        calendars = await self._calendars.resolved(tenant)
        if schedule.calendar not in calendars:
            problem = Problem(
                code="TEN-2726",
                path="$.calendar",
                message=f"there is no calendar {schedule.calendar}",
                advice="Make the calendar first.",
            )
            raise InvalidInput("the schedule has no calendar", [problem])
        return calendars[schedule.calendar]


def _row(tenant: str, schedule: Schedule, now: datetime) -> ScheduleRow:
    """A row with the document of a schedule alone."""
    return ScheduleRow(
        tenant=tenant,
        id=schedule.id,
        content=msgspec.json.encode(write_schedule(schedule)),
        revision=0,
        version=0,
        status="active",
        next_at=None,
        next_tick=None,
        handled=now,
        workflow_id=None,
        calendar_id=None,
        created_at=now,
        changed_at=now,
    )
