"""The functions and constants of `Math`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from tenuto.expr.arithmetic import power
from tenuto.expr.coerce import to_number
from tenuto.expr.frame import Frame
from tenuto.expr.library.calling import Arguments, Function, argument
from tenuto.expr.numerals import INFINITY, NAN, number
from tenuto.expr.values import Operand


def _on_double(compute: Callable[[float], float]) -> Function:
    """A function of one double; where Python has no answer the result is NaN."""

    def function(frame: Frame, arguments: Arguments) -> Operand:
        x = float(to_number(frame, argument(arguments, 0)))
        try:
            return number(compute(x))
        except ValueError:
            return NAN

    return function


def _rounding(compute: Callable[[float], float]) -> Function:
    """A function to a whole number; NaN and infinities stay, and so does the sign."""

    def rounded(x: float) -> float:
        return math.copysign(compute(x), x) if math.isfinite(x) else x

    return _on_double(rounded)


def _half_up(x: float) -> float:
    below = math.floor(x)
    return float(below if x - below < 0.5 else below + 1)


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x < 0 or x > 0 else x


def _logarithm(compute: Callable[[float], float]) -> Function:
    return _on_double(lambda x: -INFINITY if x == 0 else compute(x))


def _exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return INFINITY


def _extreme(worst: float, better: Callable[[float, float], bool]) -> Function:
    def function(frame: Frame, arguments: Arguments) -> Operand:
        frame.pay(len(arguments))
        best = worst
        for value in [float(to_number(frame, each)) for each in arguments]:
            if value != value:
                return NAN
            if better(value, best):
                best = value
        return number(best)

    return function


def _larger(a: float, b: float) -> bool:
    return a > b or (a == b == 0 and math.copysign(1.0, a) > 0)


def _smaller(a: float, b: float) -> bool:
    return a < b or (a == b == 0 and math.copysign(1.0, a) < 0)


def _power(frame: Frame, arguments: Arguments) -> Operand:
    return power(frame, argument(arguments, 0), argument(arguments, 1))


FUNCTIONS: Final[dict[str, Function]] = {
    "Math.abs": _on_double(abs),
    "Math.ceil": _rounding(math.ceil),
    "Math.exp": _on_double(_exponential),
    "Math.floor": _rounding(math.floor),
    "Math.log": _logarithm(math.log),
    "Math.log10": _logarithm(math.log10),
    "Math.log2": _logarithm(math.log2),
    "Math.max": _extreme(-INFINITY, _larger),
    "Math.min": _extreme(INFINITY, _smaller),
    "Math.pow": _power,
    "Math.round": _rounding(_half_up),
    "Math.sign": _on_double(_sign),
    "Math.sqrt": _on_double(math.sqrt),
    "Math.trunc": _rounding(math.trunc),
}

CONSTANTS: Final[dict[str, float]] = {
    "Math.E": math.e,
    "Math.LN10": math.log(10),
    "Math.LN2": math.log(2),
    "Math.LOG10E": math.log10(math.e),
    "Math.LOG2E": math.log2(math.e),
    "Math.PI": math.pi,
    "Math.SQRT1_2": math.sqrt(0.5),
    "Math.SQRT2": math.sqrt(2),
}
