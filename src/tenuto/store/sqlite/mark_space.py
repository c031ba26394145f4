"""Space that a large event keeps for its mark, so that marking it does not write it anew.

SQLite overwrites a row that keeps its length, and writes only those of its pages that differ. A row
that changes its length is written as a whole, beside what it was before: a megabyte becomes three.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

_LARGE: Final = 8_000
"""Bytes of a payload from which on a row takes several pages."""
_LIMITS: Final = (1, 2**7 - 1, 2**15 - 1, 2**23 - 1, 2**31 - 1, 2**47 - 1)
_BYTES: Final = (0, 1, 2, 3, 4, 6, 8)
"""SQLite keeps an integer up to each of these limits in so many bytes, a larger one in eight."""
_MOST: Final = 6 + 3 * 4
"""Bytes of a mark: of a moment, and of three counts."""


def mark_space(payload: int) -> bytes | None:
    """The space in the row of an event with so many bytes of payload."""
    return bytes(_MOST) if payload >= _LARGE else None


def mark_bytes(numbers: Iterable[int]) -> int:
    """The bytes of a mark of these numbers, none of which is negative."""
    return sum(_BYTES[bisect_left(_LIMITS, number)] for number in numbers)
