"""The methods of arrays that take values. None of them changes the array."""

from __future__ import annotations

from typing import Final

from tenuto.expr.bounds import DATA_DEPTH
from tenuto.expr.coerce import list_text, to_integer, to_text
from tenuto.expr.compare import same_value_zero, strict_equals
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library.calling import Arguments, MethodOf, argument, span
from tenuto.expr.values import UNDEFINED, Operand


def includes(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    wanted = argument(arguments, 0)
    frame.pay(len(values))
    start, end = span(len(values), to_integer(frame, argument(arguments, 1)), len(values))
    return any(same_value_zero(frame, values[i], wanted) for i in range(start, end))


def index_of(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    wanted = argument(arguments, 0)
    frame.pay(len(values))
    start, end = span(len(values), to_integer(frame, argument(arguments, 1)), len(values))
    return next((i for i in range(start, end) if strict_equals(frame, values[i], wanted)), -1)


def last_index_of(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    wanted = argument(arguments, 0)
    frame.pay(len(values))
    # Given at all, even as undefined, the second argument counts: undefined is position 0.
    last = to_integer(frame, arguments[1]) if len(arguments) > 1 else len(values) - 1
    last = len(values) + last if last < 0 else min(last, len(values) - 1)
    return next((i for i in range(last, -1, -1) if strict_equals(frame, values[i], wanted)), -1)


def slice_(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    start, end = span(
        len(values),
        to_integer(frame, argument(arguments, 0)),
        to_integer(frame, argument(arguments, 1), default=len(values)),
    )
    frame.pay(max(0, end - start))
    return values[start:end]


def at(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    index = to_integer(frame, argument(arguments, 0))
    index += len(values) if index < 0 else 0
    return values[index] if 0 <= index < len(values) else UNDEFINED


def concat(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    frame.pay(len(values))
    result = list(values)
    for value in arguments:
        added = value if type(value) is list else [value]
        frame.pay(len(added))
        result += added
    return result


def join(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    separator = argument(arguments, 0)
    return list_text(frame, values, "," if separator is UNDEFINED else to_text(frame, separator), 0)


def flat(frame: Frame, values: list[Operand], arguments: Arguments) -> Operand:
    result: list[Operand] = []
    _flatten(frame, values, to_integer(frame, argument(arguments, 0), default=1), result, 0)
    return result


def _flatten(
    frame: Frame, values: list[Operand], levels: int, into: list[Operand], depth: int
) -> None:
    if depth > DATA_DEPTH:
        raise ExpressionError(f"a value is nested more than {DATA_DEPTH} deep")
    frame.pay(len(values))
    for value in values:
        if type(value) is list and levels > 0:
            _flatten(frame, value, levels - 1, into, depth + 1)
        else:
            into.append(value)


def reverse(frame: Frame, values: list[Operand], _arguments: Arguments) -> Operand:
    frame.pay(len(values))
    return values[::-1]


def to_string(frame: Frame, values: list[Operand], _arguments: Arguments) -> Operand:
    return list_text(frame, values, ",", 0)


METHODS: Final[dict[str, MethodOf]] = {
    "at": at,
    "concat": concat,
    "flat": flat,
    "includes": includes,
    "indexOf": index_of,
    "join": join,
    "lastIndexOf": last_index_of,
    "reverse": reverse,
    "slice": slice_,
    "toReversed": reverse,
    "toString": to_string,
}
