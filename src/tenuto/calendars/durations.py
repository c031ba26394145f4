"""Durations in working time, as users write them."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct
from whenever import ItemizedDelta

from tenuto.model.durations import SHORT, parse_duration


class WorkingDuration(Struct, frozen=True, omit_defaults=True):
    """A duration beside a calendar: its parts are added one after the other, the largest first."""

    months: int = 0
    """Months and years of the calendar on the wall."""
    weeks: int = 0
    days: int = 0
    """Working days."""
    span: timedelta = timedelta(0)
    """Working time."""


def parse_working_duration(value: object) -> WorkingDuration:
    """Read `P3D`, `PT4H`, `4h` or milliseconds; ValueError if it is none of them.

    Unlike `parse_duration` it keeps days apart from hours: with a calendar, `P1D` is a working day
    and `PT24H` is 24 hours of work.
    """
    whole = parse_duration(value)
    if not isinstance(value, str):
        return WorkingDuration(span=whole.span)
    if short := SHORT.match(value):
        weeks, days = (int(number or 0) for number in short.groups()[:2])
    else:
        parts = dict(ItemizedDelta.parse_iso(value).items())
        weeks, days = parts.get("weeks", 0), parts.get("days", 0)
    span = whole.span - timedelta(weeks=weeks, days=days)
    return WorkingDuration(whole.months, weeks, days, span)
