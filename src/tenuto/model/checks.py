"""Checks of values from outside, the same at every entrance: ids, names, texts and timestamps."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime
from types import UnionType
from typing import NamedTuple, TypeVar, get_args

import msgspec

from tenuto.model.durations import in_utc
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.ids import LONGEST_ID, too_long
from tenuto.model.json import json_problem

T = TypeVar("T")

_WRONG_FIELD = "TEN-2031"
"""The code of a field with a value that it cannot have."""
MOST_UNKNOWN = 20
"""How many unknown names are reported one by one; of the others only the number is reported."""
LONGEST_SHOWN = 80
_FIRST_YEAR, _LAST_YEAR = 1900, 9997
"""Moments near the first and the last year cannot be moved, nor be shown in every zone."""


class Unknown(NamedTuple):
    """Names of unknown fields in a request."""

    named: list[str]
    """The first of them, cut to what a message can show."""
    others: int


def unknown_names(given: Iterable[str], known: Container[str]) -> Unknown:
    """Those of `given` that are not among `known`.

    Each is compared with the known names and gets a problem of its own, which costs thousands of
    times the bytes that were sent: therefore their number is bounded.
    """
    unknown = [name for name in given if name not in known]
    named = [name[:LONGEST_SHOWN] for name in unknown[:MOST_UNKNOWN]]
    return Unknown(named, len(unknown) - len(named))


def refuse_bad_text(**texts: str | None) -> None:
    """InvalidInput unless every store can keep each of `texts`, which are keyed by name in JSON."""
    found = ((name, json_problem(text)) for name, text in texts.items() if text is not None)
    problems = [
        Problem(
            code="TEN-2004",
            path=f"$.{name}",
            message=problem[1],
            advice="Send Unicode text without NUL characters.",
        )
        for name, problem in found
        if problem is not None
    ]
    if problems:
        raise InvalidInput("text that cannot be kept", problems)


def refuse_bad_ids(**ids: str | None) -> None:
    """InvalidInput unless every store can index each of `ids`, which are keyed by name in JSON."""
    given = {name: text for name, text in ids.items() if text is not None}
    if not given:
        return
    refuse_bad_text(**given)
    problems = [
        problem
        for name, text in ids.items()
        if isinstance(text, str)
        for problem in length_problems(text, f"$.{name}")
    ]
    if problems:
        raise InvalidInput("too long to be indexed", problems)


def length_problems(text: str, path: str) -> list[Problem]:
    """Why a text is too long to be an id or a name."""
    problem = too_long(text)
    if problem is None:
        return []
    advice = f"Choose one of up to {LONGEST_ID} characters, or a hash of the longer one."
    return [Problem(code="TEN-2012", path=path, message=problem, advice=advice)]


def within(number: int, name: str, least: int, most: int) -> int:
    """`number`; InvalidInput unless it is a whole number from `least` to `most`."""
    if type(number) is not int or not least <= number <= most:
        problem = Problem(
            code=_WRONG_FIELD,
            path=f"$.{name}",
            message=f"it is no whole number from {least:,} to {most:,}",
            advice="Correct the value.",
        )
        raise InvalidInput(f"`{name}` is not valid", [problem])
    return number


def converted(given: object, kind: type[T], message: str, *, code: str = _WRONG_FIELD) -> T:
    """`given` as a `kind`; InvalidInput with `message` and all problems where it is something else.

    Type checkers say the same to a program that uses them.
    """
    try:
        value = msgspec.to_builtins(given, builtin_types=(datetime,))
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise InvalidInput(message, [_not_fitting(error, "$", code)]) from error
    try:
        return msgspec.convert(value, kind)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise InvalidInput(message, _all_not_fitting(value, kind, error, "$", code)) from error


def _all_not_fitting(
    value: object, kind: object, first: Exception, path: str, code: str
) -> list[Problem]:
    """Field by field, also of structs in it: msgspec itself stops at the first."""
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    types = [each for each in kinds if isinstance(each, type)]
    struct = next((each for each in types if issubclass(each, msgspec.Struct)), None)
    found: list[Problem] = []
    if isinstance(value, dict) and struct is not None:
        for field in msgspec.structs.fields(struct):
            name = field.encode_name
            try:
                if name in value:
                    msgspec.convert(value[name], field.type)
            except (msgspec.MsgspecError, TypeError, ValueError) as error:
                at = f"{path}.{name}"
                found += _all_not_fitting(value[name], field.type, error, at, code)
    return found or [_not_fitting(first, path, code)]


def _not_fitting(error: Exception, path: str, code: str) -> Problem:
    text, _, place = str(error).partition(" - at `$")
    return Problem(
        code=code,
        path=f"{path}{place.removesuffix('`')}",
        message=text[:1].lower() + text[1:],
        advice="Correct the value.",
    )


def aware(moment: datetime | None, name: str) -> datetime | None:
    """`moment`; InvalidInput unless it names its time zone and lies in the years of UTC."""
    if moment is not None and (wrong := moment_problem(moment)) is not None:
        problem = Problem(
            code="TEN-2007",
            path=f"$.{name}",
            message=wrong,
            advice="Use an aware datetime, such as datetime.now(UTC).",
        )
        raise InvalidInput("a timestamp that cannot be stored", [problem])
    return moment


def calculable(moment: datetime, name: str) -> datetime:
    """`moment`; InvalidInput unless calendars and schedules can calculate with it."""
    aware(moment, name)
    if not _FIRST_YEAR <= in_utc(moment).year <= _LAST_YEAR:
        problem = Problem(
            code="TEN-2007",
            path=f"$.{name}",
            message=f"the year {moment.year} is not calculated with",
            advice=f"Name a moment in the years {_FIRST_YEAR} to {_LAST_YEAR}.",
        )
        raise InvalidInput("a timestamp that is too early or too late", [problem])
    return moment


def moment_problem(moment: datetime) -> str | None:
    """Why a timestamp cannot be stored: it has no time zone, or lies outside the years of UTC."""
    if moment.utcoffset() is None:
        return f"{moment.isoformat()} does not name its time zone"
    try:
        in_utc(moment)
    except ValueError as error:
        return str(error)
    return None
