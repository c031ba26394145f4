"""Moments in words, by the clock of a calendar."""

from __future__ import annotations

from datetime import datetime, timedelta

from tenuto.calendars.calendar import DAY_NAMES, MONTH_NAMES
from tenuto.calendars.zones import moment_of, seconds_of, to_local
from tenuto.model.working_time import WorkingCalendar

_NEAR = timedelta(days=6)
"""Within so many days, a weekday is enough."""


def local_text(calendar: WorkingCalendar, moment: datetime, now: datetime) -> str:
    """`Mon 09:30 Europe/Berlin`, or with its date if it is not within some days of `now`."""
    wall = moment_of(to_local(calendar.timezone, seconds_of(moment)))
    day = DAY_NAMES[wall.weekday()][:3]
    if abs(moment - now) > _NEAR:
        day = f"{day} {wall.day} {MONTH_NAMES[wall.month - 1][:3]} {wall.year}"
    return f"{day} {wall.hour:02}:{wall.minute:02} {calendar.timezone}"
