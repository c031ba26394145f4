"""Reading ISO 8601 timestamps as milliseconds since 1970, as `Date.parse` does."""

from __future__ import annotations

import re
from typing import Final

from tenuto.expr.numerals import NAN

_ISO: Final = re.compile(
    r"(?P<year>[0-9]{4}|[+-][0-9]{6})"
    r"(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)?"
    r"(?:T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_LONGEST: Final = 64
_FURTHEST_MS: Final = 8_640_000_000_000_000
_DAYS_IN_MONTH: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parse_date(text: str) -> int | float:
    """Milliseconds since 1970, NaN for anything but a valid ISO timestamp. No zone means UTC."""
    match = _ISO.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or match["year"] == "-000000":
        return NAN
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if not (1 <= month <= 12 and 1 <= day <= _month_length(year, month)):
        return NAN
    milliseconds = int((match["fraction"] or "0")[:3].ljust(3, "0"))
    # 24:00:00 is the end of the day, and the only time with an hour of 24.
    ends_day = hour == 24 and minute == second == milliseconds == 0
    if not ends_day and not (hour < 24 and minute < 60 and second < 60):
        return NAN
    offset = _offset_minutes(match["zone"] or "Z")
    if offset is None:
        return NAN
    minutes = (_days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset
    result = (minutes * 60 + second) * 1000 + milliseconds
    return result if abs(result) <= _FURTHEST_MS else NAN


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_length(year: int, month: int) -> int:
    return _DAYS_IN_MONTH[month - 1] + (month == 2 and _is_leap(year))


def _days_since_1970(year: int, month: int, day: int) -> int:
    # Python's own dates end at the years 1 and 9999; JavaScript's reach 270,000 years.
    before = year - 1
    leap_days = before // 4 - before // 100 + before // 400
    days_to_year = before * 365 + leap_days - 719_162
    return days_to_year + sum(_month_length(year, m) for m in range(1, month)) + day - 1


def _offset_minutes(zone: str) -> int | None:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 23 or minutes > 59:
        return None
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes)
