"""Values as text for an index, such that equal values have equal texts.

An index over these texts may answer too much, which the condition itself then sorts out, but never
too little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from tenuto.expr.bounds import CHARACTERS_PER_STEP
from tenuto.expr.coerce import is_object, to_text
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame, Steps
from tenuto.expr.library.json_text import quoted
from tenuto.expr.members import member
from tenuto.expr.numerals import comparable_number
from tenuto.expr.values import UNDEFINED, Operand, Undefined

LOOSE: Final = " =="
"""Follows the path of a term that compares with `==`."""

# Databases bound the length of what they index; a longer text goes in by its hash.
_LONGEST: Final = 200
_OBJECT: Final = "object"
_ERROR: Final = "error"


def canonical(value: Operand) -> str:
    """The text of a value under `===`: 1 and 1.0 have the same, 1 and "1" do not.

    All objects share one text. They are never equal to one another, so nothing is lost.
    """
    if type(value) is str:
        text = quoted(value)
        return text if len(text) <= _LONGEST else f"sha256:{sha256(text.encode()).hexdigest()}"
    if type(value) is int or type(value) is float:
        return _number(value)
    if value is None or type(value) is bool:
        return {None: "null", True: "true", False: "false"}[value]
    return "undefined" if value is UNDEFINED else _OBJECT


def term_text(value: Operand, steps: Steps, *, is_loose: bool) -> str:
    """The text of a value in a term; what writing it takes is added to `steps`."""
    if type(value) is str:
        steps.taken += len(value) // CHARACTERS_PER_STEP
    return _loosely_canonical(value, steps) if is_loose else canonical(value)


def _loosely_canonical(value: Operand, steps: Steps) -> str:
    """The text of a value under `==`: all that JavaScript converts into one another share one."""
    if is_object(value):
        frame = Frame({})
        try:
            value = to_text(frame, value)
        except ExpressionError:
            # The comparison fails in the same way, so that nothing can match.
            return _ERROR
        finally:
            steps.taken += frame.taken
    if value is None or type(value) is Undefined:
        return "null"
    if type(value) is bool:
        return "1" if value else "0"
    if type(value) is str:
        number = comparable_number(value)
        return canonical(value) if number != number else _number(number)
    return canonical(value)


def _number(value: float) -> str:
    # An int is exact, however large, and so is the whole number that a float stands for.
    text = str(int(value)) if _is_whole(value) else repr(float(value))
    return text if len(text) <= _LONGEST else f"sha256:{sha256(text.encode()).hexdigest()}"


def _is_whole(value: float) -> bool:
    return type(value) is int or float(value).is_integer()


def event_term_values(
    event: Mapping[str, Any], term_paths: Sequence[str], steps: Steps
) -> tuple[str, ...]:
    """The event's side of the terms of which only the paths are known."""
    return tuple(_event_text(event, path, steps) for path in term_paths)


def _event_text(event: Mapping[str, Any], term_path: str, steps: Steps) -> str:
    names = term_path.removesuffix(LOOSE)
    value: Operand = dict(event) if type(event) is not dict else event
    frame = Frame({})
    try:
        for name in names.split("."):
            value = member(frame, value, name)
    except ExpressionError:
        return _ERROR
    return term_text(value, steps, is_loose=term_path.endswith(LOOSE))
