"""The closures of the operators that evaluate both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tenuto.expr.arithmetic import add, divide, multiply, power, remainder, subtract
from tenuto.expr.compare import at_most, less, loose_equals, strict_equals
from tenuto.expr.frame import Frame
from tenuto.expr.links import Evaluator
from tenuto.expr.members import has
from tenuto.expr.values import Operand, Undefined

Operator: TypeAlias = Callable[[Frame, Operand, Operand], Operand]

OPERATORS: Final[dict[str, Operator]] = {
    "!=": lambda frame, a, b: not loose_equals(frame, a, b),
    "!==": lambda frame, a, b: not strict_equals(frame, a, b),
    "%": remainder,
    "*": multiply,
    "**": power,
    "+": add,
    "-": subtract,
    "/": divide,
    "<": less,
    "<=": at_most,
    "==": loose_equals,
    "===": strict_equals,
    ">": lambda frame, a, b: less(frame, b, a),
    ">=": lambda frame, a, b: at_most(frame, b, a),
    "in": has,
}


def binary(operator: str, left: Evaluator, right: Evaluator) -> Evaluator:
    """`left operator right`."""
    operate = OPERATORS[operator]
    return lambda frame: operate(frame, left(frame), right(frame))


def equals_constant(left: Evaluator, constant: Any, *, negated: bool) -> Evaluator:  # noqa: ANN401
    """`left === constant` or its opposite: the commonest condition has its own closure."""
    if constant is None or type(constant) in (bool, Undefined):
        if negated:
            return lambda frame: left(frame) is not constant
        return lambda frame: left(frame) is constant
    kinds = (str,) if type(constant) is str else (int, float)

    def evaluate(frame: Frame) -> Operand:
        value = left(frame)
        return (type(value) in kinds and value == constant) is not negated

    return evaluate
