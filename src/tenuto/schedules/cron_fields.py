"""The fields of a cron expression: each is read into the values that it allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct

_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS: Final = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
_NUMBER = re.compile(r"[0-9]{1,3}\Z")
_LAST_MINUS = re.compile(r"L-([0-9]{1,2})\Z")
_NEAREST = re.compile(r"([0-9]{1,2})W\Z")
_NTH = re.compile(r"([A-Z0-9]{1,3})#([0-9]{1,2})\Z")
_LAST_OF = re.compile(r"([A-Z0-9]{1,3})L\Z")


class FieldProblem(NamedTuple):
    """Why a field, or the whole expression, is not one of cron."""

    message: str
    advice: str


class CronField(Struct, frozen=True, kw_only=True):
    """The values that one field allows."""

    text: str
    values: tuple[int, ...] = ()
    """In order."""
    last: tuple[int, ...] = ()
    """Of a day of the month: how many days before the last one (`L`, `L-3`); of a weekday: the last
    such day of the month (`5L`)."""
    nearest: tuple[int, ...] = ()
    """The weekday nearest to a day of the month (`15W`)."""
    nth: tuple[tuple[int, int], ...] = ()
    """A weekday and which one of the month (`2#1`)."""
    is_last_weekday: bool = False
    """`LW`: the last day of the month from Monday to Friday."""

    @property
    def is_star(self) -> bool:
        """Whether it begins with a star, which decides how the two fields of days go together."""
        return self.text.startswith(("*", "?"))

    @property
    def is_any(self) -> bool:
        return self.text in ("*", "?")


class Shape(NamedTuple):
    """What a field may hold."""

    name: str
    """With its article."""
    least: int
    most: int
    names: tuple[str, ...] = ()
    first_name: int = 0


SECOND = Shape("a second", 0, 59)
MINUTE = Shape("a minute", 0, 59)
HOUR = Shape("an hour", 0, 23)
DAY_OF_MONTH = Shape("a day of the month", 1, 31)
MONTH = Shape("a month", 1, 12, _MONTHS, 1)
DAY_OF_WEEK = Shape("a day of the week", 0, 7, _WEEKDAYS)
SHAPES: Final = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


class _Refused(Exception):
    def __init__(self, message: str, advice: str) -> None:
        super().__init__(message)
        self.problem = FieldProblem(message, advice)


def read_field(text: str, shape: Shape) -> CronField | FieldProblem:
    """The values of a field, which is written in upper case."""
    found = _Found(shape)
    try:
        for term in text.split(","):
            _read_term(term, shape, found)
    except _Refused as refused:
        return refused.problem
    return CronField(
        text=text,
        values=tuple(sorted(found.values)),
        last=tuple(sorted(found.last)),
        nearest=tuple(sorted(found.nearest)),
        nth=tuple(sorted(found.nth)),
        is_last_weekday=found.is_last_weekday,
    )


class _Found:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.values: set[int] = set()
        self.last: set[int] = set()
        self.nearest: set[int] = set()
        self.nth: set[tuple[int, int]] = set()
        self.is_last_weekday = False

    def add(self, values: Iterator[int] | range) -> None:
        # Sunday is 0 and 7.
        is_weekday = self._shape is DAY_OF_WEEK
        self.values.update(value % 7 if is_weekday else value for value in values)


def _read_term(term: str, shape: Shape, found: _Found) -> None:
    if shape is DAY_OF_MONTH and _read_special_day(term, found):
        return
    if shape is DAY_OF_WEEK and _read_special_weekday(term, found):
        return
    whole, slash, step_text = term.partition("/")
    step = _step(step_text, shape) if slash else 1
    if whole in ("*", "?"):
        if whole == "?" and shape not in (DAY_OF_MONTH, DAY_OF_WEEK):
            raise _Refused(f"`?` is not {shape.name}", "Write `*`.")
        most = 6 if shape is DAY_OF_WEEK else shape.most
        found.add(range(shape.least, most + 1, step))
        return
    first, dash, last = whole.partition("-")
    start = _value(first, shape)
    if not dash:
        found.add(range(start, (shape.most if slash else start) + 1, step))
        return
    end = _value(last, shape)
    if shape is DAY_OF_WEEK and end == 0 and start > 0:
        end = 7
    if end < start:
        message = f"`{whole}`, where {shape.name} stands, ends before it begins"
        advice = f"Write two ranges: `{first}-{shape.most},{shape.least}-{last}`."
        raise _Refused(message, advice)
    found.add(range(start, end + 1, step))


def _read_special_day(term: str, found: _Found) -> bool:
    """Whether a term of the days of the month is one that depends on the month."""
    if term == "L":
        found.last.add(0)
    elif term in ("LW", "WL"):
        found.is_last_weekday = True
    elif match := _LAST_MINUS.match(term):
        if not 1 <= int(match[1]) <= 30:
            raise _Refused(f"`{term}` is not in any month", "Write `L-1` to `L-30`.")
        found.last.add(int(match[1]))
    elif match := _NEAREST.match(term):
        found.nearest.add(_value(match[1], DAY_OF_MONTH))
    else:
        return False
    return True


def _read_special_weekday(term: str, found: _Found) -> bool:
    """Whether a term of the weekdays names certain ones of a month."""
    if match := _NTH.match(term):
        number = int(match[2])
        if not 1 <= number <= 5:
            message = f"`{term}`: no month has {number} of a weekday"
            raise _Refused(message, "Write `#1` to `#5`, or `5L` for the last Friday.")
        found.nth.add((_value(match[1], DAY_OF_WEEK) % 7, number))
    elif term == "L":
        advice = "Name the weekday: `5L` is the last Friday of the month."
        raise _Refused("`L` alone is not a day of the week", advice)
    elif match := _LAST_OF.match(term):
        found.last.add(_value(match[1], DAY_OF_WEEK) % 7)
    else:
        return False
    return True


def _value(text: str, shape: Shape) -> int:
    if text in shape.names:
        return shape.names.index(text) + shape.first_name
    bounds = f"{shape.least} to {shape.most}"
    if shape.names:
        bounds += f", or {shape.names[0]} to {shape.names[-1]}"
    advice = f"{shape.name.capitalize()} is {bounds}."
    near = next((name for name in shape.names if text.startswith(name)), None)
    if near is not None:
        advice = f"Did you mean `{near}`? {advice}"
    if not _NUMBER.match(text):
        shown = text[:20]
        what = f"`{shown}` is not {shape.name}" if shown else f"{shape.name} is missing"
        raise _Refused(what, advice)
    if not shape.least <= int(text) <= shape.most:
        raise _Refused(f"{int(text)} is not {shape.name}", advice)
    return int(text)


def _step(text: str, shape: Shape) -> int:
    size = shape.most - shape.least + 1
    advice = f"Write a step from 1 to {size}, such as `*/5`."
    if not _NUMBER.match(text) or int(text) == 0:
        raise _Refused(f"`/{text[:20]}`, where {shape.name} stands, is not a step", advice)
    if int(text) > size:
        message = f"a step of {int(text)} leads beyond the {size} values of {shape.name}"
        raise _Refused(message, advice)
    return int(text)
