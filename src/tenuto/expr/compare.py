"""Equality and order as JavaScript has them, except that integers compare exactly."""

from __future__ import annotations

from tenuto.expr import utf16
from tenuto.expr.bounds import FREE_COMPARISON
from tenuto.expr.coerce import is_object, to_text, type_of
from tenuto.expr.frame import Frame
from tenuto.expr.numerals import NAN, comparable_number
from tenuto.expr.values import Operand, Undefined


def strict_equals(frame: Frame, a: Operand, b: Operand) -> bool:
    """`a === b`. Objects and arrays are equal only to themselves."""
    kind = type(a)
    if kind is not type(b):
        # int with float; a bool is neither here, because types are compared, not classes.
        return kind in (int, float) and type(b) in (int, float) and a == b
    if type(a) is str and type(b) is str:
        return _same_text(frame, a, b)
    if kind is int or kind is float:
        return a == b
    return a is b


def same_value_zero(frame: Frame, a: Operand, b: Operand) -> bool:
    """As `===`, but NaN is equal to NaN: how `includes` compares."""
    return strict_equals(frame, a, b) or (
        type(a) is float and type(b) is float and a != a and b != b
    )


def loose_equals(frame: Frame, a: Operand, b: Operand) -> bool:
    """`a == b`."""
    kinds = type_of(a), type_of(b)
    nullish = [value is None or type(value) is Undefined for value in (a, b)]
    if any(nullish):
        return all(nullish)
    if kinds[0] == kinds[1]:
        return strict_equals(frame, a, b)
    if is_object(a):
        return loose_equals(frame, to_text(frame, a), b)
    if is_object(b):
        return loose_equals(frame, a, to_text(frame, b))
    return _comparable(frame, a) == _comparable(frame, b)


def less(frame: Frame, a: Operand, b: Operand) -> bool:
    """`a < b`."""
    if type(a) is int and type(b) is int:
        return a < b
    a, b = _primitive(frame, a), _primitive(frame, b)
    if type(a) is str and type(b) is str:
        frame.pay_text(min(len(a), len(b)))
        return utf16.before(a, b)
    return _comparable(frame, a) < _comparable(frame, b)


def at_most(frame: Frame, a: Operand, b: Operand) -> bool:
    """`a <= b`, which is not the opposite of `b < a`: neither holds for NaN."""
    if type(a) is int and type(b) is int:
        return a <= b
    a, b = _primitive(frame, a), _primitive(frame, b)
    if type(a) is str and type(b) is str:
        frame.pay_text(min(len(a), len(b)))
        return not utf16.before(b, a)
    return _comparable(frame, a) <= _comparable(frame, b)


def _same_text(frame: Frame, a: str, b: str) -> bool:
    if len(a) != len(b):
        return False
    if len(a) > FREE_COMPARISON and a is not b:
        frame.pay_text(len(a))
    return a == b


def _primitive(frame: Frame, value: Operand) -> Operand:
    return to_text(frame, value) if is_object(value) else value


def _comparable(frame: Frame, value: Operand) -> int | float:
    """A primitive as a number to compare: nothing is rounded, so that integers compare exactly."""
    if type(value) is int or type(value) is float:
        return value
    if type(value) is str:
        frame.pay_text(len(value))
        return comparable_number(value)
    if type(value) is Undefined:
        return NAN
    return 1 if value is True else 0
