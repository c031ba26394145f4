"""The working time of the one calendar of simulated workflows, counted by hand.

In `halves` the first half of each hour is working time, by UTC, on every day.
"""

from __future__ import annotations

from typing import Final

CALENDAR: Final = "halves"
HOUR: Final = 3_600_000
HALF: Final = HOUR // 2
DAY: Final = 24 * HOUR


def worked(moment: int) -> int:
    """The working time from 1970 until a moment; all in milliseconds."""
    hours, rest = divmod(moment, HOUR)
    return hours * HALF + min(rest, HALF)


def after(moment: int, time: int, days: int = 0) -> int:
    """When so many working days, and then so much working time, have passed."""
    if days:
        moment = next_working(moment + days * DAY)
    if not time:
        return moment
    hours, rest = divmod(worked(moment) + time, HALF)
    # A duration that ends with the working hours ends then, and not with the next ones.
    return hours * HOUR + rest if rest else (hours - 1) * HOUR + HALF


def next_working(moment: int) -> int:
    """A moment, or the beginning of the next working time."""
    hours, rest = divmod(moment, HOUR)
    return moment if rest < HALF else (hours + 1) * HOUR
