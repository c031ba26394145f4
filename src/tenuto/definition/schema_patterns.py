"""The cost of a pattern in a JSON Schema: how large it is, and how it is matched."""

from __future__ import annotations

import re
from typing import Final

BACKTRACKS: Final = 1_000
"""How often the engine that backtracks may do so for one text."""

_LARGEST: Final = 1_000_000
_REPEAT: Final = re.compile(r"(.)\{(\d{1,7})(?:,(\d{0,7}))?\}", re.DOTALL)
_UNICODE: Final = re.compile(r"\\[pP]")
_STATES_OF_A_UNICODE_CLASS: Final = 64
_NEEDS_BACKTRACKING: Final = re.compile(r"\(\?<?[=!>]|\\[1-9]|\\k<|\(\?\(")
_ATOM = r"(?:\[[^\[\]\\]+\]|\\[dDwWsS.+*?()\[\]{}|^$/-]|[\w \-:/@#%&=,;!~'\"<>])"
_DETERMINISTIC: Final = re.compile(rf"\^?(?:{_ATOM}(?:\{{\d+\}})?)*(?:{_ATOM}[*+?])?\$?\Z")
_RUN: Final = re.compile(rf"\^{_ATOM}(?:[*+?]|\{{\d+(?:,\d*)?\}})?\$\Z")


def is_backtracking(pattern: str) -> bool:
    """Whether a pattern looks around or back, which no engine does in linear time."""
    return _NEEDS_BACKTRACKING.search(pattern) is not None


def pattern_size(pattern: str) -> int:
    """About how many states a pattern has, with all repetitions written out."""
    size, times = len(pattern), 1
    for before, least, most in _REPEAT.findall(pattern):
        count = max(int(least or 0), int(most or 0), 1)
        if before in ")}":
            times = min(times * count, _LARGEST)
        else:
            size += count
    if _UNICODE.search(pattern):
        size *= _STATES_OF_A_UNICODE_CLASS
    return min(size * times, _LARGEST)


def pattern_units(pattern: str) -> int:
    """Units of work for each character that is matched, at most."""
    if is_backtracking(pattern):
        return pattern_size(pattern) * BACKTRACKS
    is_simple = pattern.startswith("^") and (_DETERMINISTIC.match(pattern) or _RUN.match(pattern))
    return 4 if is_simple else pattern_size(pattern)
