"""Business calendars: working time as values, and arithmetic in it. No I/O, no clock."""

from __future__ import annotations

from tenuto.calendars.calendar import Calendar, HolidayRule, OwnDate
from tenuto.calendars.days import Day, days
from tenuto.calendars.resolution import Unresolved, resolve
from tenuto.calendars.working_time import (
    add,
    is_working,
    last_working_moment,
    next_working_moment,
    working_time_between,
)
from tenuto.model.working_time import (
    Hours,
    Span,
    SpecialDay,
    WorkingCalendar,
    WorkingDuration,
    parse_working_duration,
)

__all__ = [
    "Calendar",
    "Day",
    "HolidayRule",
    "Hours",
    "OwnDate",
    "Span",
    "SpecialDay",
    "Unresolved",
    "WorkingCalendar",
    "WorkingDuration",
    "add",
    "days",
    "is_working",
    "last_working_moment",
    "next_working_moment",
    "parse_working_duration",
    "resolve",
    "working_time_between",
]
