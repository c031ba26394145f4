"""Looking up a property: own keys of objects, indexes, and `length`; nothing else exists."""

from __future__ import annotations

from tenuto.expr import utf16
from tenuto.expr.coerce import host_value, to_text
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.numerals import number
from tenuto.expr.values import UNDEFINED, Lazy, Operand, Undefined

# Longer than the digits of any index that an array can have.
_INDEX_DIGITS = 15


def member(frame: Frame, value: Operand, name: str) -> Operand:
    """`value.name`. On null and undefined it is undefined, where JavaScript throws."""
    if type(value) is dict:
        found: Operand = value.get(name, UNDEFINED)
        return found
    if isinstance(value, Lazy):
        return value.get(name)
    if type(value) is list or type(value) is str:
        if type(value) is str and not value.isascii():
            # Counting code units goes through all of the text.
            frame.pay_text(len(value))
        if name == "length":
            return utf16.length(value) if type(value) is str else len(value)
        index = _as_index(name)
        return UNDEFINED if index is None else element(value, index)
    if value is None or type(value) in (bool, int, float, Undefined):
        return UNDEFINED
    raise host_value(value)


def element(value: list[Operand] | str, index: int) -> Operand:
    """The element or code unit at `index`."""
    if type(value) is str:
        value = utf16.units(value)
    return value[index] if 0 <= index < len(value) else UNDEFINED


def subscript(frame: Frame, value: Operand, key: Operand) -> Operand:
    """`value[key]`."""
    if type(key) is str:
        return member(frame, value, key)
    if type(value) is list or type(value) is str:
        index = number(key) if type(key) is float else key
        if type(index) is int:
            if type(value) is str:
                frame.pay_text(len(value))
            return element(value, index)
    return member(frame, value, to_text(frame, key))


def has(frame: Frame, key: Operand, value: Operand) -> bool:
    """`key in value`."""
    name = to_text(frame, key)
    if type(value) is dict:
        return name in value
    if isinstance(value, Lazy):
        return value.get(name) is not UNDEFINED
    if type(value) is list:
        index = _as_index(name)
        return name == "length" or (index is not None and index < len(value))
    raise ExpressionError("the right side of `in` must be an object or an array")


def _as_index(name: str) -> int | None:
    """The index that a key spells: digits without a leading zero."""
    # The length first: a name may be a megabyte, which nobody pays to read.
    if not (len(name) <= _INDEX_DIGITS and name.isascii() and name.isdigit()):
        return None
    return int(name) if name[0] != "0" or name == "0" else None
