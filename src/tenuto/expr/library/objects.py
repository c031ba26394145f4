"""The functions of `Object`, which also read arrays and strings."""

from __future__ import annotations

from tenuto.expr import utf16
from tenuto.expr.coerce import to_text
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library.calling import Arguments, argument
from tenuto.expr.members import member
from tenuto.expr.values import UNDEFINED, Lazy, Operand


def properties(frame: Frame, value: Operand) -> list[tuple[str, Operand]]:
    """The own properties of a value, in order."""
    if isinstance(value, Lazy):
        return [(key, value.get(key)) for key in _names(frame, value)]
    if type(value) is dict or type(value) is list or type(value) is str:
        frame.pay(len(value))
    if type(value) is dict:
        return list(value.items())
    if type(value) is list:
        return [(str(i), each) for i, each in enumerate(value)]
    if type(value) is str:
        return [(str(i), unit) for i, unit in enumerate(utf16.units(value))]
    if value is None or value is UNDEFINED:
        raise ExpressionError("null and undefined have no properties to list")
    return []


def _names(frame: Frame, value: Lazy) -> list[str]:
    names = list(value.keys())
    frame.pay(len(names))
    return names


def keys(frame: Frame, arguments: Arguments) -> Operand:
    value = argument(arguments, 0)
    if isinstance(value, Lazy):
        # Naming the properties must not read them.
        return _names(frame, value)
    return [key for key, _ in properties(frame, value)]


def values(frame: Frame, arguments: Arguments) -> Operand:
    return [each for _, each in properties(frame, argument(arguments, 0))]


def entries(frame: Frame, arguments: Arguments) -> Operand:
    return [[key, each] for key, each in properties(frame, argument(arguments, 0))]


def from_entries(frame: Frame, arguments: Arguments) -> Operand:
    pairs = argument(arguments, 0)
    if type(pairs) is not list:
        raise ExpressionError("`Object.fromEntries` takes an array of [key, value] pairs")
    frame.pay(len(pairs))
    result: dict[str, Operand] = {}
    for pair in pairs:
        if type(pair) is not list:
            raise ExpressionError("`Object.fromEntries` takes an array of [key, value] pairs")
        result[to_text(frame, member(frame, pair, "0"))] = member(frame, pair, "1")
    return result
