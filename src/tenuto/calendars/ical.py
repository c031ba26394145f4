"""Dates of an iCalendar file (RFC 5545): its events that last whole days become days off.

A file is a stranger's: its size, its events, and the dates that its rules give are bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, cast
from zoneinfo import ZoneInfo

from msgspec import Struct

from tenuto.calendars.calendar import OwnDate
from tenuto.calendars.recurrence import Frequency, Recurrence, dates
from tenuto.calendars.zones import zone_of
from tenuto.model.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from icalendar import Event

MOST_BYTES = 1_000_000
MOST_EVENTS = 5_000
MOST_DATES = 5_000
MOST_DAYS_TRIED = 40_000
"""The most days that all rules of a file are asked about, and that its events last."""
_LONGEST_NAME = 200
_LONGEST_ZONE = 255
"""Of the zones that a file itself describes, too: a longer name is no path of the database."""
_LONGEST_SHOWN = 60
_LONGEST_EVENT = 366
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FOLD = re.compile(r"\r?\n[ \t]")
_ZONE_NAME = re.compile(r'[;:]TZID[=:]"?([^":;\r\n]+)', re.IGNORECASE)
_KNOWN = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYMONTH", "BYMONTHDAY", "BYDAY", "WKST"})


class Imported(Struct, frozen=True, kw_only=True):
    """What a file gave."""

    dates: tuple[OwnDate, ...]
    """In order, each date once."""
    left_out: tuple[str, ...]
    """Events that are no days off, each with the reason; at most 100."""


def import_dates(text: bytes | str, zone: str, first: date, last: date) -> Imported:
    """The days off of a file between two dates; InvalidInput if it is not a calendar.

    `zone` is the zone of the calendar that they are for.
    """
    import icalendar  # noqa: PLC0415  a tenth of a second, for those who import a file

    if len(text) > MOST_BYTES:
        raise _refused(f"the file has more than {MOST_BYTES // 1_000_000} MB")
    content = ""
    try:
        content = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        _refuse_long_zones(content)
        calendar = icalendar.Calendar.from_ical(content)
        events = _Events(calendar.walk("VEVENT") if calendar.name == "VCALENDAR" else None)
        events.read_all(ZoneInfo(zone), first, last)
    except InvalidInput:
        raise
    except OSError as error:  # of a zone's name that is no file; it would show where files are
        raise _refused(_unknown_zone(content)) from error
    except Exception as error:  # a library that meets a stranger's file may raise anything
        said = " ".join(str(error).split())[:200]
        raise _refused(f"the file is not an iCalendar file: {said}") from error
    return Imported(dates=events.dates(), left_out=tuple(events.left_out))


def _zone_names(content: str) -> list[str]:
    return _ZONE_NAME.findall(_FOLD.sub("", content))


def _refuse_long_zones(content: str) -> None:
    if any(len(name) > _LONGEST_ZONE for name in _zone_names(content)):
        raise _refused(_unknown_zone(content))


def _unknown_zone(content: str) -> str:
    """What is wrong with the first zone that no database has."""
    unknown = next((name for name in _zone_names(content) if zone_of(name) is None), None)
    if unknown is None:
        return "the file names an unknown time zone"
    shown = json.dumps(unknown[:_LONGEST_SHOWN])
    return f"the file names the unknown time zone {shown}"


class _Events:
    def __init__(self, events: Iterable[object] | None) -> None:
        if events is None:
            raise _refused("the file does not begin with BEGIN:VCALENDAR")
        self._all = cast("list[Event]", list(events))
        self._names: dict[date, dict[str, None]] = {}
        """The names of each date, in the order of the file."""
        self.left_out: list[str] = []
        self._tried = 0

    def read_all(self, zone: ZoneInfo, first: date, last: date) -> None:
        if len(self._all) > MOST_EVENTS:
            raise _refused(f"the file has more than {MOST_EVENTS:,} events")
        for event in self._all:
            self._read(event, zone, first, last)

    def dates(self) -> tuple[OwnDate, ...]:
        """In order, each with all its names."""
        return tuple(
            OwnDate(date=day, name=", ".join(islice(names, _LONGEST_NAME))[:_LONGEST_NAME] or None)
            for day, names in sorted(self._names.items(), key=lambda item: item[0])
        )

    def _read(self, event: Event, zone: ZoneInfo, first: date, last: date) -> None:
        name = " ".join(str(event.get("SUMMARY", "")).replace("\0", "").split())[:_LONGEST_NAME]
        whole = _whole_days(event, zone)
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            self._leave_out(name, "it is cancelled")
        elif whole is None:
            self._leave_out(name, "it does not last whole days")
        elif whole[1] > _LONGEST_EVENT:
            self._leave_out(name, f"it lasts more than {_LONGEST_EVENT} days")
        else:
            start, length = whole
            for day in self._starts(event, name, start, first - timedelta(days=length), last):
                self._add(day, length, name, first, last)

    def _starts(
        self, event: Event, name: str, start: date, first: date, last: date
    ) -> Iterable[date]:
        found = {start, *_listed(event, "RDATE")}
        rule = _rule(event)
        if isinstance(rule, str):
            self._leave_out(name, f"of its repetitions only the first is taken: {rule}")
        elif rule is not None:
            found |= set(dates(rule, start, first, last, self._spend))
        return sorted(found - set(_listed(event, "EXDATE")))

    def _add(self, start: date, length: int, name: str, first: date, last: date) -> None:
        begin = start.toordinal()
        for number in range(
            max(begin, first.toordinal()), min(begin + length, last.toordinal() + 1)
        ):
            self._spend()
            names = self._names.setdefault(date.fromordinal(number), {})
            if name:
                names[name] = None
            if len(self._names) > MOST_DATES:
                raise _refused(f"the file has more than {MOST_DATES:,} dates")

    def _spend(self) -> None:
        self._tried += 1
        if self._tried > MOST_DAYS_TRIED:
            raise _refused("the events of the file repeat too often, or since too long ago")

    def _leave_out(self, name: str, why: str) -> None:
        if len(self.left_out) < 100:
            self.left_out.append(f"{name or 'an event without a name'}: {why}")


def _whole_days(event: Event, zone: ZoneInfo) -> tuple[date, int] | None:
    """The first day of an event and how many days it lasts; None if it lasts no whole days."""
    begins = _value(event, "DTSTART")
    ends = _value(event, "DTEND")
    lasts = _value(event, "DURATION")
    if isinstance(begins, datetime):
        begins = _local(begins, zone)
        if isinstance(ends, datetime):
            ends = _local(ends, zone)
        elif isinstance(lasts, timedelta):
            ends = begins + lasts
        if (
            not isinstance(ends, datetime)
            or begins.time() != ends.time()
            or any((begins.hour, begins.minute, begins.second))
        ):
            return None
        days = (ends.date() - begins.date()).days
        return (begins.date(), days) if days > 0 else None
    if not isinstance(begins, date):
        return None
    if isinstance(ends, date) and not isinstance(ends, datetime):
        return begins, max((ends - begins).days, 1)
    return begins, max(lasts.days, 1) if isinstance(lasts, timedelta) else 1


def _local(moment: datetime, zone: ZoneInfo) -> datetime:
    """A moment on the wall of the calendar's zone; one without a zone is there already."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(zone).replace(tzinfo=None)


def _value(event: Event, name: str) -> object:
    return getattr(event.get(name), "dt", None)


def _listed(event: Event, name: str) -> Iterable[date]:
    given = event.get(name)
    for each in given if isinstance(given, list) else [given]:
        for item in getattr(each, "dts", ()):
            value = item.dt
            yield value.date() if isinstance(value, datetime) else value


def _rule(event: Event) -> Recurrence | str | None:
    """The rule of an event, None if it has none, or why it is not taken."""
    given = event.get("RRULE")
    if given is None:
        return None
    if isinstance(given, list):
        return "it has several rules"
    parts = {str(name).upper(): value for name, value in dict(given).items()}
    unknown = sorted(set(parts) - _KNOWN)
    if unknown:
        return f"{', '.join(unknown)} is not supported"
    frequency = str(_one(parts.get("FREQ"))).upper()
    if frequency not in ("DAILY", "WEEKLY", "MONTHLY", "YEARLY"):
        return f"a day off does not repeat {frequency[:20]}"
    until = _one(parts.get("UNTIL"))
    count = _one(parts.get("COUNT"))
    return Recurrence(
        frequency=cast("Frequency", frequency),
        interval=max(int(str(_one(parts.get("INTERVAL")) or 1)), 1),
        count=None if count is None else int(str(count)),
        until=until.date() if isinstance(until, datetime) else cast("date | None", until),
        months=frozenset(int(str(each)) for each in _all(parts.get("BYMONTH"))),
        month_days=frozenset(int(str(each)) for each in _all(parts.get("BYMONTHDAY"))),
        weekdays=frozenset(_weekday(str(each)) for each in _all(parts.get("BYDAY"))),
        week_start=_WEEKDAYS.index(str(_one(parts.get("WKST")) or "MO").upper()),
    )


def _weekday(text: str) -> tuple[int, int]:
    number = text[:-2]
    return (int(number) if number else 0, _WEEKDAYS.index(text[-2:].upper()))


def _all(value: object) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _one(value: object) -> object:
    return next(iter(_all(value)), None)


def _refused(message: str) -> InvalidInput:
    problem = Problem(
        code="TEN-2718",
        path="$",
        message=message,
        advice="Export the calendar again as text/calendar, with fewer years.",
    )
    return InvalidInput("the dates were not imported", [problem])
