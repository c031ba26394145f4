"""The functions that stand alone or under `Number`, `Object`, `Array`, `JSON` and `Date`."""

from __future__ import annotations

import math
import sys
from typing import Final
from urllib.parse import quote

from tenuto.expr import utf16
from tenuto.expr.coerce import to_number, to_text, truthy
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library import json_text, objects
from tenuto.expr.library.calling import Arguments, Function, argument
from tenuto.expr.library.dates import parse_date
from tenuto.expr.numerals import (
    INFINITY,
    NAN,
    SAFE,
    parse_leading_integer,
    parse_leading_number,
)
from tenuto.expr.values import Operand


def number_(frame: Frame, arguments: Arguments) -> Operand:
    return to_number(frame, arguments[0]) if arguments else 0


def string(frame: Frame, arguments: Arguments) -> Operand:
    return to_text(frame, arguments[0]) if arguments else ""


def boolean(_frame: Frame, arguments: Arguments) -> Operand:
    return truthy(argument(arguments, 0))


def parse_int(frame: Frame, arguments: Arguments) -> Operand:
    text = to_text(frame, argument(arguments, 0))
    frame.pay_text(len(text))
    radix = to_number(frame, argument(arguments, 1))
    # A radix is read as a 32-bit integer, of which an infinity has no bits.
    bits = int(radix) % 2**32 if math.isfinite(radix) else 0
    return parse_leading_integer(text, bits)


def parse_float(frame: Frame, arguments: Arguments) -> Operand:
    text = to_text(frame, argument(arguments, 0))
    frame.pay_text(len(text))
    return parse_leading_number(text)


def is_nan(frame: Frame, arguments: Arguments) -> Operand:
    return math.isnan(to_number(frame, argument(arguments, 0)))


def is_finite(frame: Frame, arguments: Arguments) -> Operand:
    return math.isfinite(to_number(frame, argument(arguments, 0)))


def number_is_nan(_frame: Frame, arguments: Arguments) -> Operand:
    value = argument(arguments, 0)
    return type(value) is float and math.isnan(value)


def number_is_finite(_frame: Frame, arguments: Arguments) -> Operand:
    value = argument(arguments, 0)
    return type(value) is int or (type(value) is float and math.isfinite(value))


def number_is_integer(_frame: Frame, arguments: Arguments) -> Operand:
    value = argument(arguments, 0)
    return type(value) is int or (type(value) is float and value.is_integer())


def number_is_safe_integer(_frame: Frame, arguments: Arguments) -> Operand:
    value = argument(arguments, 0)
    if type(value) is float and value.is_integer():
        value = int(value)
    return type(value) is int and -SAFE <= value <= SAFE


def is_array(_frame: Frame, arguments: Arguments) -> Operand:
    return type(argument(arguments, 0)) is list


def date_parse(frame: Frame, arguments: Arguments) -> Operand:
    return parse_date(to_text(frame, argument(arguments, 0)))


def encode_uri_component(frame: Frame, arguments: Arguments) -> Operand:
    text = to_text(frame, argument(arguments, 0))
    # At worst every character is four bytes of three characters each.
    frame.pay_text(12 * len(text))
    if not utf16.is_well_formed(text):
        raise ExpressionError("half a character cannot be part of a URL")
    return quote(text, safe="-_.!~*'()")


FUNCTIONS: Final[dict[str, Function]] = {
    "Array.isArray": is_array,
    "Boolean": boolean,
    "Date.parse": date_parse,
    "JSON.parse": json_text.parse,
    "JSON.stringify": json_text.stringify,
    "Number": number_,
    "Number.isFinite": number_is_finite,
    "Number.isInteger": number_is_integer,
    "Number.isNaN": number_is_nan,
    "Number.isSafeInteger": number_is_safe_integer,
    "Number.parseFloat": parse_float,
    "Number.parseInt": parse_int,
    "Object.entries": objects.entries,
    "Object.fromEntries": objects.from_entries,
    "Object.keys": objects.keys,
    "Object.values": objects.values,
    "String": string,
    "encodeURIComponent": encode_uri_component,
    "isFinite": is_finite,
    "isNaN": is_nan,
    "parseFloat": parse_float,
    "parseInt": parse_int,
}

CONSTANTS: Final[dict[str, float]] = {
    "Infinity": INFINITY,
    "NaN": NAN,
    "Number.EPSILON": sys.float_info.epsilon,
    "Number.MAX_SAFE_INTEGER": SAFE,
    "Number.MAX_VALUE": sys.float_info.max,
    "Number.MIN_SAFE_INTEGER": -SAFE,
    "Number.MIN_VALUE": 5e-324,
    "Number.NEGATIVE_INFINITY": -INFINITY,
    "Number.NaN": NAN,
    "Number.POSITIVE_INFINITY": INFINITY,
}
