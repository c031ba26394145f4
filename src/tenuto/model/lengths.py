"""Lengths of time as people read them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def length(span: timedelta) -> str:
    """`0.3 s`, `24 s`, `1 m 2 s`, `2 d 23 h`: two units at most."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for place, (unit, size) in enumerate(UNITS):
        if whole >= size:
            count, rest = divmod(whole, size)
            following = UNITS[place + 1] if place + 1 < len(UNITS) else None
            second = rest // following[1] if following else 0
            return (
                f"{count} {unit} {second} {following[0]}"
                if following and second
                else f"{count} {unit}"
            )
    return "0 s"
