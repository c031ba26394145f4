"""Reads the documents of calendars, with all their problems, and writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, cast

import msgspec
from msgspec import Meta, Struct

from tenuto.calendars.calendar import (
    DAY_NAMES,
    WEEKDAYS,
    Calendar,
    HolidayRule,
    OwnDate,
    clock,
)
from tenuto.calendars.public_holidays import countries, country
from tenuto.calendars.resolution import Unresolved, resolve
from tenuto.calendars.zones import is_zone, zone_names
from tenuto.definition.fields import UNUSABLE, Field, Fields, Record, Unusable, is_array, is_object
from tenuto.definition.json_check import is_sound
from tenuto.definition.plain_kinds import Id, ListOf, Text
from tenuto.definition.report import Place, Report, shown
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object, kind_of
from tenuto.model.working_time import Hours, Span, WorkingCalendar

MOST_DATES = 5_000
MOST_RULES = 50
_MANY_DATES = 50
_MOST_SPANS = 48
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})\s*-\s*([0-9]{1,2}):([0-9]{2})\Z")
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}\Z")


class ReadCalendar(Struct, frozen=True, kw_only=True):
    """The result of reading a document: its problems, and the calendar if it has no errors."""

    calendar: Calendar | None
    working: WorkingCalendar | None
    """Its working time, with what it inherits."""
    problems: tuple[Problem, ...]


def read_calendar(
    document: JSON, others: Mapping[str, Calendar], year: int, *, fallback_id: str = "calendar"
) -> ReadCalendar:
    """The calendar of a document.

    `others` are the calendars that it may extend, `year` is the present one, and `fallback_id` the
    id of a calendar that names none.
    """
    report = Report()
    place = Place("$", report)
    calendar = _read(document, place, fallback_id)
    if calendar is None or report.has_errors:
        return ReadCalendar(calendar=None, working=None, problems=report.problems)
    # Without a copy of the others: each is read from its document when it is looked up.
    resolved = resolve(calendar, others, year)
    if isinstance(resolved, Unresolved):
        problems = tuple(_with_names(each, calendar, others, place) for each in resolved.problems)
        return ReadCalendar(calendar=None, working=None, problems=(*report.problems, *problems))
    return ReadCalendar(calendar=calendar, working=resolved, problems=report.problems)


def stored_calendar(document: JSON) -> Calendar | None:
    """The calendar of a document that was saved before; None if it cannot be read any more."""
    if (found := _stored_with_many_dates(document)) is not None:
        return found
    report = Report()
    calendar = _read(document, Place("$", report), "calendar")
    return None if report.has_errors else calendar


class _StoredDate(Struct, frozen=True, forbid_unknown_fields=True):
    """A date of a document that was saved: the reader of given documents had no problem with it."""

    date: Annotated[str, Meta(min_length=10, max_length=10)]
    hours: tuple[str, ...] = ()
    name: Annotated[str, Meta(min_length=1)] | None = None


_StoredDates = Annotated[list[_StoredDate], Meta(max_length=MOST_DATES)]


def _stored_with_many_dates(document: JSON) -> Calendar | None:
    """The same in a tenth of the time; None where there are few, or they are not as written.

    Reading them with the places of all problems takes a sixth of a second for 5,000.
    """
    if not isinstance(document, dict) or not isinstance(given := document.get("dates"), list):
        return None
    if len(given) < _MANY_DATES:
        return None
    rest = stored_calendar({name: value for name, value in document.items() if name != "dates"})
    if rest is None:
        return None
    try:
        dates = tuple(
            OwnDate(
                date=date.fromisoformat(each.date), hours=_stored_hours(each.hours), name=each.name
            )
            for each in msgspec.convert(given, _StoredDates)
        )
    except ValueError:
        return None
    # They were written in their order, each once.
    if any(earlier.date >= later.date for earlier, later in pairwise(dates)):
        return None
    return msgspec.structs.replace(rest, dates=dates)


@lru_cache(maxsize=1_024)
def _stored_hours(written: tuple[str, ...]) -> Hours:
    """The hours of a day; ValueError where they are not as written."""
    report = Report()
    hours = WorkingHours().read([*written], Place("$", report))
    if report.has_errors:
        raise ValueError
    return cast("Hours", hours)


def write_calendar(calendar: Calendar) -> Object:
    """The document that reads as `calendar`."""
    written = FIELDS.write(calendar)
    if calendar.description is not None:
        written["metadata"] = {"description": calendar.description}
    return written


def _read(document: JSON, place: Place, fallback_id: str) -> Calendar | None:
    if not is_object(document, place, FIELDS) or not is_sound(document, place):
        return None
    given = {name: value for name, value in document.items() if name not in _READ_ONLY}
    metadata = given.pop("metadata", None)
    found = FIELDS.read(given, place, beside=("metadata",))
    if metadata is not None and is_object(metadata, place.at("metadata")):
        description = metadata.get("description")
        if description is not None and found is not None:
            text = Text(may_be_empty=True).read(description, place.at("metadata").at("description"))
            found["description"] = text if isinstance(text, str) else None
    if found is None:
        return None
    if "timezone" not in document and "extends" not in document:
        advice = "Add `timezone`, such as `Europe/Berlin`."
        place.wrong("TEN-2711", "`timezone` is missing", advice)
    found.setdefault("id", fallback_id)
    return Calendar(**found)  # type: ignore[arg-type]  # as its fields have read them


def _with_names(
    problem: Problem, calendar: Calendar, others: Mapping[str, Calendar], place: Place
) -> Problem:
    """The same problem; one about a calendar that does not exist names the nearest."""
    if problem.code != "TEN-2714" or calendar.extends in others:
        return problem
    advice = place.did_you_mean(calendar.extends or "", list(others), problem.advice)
    return Problem(code=problem.code, path=problem.path, message=problem.message, advice=advice)


class Zone:
    """The name of a time zone."""

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, str):
            place.wrong("TEN-1010", f"expected the name of a zone, found {kind_of(value)}")
            return UNUSABLE
        if is_zone(value):
            return value
        near = _nearest_zone(value, place)
        advice = "Write a name of the IANA database, such as `Europe/Berlin` or `UTC`."
        if near is not None:
            advice = f"Did you mean `{near}`? {advice}"
        place.wrong("TEN-2711", f"{shown(value)} is not a time zone", advice)
        return UNUSABLE

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": "string", "minLength": 1}


def _nearest_zone(name: str, place: Place) -> str | None:
    names = zone_names()
    plain = name.strip().replace(" ", "_").casefold()
    for each in sorted(names, key=lambda zone: (zone.startswith("Etc/"), zone)):
        if plain in (each.casefold(), each.rpartition("/")[2].casefold()):
            return each
    return place.nearest(name, names)


class WorkingHours:
    """The working hours of a day: `["09:00-12:00", "13:00-17:00"]`."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str):
            advice = f"Write an array: `[{shown(value)}]`."
            place.wrong("TEN-1010", "expected an array of hours, found text", advice)
            return UNUSABLE
        if not is_array(value, place):
            return UNUSABLE
        if len(value) > _MOST_SPANS:
            message = f"{len(value):,} spans of hours are more than {_MOST_SPANS}"
            place.wrong("TEN-2715", message, "Put adjacent ones together.")
            return UNUSABLE
        spans = [_span(each, place.at(index)) for index, each in enumerate(value)]
        found = [each for each in spans if each is not None]
        if len(found) < len(spans):
            return UNUSABLE
        ordered = sorted(found)
        for earlier, later in pairwise(ordered):
            if later.start < earlier.end:
                message = f"{_text(later)} overlaps {_text(earlier)}"
                place.at(found.index(later)).wrong("TEN-2715", message, "Put them together.")
                return UNUSABLE
        return tuple(ordered)

    def write(self, value: object) -> JSON:
        return [_text(span) for span in cast("Hours", value)]

    def schema(self) -> Object:
        return {
            "type": "array",
            "items": {"type": "string", "pattern": r"^\d{1,2}:\d{2} *- *\d{1,2}:\d{2}$"},
        }


def _span(value: JSON, place: Place) -> Span | None:
    advice = "Write for example `09:00-17:00`."
    match = _HOURS.match(value.strip()) if isinstance(value, str) else None
    if match is None:
        place.wrong("TEN-2715", f"{shown(value)} is not a span of hours", advice)
        return None
    hour, minute, until_hour, until_minute = map(int, match.groups())
    start, end = hour * 60 + minute, until_hour * 60 + until_minute
    if max(minute, until_minute) > 59 or start >= 1440 or end > 1440:
        place.wrong("TEN-2715", f"{shown(value)} is not within a day", advice)
        return None
    if end <= start:
        message = f"{shown(value)} ends before it begins"
        night = (
            f"Hours over midnight belong to two days: `{clock(start)}-24:00` here, "
            f"and `00:00-{clock(end)}` on the following day."
        )
        place.wrong("TEN-2715", message, night if end else f"Write `{clock(start)}-24:00`.")
        return None
    return Span(start, end)


def _text(span: Span) -> str:
    return f"{clock(span.start)}-{clock(span.end)}"


class Week:
    """Weekdays with their hours."""

    def read(self, value: JSON, place: Place) -> object:
        if not is_object(value, place, advice='Write `{"mon": ["09:00-17:00"], …}`.'):
            return UNUSABLE
        week: dict[str, object] = {}
        usable = True
        for name, hours in value.items():
            if name not in WEEKDAYS:
                _refuse_weekday(name, place)
                usable = False
                if place.report.is_full:
                    break
                continue
            week[name] = WorkingHours().read(hours, place.at(name))
            usable = usable and not isinstance(week[name], Unusable)
        return week if usable else UNUSABLE

    def write(self, value: object) -> JSON:
        week = cast("Mapping[str, Hours]", value)
        return {name: WorkingHours().write(week[name]) for name in WEEKDAYS if name in week}

    def schema(self) -> Object:
        hours = WorkingHours().schema()
        return {
            "type": "object",
            "properties": dict.fromkeys(WEEKDAYS, hours),
            "additionalProperties": False,
        }


def _refuse_weekday(name: str, place: Place) -> None:
    listing = f"Weekdays are {', '.join(WEEKDAYS)}."
    near = next(
        (
            short
            for short, long in zip(WEEKDAYS, DAY_NAMES, strict=True)
            if name.casefold() in (short, long.casefold(), long[:2].casefold())
        ),
        None,
    )
    advice = (
        f"Did you mean `{near}`? {listing}" if near else place.did_you_mean(name, WEEKDAYS, listing)
    )
    place.at(name).wrong("TEN-1012", f"{shown(name)} is not a weekday", advice)


class OnDate:
    """A date: `2026-12-24`."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str) and len(value) == 10:
            with suppress(ValueError):
                return date.fromisoformat(value)
        place.wrong("TEN-1016", f"{shown(value)} is not a date", "Write for example `2026-12-24`.")
        return UNUSABLE

    def write(self, value: object) -> JSON:
        return cast("date", value).isoformat()

    def schema(self) -> Object:
        return {"type": "string", "format": "date"}


class Rule(Record):
    """The holidays of a country."""

    def __init__(self) -> None:
        super().__init__(
            HolidayRule,
            Fields(
                Field("country", "country", Text(), required=True),
                Field("subdivision", "subdivision", Text()),
                Field("categories", "categories", ListOf(Text(), least=1)),
            ),
        )

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str):
            value = {"country": value}
        rule = super().read(value, place)
        if not isinstance(rule, HolidayRule):
            return UNUSABLE
        code, dash, part = rule.country.partition("-")
        known = country(code)
        if known is None:
            _refuse_country(rule.country, place)
            return UNUSABLE
        if dash:
            advice = f'Write `{{"country": "{code}", "subdivision": "{part}"}}`.'
            place.at("country").wrong("TEN-2717", f"{shown(rule.country)} has a part", advice)
            return UNUSABLE
        is_part = rule.subdivision is None or rule.subdivision in known.subdivisions
        if not is_part:
            part = cast("str", rule.subdivision)
            listing = _listing("Parts", known.subdivisions, f"{code} has no parts.")
            advice = place.did_you_mean(part, known.subdivisions, listing)
            message = f"{shown(part)} is not a part of {code} with holidays of its own"
            place.at("subdivision").wrong("TEN-2717", message, advice)
        unknown = [each for each in rule.categories if each not in known.categories]
        for each in unknown:
            listing = _listing("Categories", known.categories, "")
            advice = place.did_you_mean(each, known.categories, listing)
            path = place.at("categories").at(rule.categories.index(each))
            path.wrong("TEN-2717", f"{code} has no holidays of the category {shown(each)}", advice)
        return rule if is_part and not unknown else UNUSABLE


def _refuse_country(name: str, place: Place) -> None:
    by_name = {words: code for code, words in countries().items()}
    plain = name.strip().casefold().replace("_", " ")
    near = by_name.get(plain)
    if near is None and plain.upper() in countries():
        near = plain.upper()
    if near is None and (words := place.nearest(plain, by_name)) is not None:
        near = by_name[words]
    listing = "Write its code of ISO 3166, such as `DE`."
    advice = listing if near is None else f"Did you mean `{near}` ({countries()[near]})? {listing}"
    place.at("country").wrong("TEN-2717", f"the holidays of {shown(name)} are not known", advice)


def _listing(what: str, names: frozenset[str] | tuple[str, ...], otherwise: str) -> str:
    shown_names = sorted(names)[:30]
    more = ", …" if len(names) > 30 else ""
    return f"{what} are {', '.join(shown_names)}{more}." if names else otherwise


class Bounded(ListOf):
    """A list of at most so many items."""

    def __init__(self, item: Record, most: int) -> None:
        super().__init__(item)
        self._most = most

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, list) and len(value) > self._most:
            message = f"{len(value):,} are more than {self._most:,}"
            place.wrong("TEN-2715", message, "Leave out those of years that have passed.")
            return UNUSABLE
        return super().read(value, place)


class Dates(Bounded):
    """Dates of the calendar's own, each once."""

    def read(self, value: JSON, place: Place) -> object:
        dates = super().read(value, place)
        if not isinstance(dates, tuple):
            return UNUSABLE
        seen: dict[date, int] = {}
        for index, own in enumerate(cast("tuple[OwnDate, ...]", dates)):
            if own.date in seen:
                message = f"{own.date} is the date of item {seen[own.date]} already"
                place.at(index).at("date").wrong("TEN-2715", message, "Keep one of the two.")
            seen.setdefault(own.date, index)
        return tuple(sorted(cast("tuple[OwnDate, ...]", dates), key=lambda own: own.date))


_OWN_DATE = Record(
    OwnDate,
    Fields(
        Field("date", "date", OnDate(), required=True),
        Field("hours", "hours", WorkingHours()),
        Field("name", "name", Text()),
    ),
)
FIELDS = Fields(
    Field("id", "id", Id(_ID, "the id of a calendar")),
    Field("name", "name", Text()),
    Field("timezone", "timezone", Zone()),
    Field("week", "week", Week()),
    Field("holidays", "holidays", Bounded(Rule(), MOST_RULES)),
    Field("dates", "dates", Dates(_OWN_DATE, MOST_DATES)),
    Field("extends", "extends", Text()),
)
_READ_ONLY = frozenset({"version", "usedBy", "problems"})
"""What an answer has beside the document, so that it can be sent back."""
