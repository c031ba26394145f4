"""Operators of Python that would mean something else when the workflow runs.

Expressions are JavaScript: `&` is `and`, `+` joins text, and two lists are never equal. An operator
whose literal operand shows such a difference is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from tenuto.python_form.rewrites import known_text

_SIGNS = {"&&": "&", "||": "|", "===": "==", "!==": "!="}
_MEANS = {
    "&&": "`&` is `and` here",
    "||": "`|` is `or` here",
    "===": "`==` does not look into lists and objects here, so this is never true",
    "!==": "`!=` does not look into lists and objects here, so this is always true",
}
_BITS = frozenset({"&&", "||"})
_OF_NUMBERS = frozenset({"-", "*", "/", "%", "**"})


class Operation(NamedTuple):
    """An operator with a future value on one side."""

    operator: str
    """As an expression spells it."""
    own: str
    """The expression of the future value."""
    other: object
    is_reversed: bool


def difference(operator: str, other: object) -> str | None:
    """How an operator differs from Python's; None if it does not, or if that is unknown."""
    sign = _SIGNS.get(operator, operator)
    if isinstance(other, int) and not isinstance(other, bool) and operator in _BITS:
        return f"{_MEANS[operator]} and does not combine bits"
    if isinstance(other, list | tuple | dict | set | frozenset):
        means = _MEANS.get(operator, f"`{sign}` computes with numbers and text here")
        return f"{means}, and one side is a {type(other).__name__}"
    if isinstance(other, str) and operator in _OF_NUMBERS:
        return f"`{sign}` computes with numbers here, and one side is text"
    return None


def instead(operation: Operation) -> str:
    """What to write in place of an operator that differs."""
    if isinstance(operation.other, str):
        return "Write text as a template, or make it in a task."
    text = _text(operation)
    if text is None:
        return "Do it in a task."
    written = text if operation.operator in {"===", "!=="} else f"{{{{{text}}}}}"
    return f'Write it as text, `"{written}"`, or do it in a task.'


def _text(operation: Operation) -> str | None:
    """The intended computation as an expression."""
    operator, own, other, is_reversed = operation
    spelled = known_text(other)
    match operator, other:
        case "+", list() if spelled is not None:
            pieces = [f"...{own}", f"...{spelled}"]
            return f"[{', '.join(reversed(pieces) if is_reversed else pieces)}]"
        case "||", dict() if spelled is not None:
            pieces = [f"...{own}", f"...{spelled}"]
            return f"({{{', '.join(reversed(pieces) if is_reversed else pieces)}}})"
        case "||", int():
            return None if is_reversed else f"{own} || {spelled}"
        case ("===" | "!==") as sign, [] | ():
            return f"{own}.length {sign} 0"
        case _:
            return None
