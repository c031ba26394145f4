"""JavaScript's conversions between the types of value."""

from __future__ import annotations

from typing import Final

from tenuto.expr import utf16
from tenuto.expr.bounds import DATA_DEPTH, INTEGER_BITS
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.numerals import NAN, computable, number_text, parse_number
from tenuto.expr.values import Lazy, Operand, Undefined

OBJECT_TEXT: Final = "[object Object]"

# Integers below this are written within a few microseconds, which is no more than a step.
_FREE_BITS: Final = 1024

_TYPE_NAMES: Final[dict[type, str]] = {
    type(None): "object",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "object",
    dict: "object",
    Undefined: "undefined",
}


def host_value(value: object) -> ExpressionError:
    """The error for something that is no value of the language at all."""
    return ExpressionError(f"a {type(value).__name__} is not a JSON value")


def type_of(value: Operand) -> str:
    """JavaScript's `typeof`."""
    name = _TYPE_NAMES.get(type(value))
    if name is None:
        if isinstance(value, Lazy):
            return "object"
        raise host_value(value)
    return name


def description(value: Operand) -> str:
    """The type of a value as a person would name it."""
    if value is None:
        return "null"
    if type(value) is list:
        return "an array"
    name = type_of(value)
    return name if name == "undefined" else f"{'an' if name == 'object' else 'a'} {name}"


def is_object(value: Operand) -> bool:
    """Whether the value is an object or an array."""
    return type(value) in (list, dict) or isinstance(value, Lazy)


def truthy(value: Operand) -> bool:
    """JavaScript's truth of a value."""
    kind = type(value)
    if kind is bool or kind is str:
        return bool(value)
    if kind is int or kind is float:
        return value == value and value != 0
    if value is None or kind is Undefined:
        return False
    if kind is list or kind is dict or isinstance(value, Lazy):
        return True
    raise host_value(value)


def to_primitive(frame: Frame, value: Operand) -> Operand:
    """A value that is no object: objects and arrays become text."""
    return to_text(frame, value) if is_object(value) else value


def to_text(frame: Frame, value: Operand) -> str:
    """JavaScript's `String(value)`."""
    if type(value) is str:
        return value
    if type(value) is int:
        return digits_of(frame, value)
    if type(value) is float:
        return number_text(value)
    if type(value) is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if type(value) is Undefined:
        return "undefined"
    if type(value) is list:
        return list_text(frame, value, ",", 0)
    if type(value) is dict or isinstance(value, Lazy):
        return OBJECT_TEXT
    raise host_value(value)


def digits_of(frame: Frame, n: int) -> str:
    """All digits of an integer. CPython takes the square of their number to write them."""
    long = n.bit_length() // _FREE_BITS
    if long and n.bit_length() <= INTEGER_BITS:
        frame.pay(long * long)
    return number_text(n)


def list_text(frame: Frame, values: list[Operand], separator: str, depth: int) -> str:
    """JavaScript's `values.join(separator)`."""
    if depth > DATA_DEPTH:
        raise ExpressionError(f"a value is nested more than {DATA_DEPTH} deep")
    frame.pay(len(values))
    parts: list[str] = []
    for value in values:
        if value is None or type(value) is Undefined:
            parts.append("")
        elif type(value) is list:
            parts.append(list_text(frame, value, ",", depth + 1))
        else:
            parts.append(to_text(frame, value))
    frame.pay_text(sum(map(len, parts)) + len(separator) * len(parts))
    return utf16.joined(separator.join(parts))


def to_number(frame: Frame, value: Operand) -> int | float:
    """JavaScript's `Number(value)`."""
    if type(value) is int or type(value) is float:
        return computable(value)
    if type(value) is str:
        frame.pay_text(len(value))
        return parse_number(value)
    if type(value) is bool:
        return 1 if value else 0
    if value is None:
        return 0
    if type(value) is Undefined:
        return NAN
    return parse_number(to_text(frame, value))


def to_integer(frame: Frame, value: Operand, default: int = 0) -> int:
    """A position as string and array methods read it: truncated, NaN is 0, held within ±2^53."""
    if type(value) is Undefined:
        return default
    n = to_number(frame, value)
    if type(n) is int:
        return n
    if n != n:
        return 0
    return int(max(-(2.0**53), min(2.0**53, n)))
