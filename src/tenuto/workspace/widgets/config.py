"""Reads what a widget wants to show: every problem at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from tenuto.expr import ExpressionSyntaxError, parse_path
from tenuto.model.checks import unknown_names
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON

MOST_ROWS: Final = 10_000
MOST_TEXT: Final = 1_000_000
MOST_COLUMNS: Final = 100
MOST_CELLS: Final = 100_000
"""Cells of a table, and points of a chart."""
MOST_CHARACTERS: Final = 4_000_000
"""Of the values of these together, and of the items in them."""

_CODE: Final = "TEN-2501"
_ADVICE: Final = 'Write it as {"path": "output.rows"}.'


class WidgetType(StrEnum):
    """What a widget can be."""

    TABLE = "table"
    CHART = "chart"
    NUMBER = "number"
    TEXT = "text"


FIELDS: Final[Mapping[WidgetType, tuple[str, ...]]] = {
    WidgetType.TABLE: ("path", "columns", "limit"),
    WidgetType.CHART: ("path", "x", "y", "limit"),
    WidgetType.NUMBER: ("path", "format"),
    WidgetType.TEXT: ("path", "format", "limit"),
}
FORMATS: Final[Mapping[WidgetType, tuple[str, ...]]] = {
    WidgetType.NUMBER: ("number", "integer", "percent"),
    WidgetType.TEXT: ("text", "json"),
}
_LIMITS: Final[Mapping[WidgetType, tuple[int, int]]] = {
    WidgetType.TABLE: (1_000, MOST_ROWS),
    WidgetType.CHART: (1_000, MOST_ROWS),
    WidgetType.TEXT: (10_000, MOST_TEXT),
}
"""What holds unless it is given, and the most."""


class WidgetConfig(Struct, frozen=True, kw_only=True):
    """What a widget shows, once it was read."""

    type: WidgetType
    path: str
    """From the names of the context; `output` is the workflow's once it has completed."""
    columns: tuple[str, ...] = ()
    """Paths within a row; none: what the rows have."""
    x: str | None = None
    y: tuple[str, ...] = ()
    """Paths within an item; none: all numbers that the items have."""
    format: str = ""
    limit: int = 0
    """Rows, points or characters at most."""


def read_config(widget_type: object, config: object) -> WidgetConfig:
    """A widget's type and config; InvalidInput with all that is wrong with them."""
    problems: list[Problem] = []
    if not isinstance(widget_type, str) or widget_type not in set(WidgetType):
        message = f"{widget_type!r} is no type of widget"
        problems.append(_problem("$.widgetType", message, _one_of(widget_type, WidgetType)))
    if not isinstance(config, Mapping):
        problems.append(_problem("$.widgetConfig", "it is not an object", _ADVICE))
    if problems:
        raise InvalidInput("the widget cannot be shown", problems)
    assert isinstance(config, Mapping)
    reading = _Reading(WidgetType(str(widget_type)), config)
    read = reading.read()
    if reading.problems:
        raise InvalidInput("the widget cannot be shown", reading.problems)
    return read


class _Reading:
    """One config, field by field."""

    def __init__(self, type: WidgetType, config: Mapping[str, JSON]) -> None:
        self.problems: list[Problem] = []
        self._type = type
        self._config = config

    def read(self) -> WidgetConfig:
        known = FIELDS[self._type]
        named, others = unknown_names(self._config, known)
        for name in named:
            message = f"`{name}` is not a field of a {self._type} widget"
            self._wrong(name, message, _one_of(name, known))
        if others:
            message = f"there are {others:,} more fields here that no widget reads"
            self.problems.append(_problem("$.widgetConfig", message, _ADVICE))
        if "path" not in self._config:
            self._wrong("path", "it is missing", "Name the value to show, such as `output.rows`.")
        return WidgetConfig(
            type=self._type,
            path=self._path("path") or "",
            columns=self._paths("columns", may_be_one=False),
            x=self._path("x"),
            y=self._paths("y", may_be_one=True),
            format=self._format(),
            limit=self._limit(),
        )

    def _path(self, name: str) -> str | None:
        if name not in self._config or name not in FIELDS[self._type]:
            return None
        given = self._config[name]
        self._check_path(name, given)
        return given if isinstance(given, str) else None

    def _paths(self, name: str, *, may_be_one: bool) -> tuple[str, ...]:
        if name not in self._config or name not in FIELDS[self._type]:
            return ()
        given = self._config[name]
        if may_be_one and isinstance(given, str):
            given = [given]
        if not isinstance(given, list) or not 1 <= len(given) <= MOST_COLUMNS:
            message = f"it is not a list of 1 to {MOST_COLUMNS} paths"
            self._wrong(name, message, 'Write them as ["name", "address.city"].')
            return ()
        for place, each in enumerate(given):
            self._check_path(f"{name}[{place}]", each)
        if len({str(each) for each in given}) < len(given):
            self._wrong(name, "it names a path twice", "Name each once.")
        return tuple(str(each) for each in given)

    def _check_path(self, place: str, given: JSON) -> None:
        advice = "Write names and indexes, such as `customer.orders[0].id`."
        if not isinstance(given, str):
            self._wrong(place, f"{given!r} is not a path", advice)
            return
        try:
            parse_path(given)
        except ExpressionSyntaxError as error:
            self._wrong(place, error.message, advice)

    def _format(self) -> str:
        formats = FORMATS.get(self._type)
        if formats is None:
            return ""
        given = self._config.get("format", formats[0])
        if given not in formats:
            message = f"{given!r} is no format of a {self._type} widget"
            self._wrong("format", message, _one_of(given, formats))
        return str(given)

    def _limit(self) -> int:
        if self._type not in _LIMITS:
            return 0
        usual, most = _LIMITS[self._type]
        given = self._config.get("limit", usual)
        if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= most:
            message = f"{given!r} is not a whole number from 1 to {most:,}"
            self._wrong("limit", message, f"Leave it out for {usual:,}.")
            return usual
        return given

    def _wrong(self, place: str, message: str, advice: str) -> None:
        self.problems.append(_problem(f"$.widgetConfig.{place}", message, advice))


def _one_of(given: object, known: Iterable[str]) -> str:
    names = [str(name) for name in known]
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.6)
    hint = f"Did you mean `{near[0]}`? " if near else ""
    return f"{hint}Known here: {', '.join(names)}."


def _problem(path: str, message: str, advice: str) -> Problem:
    return Problem(code=_CODE, path=path, message=message, advice=advice)
