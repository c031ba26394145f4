"""Business calendars: working time as values, and arithmetic in it. No I/O, no clock."""

from __future__ import annotations

from tenuto.calendars.calendar import Calendar, HolidayRule, Hours, OwnDate, Span
from tenuto.calendars.days import Day, days
from tenuto.calendars.durations import WorkingDuration, parse_working_duration
from tenuto.calendars.resolution import Unresolved, resolve
from tenuto.calendars.working_calendar import SpecialDay, WorkingCalendar
from tenuto.calendars.working_time import (
    add,
    is_working,
    last_working_moment,
    next_working_moment,
    working_time_between,
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
