"""Operators of Python that would mean something else when the workflow runs.

Expressions are JavaScript's: `&` is `and`, `+` joins text, and two lists are never the same. Where
a side is written out, so that the difference shows, it is refused instead of computed otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

_SIGNS = {"&&": "&", "||": "|", "===": "==", "!==": "!="}
_MEANS = {
    "&&": "`&` is `and` here",
    "||": "`|` is `or` here",
    "===": "`==` does not look into lists and objects here, so this is never true",
    "!==": "`!=` does not look into lists and objects here, so this is always true",
}
_IN_TEXT = {
    "||": '`"{{({...ctx.order, seen: true})}}"`',
    "+": "`\"{{[...ctx.order.items, 'gift']}}\"`",
    "===": '`"ctx.order.items.length === 0"`',
    "!==": '`"ctx.order.items.length > 0"`',
}
_BITS = frozenset({"&&", "||"})
_OF_NUMBERS = frozenset({"-", "*", "/", "%", "**"})


class Difference(NamedTuple):
    """What an operator would do, and what to write instead."""

    message: str
    advice: str


def difference(operator: str, other: object) -> Difference | None:
    """How an operator, spelled as in an expression, differs from Python's with `other`."""
    kind = type(other).__name__
    sign = _SIGNS.get(operator, operator)
    is_number = isinstance(other, int) and not isinstance(other, bool)
    is_collection = isinstance(other, list | tuple | dict | set | frozenset)
    if is_number and operator in _BITS:
        return Difference(
            f"{_MEANS[operator]} and does not combine bits",
            f'Write a test on both sides, or text, `"{{{{ctx.order.tip {operator} {other}}}}}"`; '
            "bits are combined in a task.",
        )
    if is_collection:
        means = _MEANS.get(operator, f"`{sign}` computes with numbers and text here")
        text = _IN_TEXT.get(operator)
        instead = "Do it in a task." if text is None else f"Write it as text, {text}, or in a task."
        return Difference(f"{means}, and one side is a {kind}", instead)
    if isinstance(other, str) and operator in _OF_NUMBERS:
        return Difference(
            f"`{sign}` computes with numbers here, and one side is text",
            "Write text as a template, or make it in a task.",
        )
    return None
