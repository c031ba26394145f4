"""JSON in which future values may stand."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import cast

import msgspec
from msgspec import Struct

from tenuto.model.json import JSON, json_problem
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, formula_of
from tenuto.python_form.step import Step
from tenuto.tasks.output import Unusable, is_typed, to_json

_LARGEST = 16_000_000
_DEEPEST = 100


class NotTraceable(Exception):
    """A value that no definition can hold; the message continues after the name of its place."""


class Expression(Struct, frozen=True, eq=False):
    """An expression in a field that holds one without `{{…}}`."""

    formula: Formula
    is_text: bool = False
    """Whether the user wrote it as text, in which step names have still to be resolved."""


class Code(Struct, frozen=True, eq=False):
    """Code of another language, which is kept as it is."""

    text: str


def plain_json(value: object, depth: int = 0) -> object:
    """`value` in plain JSON, with its future values; NotTraceable if it is not JSON."""
    if depth > _DEEPEST:
        raise NotTraceable(f"is nested more than {_DEEPEST} deep, or holds itself")
    match value:
        case FutureValue():
            return value
        case dict():
            for key in value:
                if not isinstance(key, str):
                    raise NotTraceable(f"has the key {key!r}; keys are text")
            return {key: plain_json(each, depth + 1) for key, each in value.items()}
        case list() | tuple():
            return [plain_json(each, depth + 1) for each in value]
        case _ if is_typed(value):
            return _by_field(value, depth)
        case _:
            return _plain(value)


def instead_of(value: object) -> str | None:
    """What to write for a value that has a JSON form but is not JSON itself."""
    match value:
        case enum.Enum():
            return f"Pass its value: `{type(value).__name__}.{value.name}.value`."
        case date() | time():
            return "Pass it as text: `.isoformat()`."
        case timedelta():
            return "Pass a number, `.total_seconds()`, or text."
        case dict():
            found = (instead_of(each) for each in value.values())
        case list() | tuple():
            found = (instead_of(each) for each in value)
        case _:
            return None
    return next((each for each in found if each is not None), None)


def futures_in(value: object) -> Iterator[FutureValue | Expression]:
    """Every future value in `value`, and every expression."""
    match value:
        case FutureValue() | Expression():
            yield value
        case dict():
            for each in value.values():
                yield from futures_in(each)
        case list() | tuple():
            for each in value:
                yield from futures_in(each)
        case _:
            return


def write(value: object) -> JSON:
    """The final JSON, once every step has its id."""
    match value:
        case FutureValue():
            return f"{{{{{formula_of(value).text()}}}}}"
        case Expression():
            return value.formula.text()
        case Code():
            return value.text
        case Step():
            return value.id
        case dict():
            return {key: write(each) for key, each in value.items()}
        case list() | tuple():
            return [write(each) for each in value]
        case _:
            return cast("JSON", value)


def _by_field(value: object, depth: int) -> object:
    """A dataclass or Struct, which may hold future values; a model validates, so it holds none."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    elif isinstance(value, Struct):
        fields = {
            each.encode_name: getattr(value, each.name)
            for each in msgspec.structs.fields(type(value))
        }
    else:
        return _plain(value)
    if not any(isinstance(each, FutureValue) for each in fields.values()):
        return _plain(value)
    return {name: plain_json(each, depth + 1) for name, each in fields.items()}


def _plain(value: object) -> JSON:
    try:
        plain = to_json(value, _LARGEST, "it")
    except Unusable as fault:
        raise NotTraceable(fault.message.removeprefix("it at $ ")) from None
    problem = json_problem(plain)
    if problem is not None:
        raise NotTraceable(f"is {problem[1]}")
    return plain
