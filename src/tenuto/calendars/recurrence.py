"""Dates that repeat by a rule of iCalendar (RFC 5545), within bounds.

A library would search the years up to 9999 for a rule that never applies: here each day between
two dates is asked whether the rule names it.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Literal

from msgspec import Struct

Frequency = Literal["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]


class Recurrence(Struct, frozen=True, kw_only=True):
    """A rule with its parts that name days; weekdays begin with 0, Monday."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: date | None = None
    months: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    """Negative ones are counted from the end of the month."""
    weekdays: frozenset[tuple[int, int]] = frozenset()
    """Which one of the month or the year (0: each, negative: from the end), and the weekday."""
    week_start: int = 0


def dates(
    rule: Recurrence, start: date, first: date, last: date, spend: Callable[[], None]
) -> Iterator[date]:
    """The dates from `first` to `last` that a rule gives for a beginning at `start`.

    `spend` is called for each day that is asked. Counting begins at `start`, so that one long
    before `first` takes longer.
    """
    end = last if rule.until is None else min(last, rule.until)
    found = 0
    for day in _days(rule, start, start if rule.count is not None else max(start, first), end):
        spend()
        if _fits(rule, start, day):
            found += 1
            if rule.count is not None and found > rule.count:
                return
            if day >= first:
                yield day


def _days(rule: Recurrence, start: date, first: date, last: date) -> Iterator[date]:
    """The days in months that the rule may name."""
    months = rule.months
    if rule.frequency == "YEARLY" and not (months or rule.month_days or rule.weekdays):
        months = frozenset({start.month})
    for index in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        year, month = index // 12, index % 12 + 1
        if months and month not in months:
            continue
        for number in range(1, monthrange(year, month)[1] + 1):
            day = date(year, month, number)
            if first <= day <= last:
                yield day


def _fits(rule: Recurrence, start: date, day: date) -> bool:
    if rule.months and day.month not in rule.months:
        return False
    if _passed(rule, start, day) % rule.interval:
        return False
    if rule.month_days and not _is_month_day(rule, day):
        return False
    if rule.weekdays:
        return _is_weekday(rule, day)
    if rule.month_days:
        return True
    # What the rule does not name is as on the first day.
    match rule.frequency:
        case "DAILY":
            return True
        case "WEEKLY":
            return day.weekday() == start.weekday()
        case "MONTHLY":
            return day.day == start.day
        case "YEARLY":
            return day.day == start.day and (bool(rule.months) or day.month == start.month)


def _passed(rule: Recurrence, start: date, day: date) -> int:
    """How many days, weeks, months or years have passed."""
    match rule.frequency:
        case "DAILY":
            return (day - start).days
        case "WEEKLY":
            return (_week(day, rule.week_start) - _week(start, rule.week_start)).days // 7
        case "MONTHLY":
            return (day.year - start.year) * 12 + day.month - start.month
        case "YEARLY":
            return day.year - start.year


def _week(day: date, week_start: int) -> date:
    return day - timedelta(days=(day.weekday() - week_start) % 7)


def _is_month_day(rule: Recurrence, day: date) -> bool:
    length = monthrange(day.year, day.month)[1]
    return day.day in rule.month_days or day.day - length - 1 in rule.month_days


def _is_weekday(rule: Recurrence, day: date) -> bool:
    if (0, day.weekday()) in rule.weekdays:
        return True
    if rule.frequency == "MONTHLY" or (rule.frequency == "YEARLY" and rule.months):
        before, length = day.day - 1, monthrange(day.year, day.month)[1]
    elif rule.frequency == "YEARLY":
        before = (day - date(day.year, 1, 1)).days
        length = (date(day.year, 12, 31) - date(day.year, 1, 1)).days + 1
    else:
        return False
    from_start, from_end = before // 7 + 1, -((length - before - 1) // 7) - 1
    weekday = day.weekday()
    return (from_start, weekday) in rule.weekdays or (from_end, weekday) in rule.weekdays
