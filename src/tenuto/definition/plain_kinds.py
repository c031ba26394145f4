"""Kinds of plain field values: text, numbers, choices, lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from tenuto.definition.fields import UNUSABLE, Kind, Unusable, is_array
from tenuto.definition.report import Place, shown
from tenuto.model.ids import LONGEST_ID, NAME, too_long
from tenuto.model.json import JSON, Object, kind_of
from tenuto.model.own_names import BUILT_IN, CALLBACK_TASK, CALLBACKS, is_built_in, is_callback

LARGEST_WHOLE = 2**31 - 1


class Text:
    """Text that is not empty, unless it may be."""

    def __init__(self, *, may_be_empty: bool = False) -> None:
        self._may_be_empty = may_be_empty

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, str):
            advice = f'Put it in quotes: `"{shown(value)}"`.'
            is_plain = isinstance(value, bool | int | float)
            message = f"expected text, found {kind_of(value)}"
            place.wrong("TEN-1010", message, advice if is_plain else "Write text, in quotes.")
            return UNUSABLE
        if not value and not self._may_be_empty:
            place.wrong("TEN-1017", "the text is empty")
            return UNUSABLE
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": "string"} if self._may_be_empty else {"type": "string", "minLength": 1}


class TaskId(Text):
    """The id of a task, which workers look for."""

    def read(self, value: JSON, place: Place) -> object:
        text = super().read(value, place)
        if isinstance(text, str):
            check_length(text, place)
            if not place.report.is_saved:
                _refuse_own_task(text, place)
        return text

    def schema(self) -> Object:
        own: JSON = [{"const": CALLBACK_TASK}, {"pattern": f"^{BUILT_IN}"}]
        return {**super().schema(), "maxLength": LONGEST_ID, "not": {"anyOf": own}}


class WorkflowId(Text):
    """The id of a workflow that a step starts."""

    def read(self, value: JSON, place: Place) -> object:
        text = super().read(value, place)
        if isinstance(text, str):
            refuse_own_workflow(text, place)
        return text

    def schema(self) -> Object:
        return {**super().schema(), "not": OWN_WORKFLOW}


class Flag:
    """True or false."""

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, bool):
            return value
        advice = "Write `true` or `false`, without quotes."
        place.wrong("TEN-1010", f"expected true or false, found {kind_of(value)}", advice)
        return UNUSABLE

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": "boolean"}


class Number:
    """A number within bounds."""

    def __init__(self, least: float) -> None:
        self._least = least

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float):
            advice = "Write a number, without quotes."
            place.wrong("TEN-1010", f"expected a number, found {kind_of(value)}", advice)
            return UNUSABLE
        if not self._least <= value <= LARGEST_WHOLE:
            place.wrong("TEN-1014", f"{shown(value)} is not at least {self._least:g}, or is huge")
            return UNUSABLE
        return float(value)

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": "number", "minimum": self._least, "maximum": LARGEST_WHOLE}


class Whole:
    """A whole number within bounds."""

    def __init__(self, least: int, most: int = LARGEST_WHOLE) -> None:
        self._least = least
        self._most = most

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            advice = "Write a whole number, without quotes."
            message = f"expected a whole number, found {_number_or_kind(value)}"
            place.wrong("TEN-1010", message, advice)
            return UNUSABLE
        if not self._least <= value <= self._most:
            bounds = f"from {self._least} to {self._most}"
            if self._most == LARGEST_WHOLE and value < self._least:
                bounds = f"at least {self._least}"
            place.wrong("TEN-1014", f"{_digits(value)} is out of bounds", f"It must be {bounds}.")
            return UNUSABLE
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": "integer", "minimum": self._least, "maximum": self._most}


class OneOf:
    """One of a few words."""

    def __init__(self, *choices: str) -> None:
        self._choices = choices

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, str):
            place.wrong("TEN-1010", f"expected text, found {kind_of(value)}")
            return UNUSABLE
        if value not in self._choices:
            listing = f"It is one of {', '.join(f'`{each}`' for each in self._choices)}."
            place.wrong(
                "TEN-1013",
                f"{shown(value)} is not one of the choices",
                place.did_you_mean(value, self._choices, listing),
            )
            return UNUSABLE
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"enum": list(self._choices)}


class ListOf:
    """Items of one kind."""

    def __init__(self, item: Kind, *, least: int = 0) -> None:
        self._item = item
        self._least = least

    def read(self, value: JSON, place: Place) -> object:
        if not is_array(value, place):
            return UNUSABLE
        items = value
        if len(items) < self._least:
            place.wrong("TEN-1017", "the list is empty")
            return UNUSABLE
        read = [self._item.read(item, place.at(index)) for index, item in enumerate(items)]
        return UNUSABLE if any(isinstance(item, Unusable) for item in read) else tuple(read)

    def write(self, value: object) -> JSON:
        return [self._item.write(item) for item in cast("Sequence[object]", value)]

    def schema(self) -> Object:
        return {"type": "array", "items": self._item.schema(), "minItems": self._least}


class Anything:
    """Any JSON, kept as it is."""

    def read(self, value: JSON, place: Place) -> object:  # noqa: ARG002  nothing to report
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {}


class Id:
    """The id of a node, step, branch or arm."""

    def __init__(self, pattern: re.Pattern[str] = NAME, what: str = "an id") -> None:
        self._pattern = pattern
        self._what = what

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, str):
            place.wrong("TEN-1010", f"expected an id, found {kind_of(value)}")
            return UNUSABLE
        if not self._pattern.match(value):
            place.wrong(
                "TEN-1020", f"{shown(value)} is not usable as {self._what}", _id_advice(value)
            )
            return UNUSABLE
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": "string", "pattern": pattern_of(self._pattern)}


def pattern_of(expression: re.Pattern[str]) -> str:
    """A regular expression that is matched from the beginning, as JSON Schema spells it."""
    return "^(?:" + expression.pattern.removesuffix(r"\Z") + ")$"


OWN_WORKFLOW: Object = {"pattern": f"^{CALLBACKS}"}


def refuse_own_workflow(id: str, place: Place) -> None:
    """Report the id of a workflow that only Tenuto makes and starts."""
    if is_callback(id) and not place.report.is_saved:
        place.wrong("TEN-1065", f"workflows called `{CALLBACKS}…` are those of schedules")


def _refuse_own_task(id: str, place: Place) -> None:
    if id == CALLBACK_TASK:
        place.wrong("TEN-1065", f"the task {CALLBACK_TASK!r} is run by schedules alone")
    elif is_built_in(id):
        place.wrong(
            "TEN-1065",
            f"tasks called `{BUILT_IN}…` are those of Tenuto itself",
            "Write a step of the type JAVASCRIPT, HTTP or DATA_QUERY, or choose another name.",
        )


def check_length(text: str, place: Place) -> None:
    """Report a text that is too long to be indexed; it stays usable."""
    problem = too_long(text)
    if problem is not None:
        place.wrong("TEN-1025", problem)


def _id_advice(text: str) -> str | None:
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", text[:64]).strip("_-")
    return f"Use letters, digits, `_` and `-`, such as `{plain}`." if plain else None


def _digits(value: int) -> str:
    return str(value) if abs(value) < 10**20 else "the number"


def _number_or_kind(value: JSON) -> str:
    return shown(value) if isinstance(value, float) else kind_of(value)
