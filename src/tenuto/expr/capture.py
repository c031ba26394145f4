"""Captured values of a condition, encoded as JSON until its event arrives.

{"v": value}                         a JSON value
{"v": value, "s": [[path, name]]}    one that holds, at these places, what JSON has no word for
{"u": true}                          undefined
{"e": message}                       an error, raised when the value is used
"""

from __future__ import annotations

import copy
import math
from typing import Any, Final

from tenuto.expr.errors import ExpressionError
from tenuto.expr.numerals import number_text
from tenuto.expr.values import UNDEFINED, Operand

_SPECIAL: Final[dict[str, Operand]] = {
    "undefined": UNDEFINED,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "-0": -0.0,
}


def decoded(captured: Any) -> Operand:  # noqa: ANN401
    """The captured value of `encoded`."""
    if "u" in captured:
        return UNDEFINED
    if "e" in captured:
        raise ExpressionError(captured["e"])
    value: Operand = captured["v"]
    if "s" not in captured:
        return value
    holder = [copy.deepcopy(value)]
    for path, name in captured["s"]:
        place: Any = holder
        for key in [0, *path][:-1]:
            place = place[key]
        place[[0, *path][-1]] = _SPECIAL[name]
    return holder[0]


def encoded(value: Operand) -> dict[str, Any]:
    """A value, as `set_aside` leaves it, as JSON."""
    if value is UNDEFINED:
        return {"u": True}
    special: list[list[Any]] = []
    plain = _plain(value, [], special)
    return {"v": plain, "s": special} if special else {"v": plain}


def _plain(value: Operand, path: list[str | int], special: list[list[Any]]) -> Any:  # noqa: ANN401
    if type(value) is list:
        return [_plain(each, [*path, i], special) for i, each in enumerate(value)]
    if type(value) is dict:
        return {key: _plain(each, [*path, key], special) for key, each in value.items()}
    name = _special_name(value)
    if name is None:
        return value
    special.append([path, name])
    return None


def _special_name(value: Operand) -> str | None:
    if value is UNDEFINED:
        return "undefined"
    if type(value) is float and (not math.isfinite(value) or (value == 0 and str(value) == "-0.0")):
        return "-0" if value == 0 else number_text(value)
    return None
