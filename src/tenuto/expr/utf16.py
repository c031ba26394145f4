"""Strings counted and cut as JavaScript does: in UTF-16 code units.

A Python string counts code points, so the two differ only where a character lies beyond U+FFFF.
Here a string has two forms. The *text* is what every value holds: pairs of surrogates are joined
to one character. The *units* hold one character for each code unit, so that Python's indexes are
JavaScript's. ASCII is both at once, which is what makes it free.
"""

from __future__ import annotations

import codecs
import sys
from typing import Final

WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# The machine's own byte order, so that the bytes can be read as an array of code units.
_NATIVE: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
_BIG: Final = "utf-16-be"
_KEEP_LONE: Final = "surrogatepass"

# Python imports a codec when it is first used. Evaluating imports nothing, so it is done here.
for _name in (_NATIVE, _BIG):
    codecs.lookup(_name)


def length(text: str) -> int:
    """The number of code units."""
    return len(text) if text.isascii() else len(text.encode(_NATIVE, _KEEP_LONE)) // 2


def units(text: str) -> str:
    """One character for each code unit."""
    if text.isascii():
        return text
    raw = text.encode(_NATIVE, _KEEP_LONE)
    if len(raw) == 2 * len(text):
        return text
    return "".join(map(chr, memoryview(raw).cast("H")))


def joined(units: str) -> str:
    """The text of these code units: pairs of surrogates become one character."""
    if units.isascii():
        return units
    return units.encode(_NATIVE, _KEEP_LONE).decode(_NATIVE, _KEEP_LONE)


def concatenated(left: str, right: str) -> str:
    """`left + right`, where a pair may meet at the seam."""
    if left and right and "\ud800" <= left[-1] <= "\udbff" and "\udc00" <= right[0] <= "\udfff":
        return left[:-1] + joined(left[-1] + right[0]) + right[1:]
    return left + right


def sort_key(text: str) -> bytes:
    """A key that orders strings by their code units."""
    return text.encode(_BIG, _KEEP_LONE)


def before(left: str, right: str) -> bool:
    """Whether `left < right`, code unit by code unit."""
    if left.isascii() or right.isascii():
        # Against ASCII the order of code points and that of code units is the same.
        return left < right
    # The first difference is at the latest where the shorter one ends.
    decisive = min(len(left), len(right)) + 1
    left, right = left[:decisive], right[:decisive]
    return sort_key(left) < sort_key(right)


def is_well_formed(text: str) -> bool:
    """Whether no surrogate stands alone."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
