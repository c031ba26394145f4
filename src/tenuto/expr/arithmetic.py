"""Arithmetic on doubles, with JavaScript's coercions.

Each operator has a first branch for two small integers, which is what nearly every expression
adds up; everything else goes through doubles.
"""

from __future__ import annotations

import math

from tenuto.expr import utf16
from tenuto.expr.coerce import to_number, to_primitive, to_text
from tenuto.expr.frame import Frame
from tenuto.expr.numerals import INFINITY, NAN, SAFE, number
from tenuto.expr.values import Operand


def add(frame: Frame, a: Operand, b: Operand) -> Operand:
    """`a + b`: a sum, or a concatenation when either side is text."""
    if type(a) is int and type(b) is int and -SAFE <= a <= SAFE and -SAFE <= b <= SAFE:
        return _exact(a + b)
    a, b = to_primitive(frame, a), to_primitive(frame, b)
    if type(a) is str or type(b) is str:
        left, right = to_text(frame, a), to_text(frame, b)
        frame.pay_text(len(left) + len(right))
        return utf16.concatenated(left, right)
    return number(float(to_number(frame, a)) + float(to_number(frame, b)))


def subtract(frame: Frame, a: Operand, b: Operand) -> int | float:
    """`a - b`."""
    if type(a) is int and type(b) is int and -SAFE <= a <= SAFE and -SAFE <= b <= SAFE:
        return _exact(a - b)
    return number(float(to_number(frame, a)) - float(to_number(frame, b)))


def multiply(frame: Frame, a: Operand, b: Operand) -> int | float:
    """`a * b`."""
    return number(float(to_number(frame, a)) * float(to_number(frame, b)))


def divide(frame: Frame, a: Operand, b: Operand) -> int | float:
    """`a / b`."""
    x, y = float(to_number(frame, a)), float(to_number(frame, b))
    if y:
        return number(x / y)
    if x == 0 or x != x:
        return NAN
    return math.copysign(INFINITY, x) * math.copysign(1.0, y)


def remainder(frame: Frame, a: Operand, b: Operand) -> int | float:
    """`a % b`: the sign is that of `a`."""
    x, y = float(to_number(frame, a)), float(to_number(frame, b))
    if not y or math.isinf(x):
        return NAN
    return number(math.fmod(x, y))


def power(frame: Frame, a: Operand, b: Operand) -> int | float:
    """`a ** b`."""
    x, y = float(to_number(frame, a)), float(to_number(frame, b))
    if y != y or (abs(x) == 1 and math.isinf(y)):
        return NAN
    odd = math.isfinite(y) and math.fmod(y, 2.0) in (1.0, -1.0)
    if x == 0 and y < 0:
        return math.copysign(INFINITY, x) if odd else INFINITY
    try:
        return number(math.pow(x, y))
    except OverflowError:
        return -INFINITY if x < 0 and odd else INFINITY
    except ValueError:
        return NAN


def negate(frame: Frame, value: Operand) -> int | float:
    """`-value`, where the opposite of 0 is minus zero."""
    return number(-float(to_number(frame, value)))


def _exact(n: int) -> int | float:
    # The sum of two exact doubles, rounded once, is the double that JavaScript computes.
    return n if -SAFE <= n <= SAFE else float(n)
