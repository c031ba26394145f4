"""Working time found minute by minute, with the clock of `zoneinfo` and no code of the product."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from tenuto.calendars import WorkingCalendar

MINUTE = timedelta(minutes=1)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Antarctica/Troll",
    "Africa/Cairo",
    "Asia/Kathmandu",
    "America/St_Johns",
)
EDGES = {
    "Europe/Berlin": [(2026, 3, 29), (2026, 10, 25)],
    "America/New_York": [(2026, 3, 8), (2026, 11, 1)],
    "Australia/Lord_Howe": [(2026, 4, 4), (2026, 10, 3)],
    "Pacific/Apia": [(2011, 12, 30), (2020, 4, 4)],
    "Africa/Casablanca": [(2026, 2, 15), (2026, 3, 22)],
    "Antarctica/Troll": [(2026, 3, 29), (2026, 10, 25)],
    "Africa/Cairo": [(2026, 4, 23), (2026, 10, 29)],
    "America/St_Johns": [(2026, 3, 8), (2006, 10, 29)],
    "UTC": [(2026, 12, 31)],
    "Asia/Kathmandu": [(2026, 1, 1), (1985, 12, 31)],
}
"""Days on which the clock of a zone is changed, or around which a year begins."""


def edges(zone: str) -> list[datetime]:
    return [datetime(*each, tzinfo=UTC) for each in EDGES[zone]]


class Oracle:
    """A calendar, asked one minute after the other."""

    def __init__(self, calendar: WorkingCalendar) -> None:
        self._calendar = calendar
        self._zone = ZoneInfo(calendar.timezone)
        self._special = {each.date: each.hours for each in calendar.special}

    def local(self, minute: datetime) -> datetime:
        return minute.astimezone(self._zone)

    def works(self, minute: datetime) -> bool:
        local = self.local(minute)
        hours = self._special.get(local.date(), self._calendar.week[local.weekday()])
        return any(start <= local.hour * 60 + local.minute < end for start, end in hours)

    def after(self, minute: datetime, count: int) -> datetime:
        """When so many working minutes have passed."""
        while count:
            count -= self.works(minute)
            minute += MINUTE
        return minute

    def between(self, start: datetime, end: datetime) -> timedelta:
        return sum(map(self.works, minutes(start, end))) * MINUTE

    def next(self, minute: datetime) -> datetime:
        while not self.works(minute):
            minute += MINUTE
        return minute

    def last(self, minute: datetime) -> datetime:
        """`minute` if it is working time, else the end of the last one before it."""
        if self.works(minute):
            return minute
        while not self.works(minute - MINUTE):
            minute -= MINUTE
        return minute

    def after_days(self, minute: datetime, count: int) -> datetime:
        """So many working days later at the same time of day, or at the next working minute."""
        day, time = self.local(minute).date(), self.local(minute).time()
        if not self._is_working_day(day):
            time = datetime.min.time()
            while not self._is_working_day(day):
                day += timedelta(days=1)
        while count:
            day += timedelta(days=1)
            count -= self._is_working_day(day)
        found = next(
            each
            for each in self._around(day)
            if self.local(each).date() > day
            or (self.local(each).date() == day and self.local(each).time() >= time)
        )
        return self.next(found)

    def _is_working_day(self, day: date) -> bool:
        return any(
            self.local(each).date() == day and self.works(each) for each in self._around(day)
        )

    def _around(self, day: date) -> Iterator[datetime]:
        """All minutes of a day, which need not be in one piece, with a day on either side."""
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return minutes(midnight - timedelta(days=1), midnight + timedelta(days=2, hours=2))


def minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    while start < end:
        yield start
        start += MINUTE
