"""Lengths of time and moments as people say them."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def length(span: timedelta) -> str:
    """`0.3 s`, `24 s`, `1 m 2 s`, `2 d 23 h`: two units at most."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for place, (unit, size) in enumerate(_UNITS):
        if whole >= size:
            count, rest = divmod(whole, size)
            following = _UNITS[place + 1] if place + 1 < len(_UNITS) else None
            second = rest // following[1] if following else 0
            return (
                f"{count} {unit} {second} {following[0]}"
                if following and second
                else f"{count} {unit}"
            )
    return "0 s"


def countdown(span: timedelta) -> str:
    """`3 s`: whole seconds until something happens, rounded up; `now` when it is due."""
    seconds = span.total_seconds()
    if seconds <= 0:
        return "now"
    whole = int(seconds) + (seconds > int(seconds))
    return f"{whole} s" if whole < 60 else length(timedelta(seconds=whole))


def ago(moment: datetime, now: datetime) -> str:
    """`2 h ago`."""
    seconds = (now - moment).total_seconds()
    if seconds < 1:
        return "just now"
    unit, size = next(each for each in _UNITS if seconds >= each[1])
    return f"{int(seconds // size)} {unit} ago"
