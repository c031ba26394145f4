"""Numbers as JavaScript computes, reads and writes them.

A number is an int where it is a whole number that a double holds exactly, else a float. So `1 + 1`
is 2 and not 2.0, and minus zero is the float -0.0. An int beyond that range only ever comes from
outside or from a literal; it keeps its digits until something computes with it.
"""

from __future__ import annotations

import math
import re
from typing import Final

from tenuto.expr.bounds import INTEGER_BITS
from tenuto.expr.errors import ExpressionError
from tenuto.expr.utf16 import WHITE_SPACE

SAFE: Final = 2**53 - 1
NAN: Final = math.nan
INFINITY: Final = math.inf

_DECIMAL_CHARACTERS: Final = frozenset("0123456789+-.eE")
_PREFIXED: Final = {"0x": 16, "0o": 8, "0b": 2}
_DECIMAL_PREFIX: Final = re.compile(
    r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
# Whatever the radix, more digits than this are beyond the largest double.
_DIGITS_OF_INFINITY: Final = 1100
_EXACT_DIGITS: Final = INTEGER_BITS // 4


def number(x: float) -> int | float:
    """The one form of the double `x`."""
    if -SAFE <= x <= SAFE:
        whole = int(x)
        if whole == x and (whole or math.copysign(1.0, x) > 0):
            return whole
    return x


def double(n: float) -> float:
    """`n` as a double; an int that is too large is an infinity, as JavaScript reads it."""
    try:
        return float(n)
    except OverflowError:
        return INFINITY if n > 0 else -INFINITY


def computable(n: float) -> int | float:
    """`n` as something to compute with: an int beyond the safe range is rounded to a double."""
    return n if type(n) is float or -SAFE <= n <= SAFE else number(double(n))


def number_text(n: float) -> str:
    """JavaScript's `String(n)`; an int has all its digits."""
    if isinstance(n, int):
        if n.bit_length() > INTEGER_BITS:
            raise ExpressionError("an integer is too large to be written out")
        return str(n)
    if n != n:
        return "NaN"
    if n in (INFINITY, -INFINITY):
        return "Infinity" if n > 0 else "-Infinity"
    if n == 0:
        return "0"
    return ("-" if n < 0 else "") + _positive_text(abs(n))


def _positive_text(x: float) -> str:
    digits, point = _shortest_digits(x)
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def _shortest_digits(x: float) -> tuple[str, int]:
    """The significant digits of `x` and where the point stands among them."""
    mantissa, _, exponent = repr(x).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(digits) - len(significant))
    return significant.rstrip("0"), point


def parse_number(text: str) -> int | float:
    """JavaScript's `Number(text)`."""
    text = text.strip(WHITE_SPACE)
    if not text:
        return 0
    radix = _PREFIXED.get(text[:2].lower())
    if radix is not None:
        return _whole(text[2:], radix, strict=True)
    if _DECIMAL_CHARACTERS.issuperset(text):
        try:
            return number(float(text))
        except ValueError:
            return NAN
    return {"Infinity": INFINITY, "+Infinity": INFINITY, "-Infinity": -INFINITY}.get(text, NAN)


def comparable_number(text: str) -> int | float:
    """`Number(text)` for comparing: the text of an integer keeps all its digits, as integers do."""
    digits = text[1:] if text[:1] == "-" else text
    if digits.isascii() and digits.isdigit() and len(digits) <= _EXACT_DIGITS:
        return int(text)
    return parse_number(text)


def parse_leading_number(text: str) -> int | float:
    """JavaScript's `parseFloat(text)`."""
    found = _DECIMAL_PREFIX.match(text.lstrip(WHITE_SPACE))
    return parse_number(found[0]) if found else NAN


def parse_leading_integer(text: str, radix: int) -> int | float:
    """JavaScript's `parseInt(text, radix)`; a radix of 0 means: see the text."""
    text = text.lstrip(WHITE_SPACE)
    negative = text[:1] == "-"
    if text[:1] in ("+", "-"):
        text = text[1:]
    if radix in (0, 16) and text[:2].lower() == "0x":
        text, radix = text[2:], 16
    radix = radix or 10
    if not 2 <= radix <= 36:
        return NAN
    magnitude = _whole(text, radix, strict=False)
    return number(-double(magnitude)) if negative else magnitude


def _whole(text: str, radix: int, *, strict: bool) -> int | float:
    """The whole number that `text`, or without `strict` its longest fitting start, spells."""
    allowed = _DIGITS[:radix] + _DIGITS[:radix].upper()
    end = len(text) - len(text.lstrip(allowed))
    if end == 0 or (strict and end < len(text)):
        return NAN
    significant = text[:end].lstrip("0")
    if len(significant) > _DIGITS_OF_INFINITY:
        return INFINITY
    return number(double(int(significant or "0", radix)))


def fixed_text(x: float, places: int) -> str:
    """JavaScript's `x.toFixed(places)` for a finite x below 1e21: ties go away from zero."""
    numerator, denominator = abs(x).as_integer_ratio()
    scaled = (2 * numerator * 10**places + denominator) // (2 * denominator)
    digits = str(scaled).rjust(places + 1, "0")
    sign = "-" if x < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def radix_text(n: int, radix: int) -> str:
    """The whole number `n` in another radix."""
    digits: list[str] = []
    rest = abs(n)
    while rest:
        rest, digit = divmod(rest, radix)
        digits.append(_DIGITS[digit])
    return ("-" if n < 0 else "") + ("".join(reversed(digits)) or "0")
