"""Events as they are published, before they are stored, and the reading of their fields."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from tenuto.events.names import id_problems
from tenuto.model.checks import length_problems, unknown_names
from tenuto.model.durations import parse_moment
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object, json_problem, kind_of


class GivenEvent(Struct, frozen=True, kw_only=True):
    """A valid event that is not stored yet."""

    pattern: str
    payload: JSON = None
    id: str | None = None
    """None: it gets a new id, and is never a duplicate."""
    correlation_id: str | None = None
    timestamp: datetime | None = None


Reading: TypeAlias = GivenEvent | tuple[Problem, ...]
"""An event, or all its problems."""


class Fields:
    """The fields of one event, and their problems so far."""

    def __init__(self, value: Object, path: str, code: str) -> None:
        self.problems: list[Problem] = []
        self.path = path
        self._value = value
        self._code = code

    def text(self, name: str, *, is_required: bool = False) -> str | None:
        """The text called `name`: not empty, and short enough to be indexed."""
        value = self._value.get(name)
        if value is None:
            if is_required:
                self.wrong(name, f"`{name}` is missing", f"Add `{name}`.")
            return None
        if not isinstance(value, str):
            self.wrong(name, f"`{name}` is {kind_of(value)}", f"Write `{name}` as text.")
            return None
        if not value or (problem := json_problem(value)) is not None:
            what = problem[1] if value and problem else f"`{name}` is empty"
            self.wrong(name, what, f"Write `{name}` as text that is not empty, without NUL.")
            return None
        self.problems += length_problems(value, f"{self.path}.{name}")
        return value

    def id(self, name: str, *, is_required: bool = False) -> str | None:
        """The text called `name`, an id or correlation id."""
        value = self.text(name, is_required=is_required)
        self.problems += id_problems(value, f"{self.path}.{name}")
        return value

    def moment(self, name: str) -> datetime | None:
        """The timestamp called `name`."""
        value = self._value.get(name)
        if value is None:
            return None
        try:
            return parse_moment(value)
        except ValueError as error:
            self.wrong(name, str(error), "Write it as in RFC 3339: 2026-11-15T20:12:14Z.")
            return None

    def only(self, known: Iterable[str]) -> None:
        """Refuse unknown fields."""
        names = list(known)
        advice = f"Leave it out, or move it into `payload`; known: {', '.join(names)}."
        named, others = unknown_names(self._value, names)
        for name in named:
            self.wrong(name, f"an event has no field `{name}`", advice)
        if others:
            message = f"there are {others:,} more fields that an event does not have"
            self.problems.append(
                Problem(code=self._code, path=self.path, message=message, advice=advice)
            )

    def wrong(self, name: str, message: str, advice: str) -> None:
        """Record a problem of the field `name`."""
        path = f"{self.path}.{name}"
        self.problems.append(Problem(code=self._code, path=path, message=message, advice=advice))
