"""`JSON.parse` and `JSON.stringify`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from json.encoder import encode_basestring
from math import isfinite
from typing import Final, NoReturn

from tenuto.expr import utf16
from tenuto.expr.bounds import DATA_DEPTH
from tenuto.expr.coerce import digits_of, host_value, to_integer, to_text
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library.calling import Arguments, argument
from tenuto.expr.members import member
from tenuto.expr.numerals import number, number_text
from tenuto.expr.values import UNDEFINED, Lazy, Operand, Undefined

_WIDEST_INDENT: Final = 10
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parse(frame: Frame, arguments: Arguments) -> Operand:
    """`JSON.parse(text)`."""
    text = to_text(frame, argument(arguments, 0))
    # Much faster than an evaluator's loop, so that four values of it go into a step.
    frame.pay_text(len(text))
    frame.pay(text.count(",") // 4)
    try:
        value: Operand = json.loads(
            text, parse_int=_integer, parse_float=_decimal, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        raise ExpressionError("the text is not JSON") from None
    return value


def _integer(digits: str) -> int | float:
    return -0.0 if digits == "-0" else int(digits)


def _decimal(digits: str) -> int | float:
    return number(float(digits))


def _refuse(_word: str) -> NoReturn:
    raise ValueError


def stringify(frame: Frame, arguments: Arguments) -> Operand:
    """`JSON.stringify(value, null, indent)`."""
    if type(argument(arguments, 1)) is list:
        raise ExpressionError("`JSON.stringify` takes no replacer")
    return json_text(frame, argument(arguments, 0), _indent(frame, argument(arguments, 2)))


def _indent(frame: Frame, given: Operand) -> str:
    if type(given) is str:
        return given[:_WIDEST_INDENT]
    if type(given) is int or type(given) is float:
        return " " * max(0, min(to_integer(frame, given), _WIDEST_INDENT))
    return ""


def json_text(frame: Frame, value: Operand, indent: str = "") -> str | Undefined:
    """A value as JSON; undefined has none."""
    if value is UNDEFINED:
        return UNDEFINED
    pieces: list[str] = []
    _write(frame, value, pieces, indent, 0)
    return "".join(pieces)


def _write(frame: Frame, value: Operand, pieces: list[str], indent: str, depth: int) -> None:
    if type(value) is list:
        _write_items(frame, "[]", (("", each) for each in value), pieces, indent, depth)
    elif type(value) is dict or isinstance(value, Lazy):
        colon = ": " if indent else ":"
        named = ((key, member(frame, value, key)) for key in value.keys())  # noqa: SIM118
        items = (
            (_affordable(frame, key) + colon, each) for key, each in named if each is not UNDEFINED
        )
        _write_items(frame, "{}", items, pieces, indent, depth)
    else:
        piece = _scalar(frame, value)
        frame.pay_text(len(piece))
        pieces.append(piece)


def _scalar(frame: Frame, value: Operand) -> str:
    if type(value) is str:
        return _affordable(frame, value)
    if value is None or value is UNDEFINED:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return digits_of(frame, value)
    if type(value) is float:
        return number_text(value) if isfinite(value) else "null"
    raise host_value(value)


def _write_items(  # noqa: PLR0917
    frame: Frame,
    brackets: str,
    items: Iterable[tuple[str, Operand]],
    pieces: list[str],
    indent: str,
    depth: int,
) -> None:
    if depth >= DATA_DEPTH:
        raise ExpressionError(f"a value is nested more than {DATA_DEPTH} deep")
    line = "\n" + indent * depth if indent else ""
    before = brackets[0]
    for label, each in items:
        frame.pay(1)
        frame.pay_text(len(label) + len(line))
        pieces.append(before + line + indent + label)
        before = ","
        _write(frame, each, pieces, indent, depth + 1)
    pieces.append(brackets if before == brackets[0] else line + brackets[1])


def _affordable(frame: Frame, text: str) -> str:
    """A string as JSON, which is not written where it costs more than is left."""
    frame.afford_text(len(text))
    return quoted(text)


def quoted(text: str) -> str:
    """A string as JSON; a lone surrogate is escaped, so that the result is always well formed."""
    plain = encode_basestring(text)
    if utf16.is_well_formed(plain):
        return plain
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)
