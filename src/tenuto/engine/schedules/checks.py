"""Checks documents of schedules: what they say, what they start, and their calendar."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial

import msgspec
from msgspec import Struct

from tenuto.calendars import WorkingCalendar
from tenuto.engine.definitions.calendars import Calendars
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.engine.schedules.documents import (
    COST,
    INPUT_ADVICE,
    Parsed,
    TickInput,
    compiled,
    input_problems,
    parse_again,
)
from tenuto.engine.schedules.targets import Targets
from tenuto.expr import ExpressionError, ExpressionSyntaxError
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON
from tenuto.model.own_names import is_callback
from tenuto.ports import Clock
from tenuto.schedules import Schedule, Tick, next_start, preview
from tenuto.schedules.documents import read_schedule


class Checked(Struct, frozen=True, kw_only=True):
    """The result of checking a document: its problems, and the schedule if it has no errors."""

    schedule: Schedule | None
    problems: tuple[Problem, ...]


class Checks:
    """Reads documents with all their problems."""

    def __init__(
        self, clock: Clock, calendars: Calendars, targets: Targets, values: LargeDocuments
    ) -> None:
        """`values`: the thread in which large documents are read."""
        self._values = values
        self._clock = clock
        self._calendars = calendars
        self._targets = targets

    async def check(self, tenant: str, document: JSON, *, id: str | None = None) -> Checked:
        """Read a document with all its problems; `id`: that of one that names none."""
        now = self._clock.now()
        calendars = await self._calendars.resolved(tenant)
        work = partial(_read, document, calendars, now, id or "schedule")
        found = await self._values.check(document, work, tenant=tenant, may_refuse=True, times=COST)
        if found.schedule is None:
            return Checked(schedule=None, problems=found.problems)
        schedule = found.schedule
        problems = [*found.problems, *self._targets.problems(tenant, schedule)]
        if not any(each.severity == "error" for each in problems):
            problems += await self._target_problems(tenant, schedule, found, now)
        is_sound = not any(each.severity == "error" for each in problems)
        return Checked(schedule=schedule if is_sound else None, problems=tuple(problems))

    async def _target_problems(
        self, tenant: str, schedule: Schedule, found: _Found, now: datetime
    ) -> list[Problem]:
        target = await self._targets.find(tenant, schedule)
        if isinstance(target, Problem):
            return [target]
        assert found.input is not None  # there are no errors
        if found.again.schedule is None:
            message = found.again.problem or "it cannot be read again"
            return [Problem(code="TEN-2725", path="$", message=message, advice="Correct it.")]
        first = next_start(schedule, None, now)
        work = partial(found.input.at, now if first is None else first.nominal)
        try:
            input = await self._values.read(found.input.cost, work, tenant=tenant)
        except ExpressionError as error:
            return [
                Problem(code="TEN-1031", path="$.input", message=str(error), advice=INPUT_ADVICE)
            ]
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


class _Found(Struct, frozen=True, kw_only=True):
    """What a document by itself says."""

    schedule: Schedule | None
    problems: tuple[Problem, ...]
    again: Parsed = Parsed(schedule=None)
    """What it says once it is stored."""
    input: TickInput | None = None
    """None: it has errors."""


def _read(
    document: JSON, calendars: Mapping[str, WorkingCalendar], now: datetime, id: str
) -> _Found:
    read = read_schedule(document, calendars, now, fallback_id=id)
    if read.schedule is None:
        return _Found(schedule=None, problems=read.problems)
    try:
        input, faults = compiled(read.schedule), []
    except ExpressionSyntaxError:
        input, faults = None, input_problems(read.schedule)
    try:
        again = parse_again(read.schedule)
    except Exception as error:  # noqa: BLE001 - then it would not be read from the store either
        again = Parsed(schedule=None, problem=f"{type(error).__name__}: {error}"[:1_000])
    return _Found(
        schedule=read.schedule, problems=(*read.problems, *faults), again=again, input=input
    )
