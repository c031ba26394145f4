"""The methods of numbers, booleans and objects."""

from __future__ import annotations

from typing import Final

from tenuto.expr.coerce import OBJECT_TEXT, to_integer, to_text
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library.calling import Arguments, MethodOf, argument
from tenuto.expr.members import has
from tenuto.expr.numerals import computable, fixed_text, number_text, radix_text
from tenuto.expr.values import UNDEFINED, Lazy, Operand


def to_fixed(frame: Frame, n: float, arguments: Arguments) -> Operand:
    places = to_integer(frame, argument(arguments, 0))
    if not 0 <= places <= 100:
        raise ExpressionError("`toFixed` takes 0 to 100 places")
    n = computable(n)
    return fixed_text(n, places) if abs(n) < 1e21 else number_text(n)


def number_to_string(frame: Frame, n: float, arguments: Arguments) -> Operand:
    given = argument(arguments, 0)
    radix = 10 if given is UNDEFINED else to_integer(frame, given)
    if not 2 <= radix <= 36:
        raise ExpressionError("`toString` takes a radix from 2 to 36")
    if radix == 10:
        return to_text(frame, n)
    n = computable(n)
    if type(n) is not int:
        raise ExpressionError("`toString` with a radix takes whole numbers up to 2^53")
    return radix_text(n, radix)


def boolean_to_string(frame: Frame, value: bool, _arguments: Arguments) -> Operand:  # noqa: FBT001
    return to_text(frame, value)


def object_to_string(
    _frame: Frame, _value: dict[str, Operand] | Lazy, _arguments: Arguments
) -> Operand:
    return OBJECT_TEXT


def has_own_property(
    frame: Frame, value: dict[str, Operand] | Lazy, arguments: Arguments
) -> Operand:
    return has(frame, argument(arguments, 0), value)


OF_NUMBERS: Final[dict[str, MethodOf]] = {"toFixed": to_fixed, "toString": number_to_string}
OF_BOOLEANS: Final[dict[str, MethodOf]] = {"toString": boolean_to_string}
OF_OBJECTS: Final[dict[str, MethodOf]] = {
    "hasOwnProperty": has_own_property,
    "toString": object_to_string,
}
