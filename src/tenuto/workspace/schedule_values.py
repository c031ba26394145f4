"""The values of schedules and calendars that cross the workspace protocol."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object

ScheduleStatus: TypeAlias = Literal["active", "paused", "completed", "error"]
TickOutcome: TypeAlias = Literal["started", "skipped", "refused", "missed", "queued"]
TickCause: TypeAlias = Literal["schedule", "trigger", "backfill"]


class RecordMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Who made a schedule or a calendar, and when."""

    created_by: str
    created_at: datetime
    last_modified_at: datetime
    description: str | None = None
    definition: str | None = None
    """The workflow function that has the schedule as its argument `cron`, and that removes it."""


# -- schedules


class SavedSchedule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A schedule as it is saved, and how it stands."""

    id: str
    version: int
    """Rises with each change of the document."""
    type: Literal["recurring", "one-time"]
    target: Object
    """`{workflowId, version?}`, `{taskId}` or `{callbackUrl, retryPolicy}`."""
    overlap: Literal["allow", "skip", "queue", "cancel-running"]
    catch_up: Object
    """`{mode, window}`."""
    status: ScheduleStatus
    next_execution: datetime | None
    """When the next tick is started; None: there is none, or it is paused."""
    last_executed: datetime | None
    last_instance_id: str | None
    note: str | None
    """Why it is paused, as the one who paused it wrote."""
    problem: str | None
    """Why no tick can succeed, of one in `error`."""
    in_words: str
    """When it fires, for people."""
    metadata: RecordMetadata
    name: str | None = None
    cron: str | None = None
    execute_at: datetime | None = None
    timezone: str | None = None
    start_date: datetime | None = None
    end_date: datetime | None = None
    dst: Object | None = None
    input: JSON | UnsetType = UNSET
    jitter: str | None = None
    calendar: str | None = None
    on_non_working: Literal["skip", "next", "previous"] | None = None
    problems: tuple[Problem, ...] = ()
    """Warnings about what was saved."""


class ScheduleFilter(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which schedules; a field that is not given does not count."""

    status: ScheduleStatus | None = None
    workflow_id: str | None = None
    """Those that start this workflow."""
    calendar: str | None = None


ANY_SCHEDULE = ScheduleFilter()


class PreviewedTick(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A tick that is to come."""

    nominal: datetime
    at: datetime
    """When it is started: moved by the calendar, delayed by the jitter."""
    skipped: str | None = None
    """Why it is not started."""


class SchedulePreview(Struct, frozen=True, kw_only=True, rename="camel"):
    """The next ticks of a schedule, saved or not, and its problems."""

    valid: bool
    """Whether it can be saved."""
    problems: tuple[Problem, ...]
    in_words: str | None
    """When it fires, for people; None: its times cannot be read."""
    items: list[PreviewedTick]


class TickRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What became of a tick."""

    nominal: datetime
    at: datetime
    """When that was decided."""
    outcome: TickOutcome
    cause: TickCause = "schedule"
    """What asked for it: its time, a principal, or a backfill."""
    instance_id: str | None = None
    reason: str | None = None
    count: int = 1
    """Of missed and skipped ticks: how many, from `nominal` to `last`."""
    last: datetime | None = None


# -- calendars


class CalendarUses(Struct, frozen=True, kw_only=True):
    """What names a calendar; at most 100 of each."""

    schedules: list[str] = []
    calendars: list[str] = []
    """Those that extend it."""
    workflows: list[str] = []


class SavedCalendar(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A version of a calendar as it is saved."""

    id: str
    version: int
    metadata: RecordMetadata
    week: dict[str, list[str]]
    """Weekdays with their hours: `{"mon": ["09:00-17:00"]}`."""
    holidays: list[Object]
    dates: list[Object]
    name: str | None = None
    timezone: str | None = None
    extends: str | None = None
    """The calendar that it inherits from."""
    used_by: CalendarUses | None = None
    """Where it was asked for."""
    problems: tuple[Problem, ...] = ()
    """Warnings about what was saved."""


class CalendarDay(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One day of a calendar."""

    date: date
    hours: list[str]
    """Working hours: `["09:00-17:00"]`; none: it is not a working day."""
    kind: Literal["week", "holiday", "date"]
    """What the hours come from: the weekday, a holiday of a country, a date of the calendar."""
    name: str | None = None
    """Of the holiday or the date."""


class ImportedDates(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a file of dates gave."""

    calendar: SavedCalendar
    imported: list[Object]
    """Dates that the calendar has from the file: `{date, name?}`."""
    left_out: list[str]
    """Events of the file that are no days off, each with the reason; at most 100."""


class CountedDay(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How much of a day was counted."""

    date: date
    worked: str
    """Working time of the day within the span: `PT4H`."""
    reason: str | None = None
    """Why nothing of it is."""


class WorkingSpan(Struct, frozen=True, kw_only=True, rename="camel"):
    """Two moments, and the working time between them."""

    start: datetime = msgspec.field(name="from")
    at: datetime
    """The end."""
    working_time: str
    """`PT12H30M`."""
    working_days: int
    """Days with working time in the span; 0 where it is empty."""
    days: list[CountedDay]
    """How it was counted, day by day; at most 400."""
    version: int
    """Of the calendar."""
