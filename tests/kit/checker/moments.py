"""Moments and lengths of time as they stand in documents and payloads, in whole milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tests.kit.checker.working_time import CALENDAR, DAY, after

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO = re.compile(
    r"P(?:(?P<weeks>[\d.]+)W)?(?:(?P<days>[\d.]+)D)?"
    r"(?:T(?:(?P<hours>[\d.]+)H)?(?:(?P<minutes>[\d.]+)M)?(?:(?P<seconds>[\d.]+)S)?)?\Z"
)


def moment_ms(value: object) -> int | None:
    """Milliseconds since 1970 of an ISO timestamp or a number; None when it is neither."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return int(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def duration_ms(value: object) -> int | None:
    """A fixed length of time; None for templates, calendar months and what is no duration."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return int(value)
    if not isinstance(value, str) or (match := _ISO.match(value)) is None:
        return None
    parts = {name: float(text) for name, text in match.groupdict().items() if text}
    return timedelta(**parts) // timedelta(milliseconds=1) if parts else None


def end_of(value: object, at: int, calendar: object = None) -> int | None:
    """When a length of time that begins at a moment is over; None as for `duration_ms`.

    `calendar` stands beside it; one that is an object names its own.
    """
    if isinstance(value, dict):
        calendar, value = value.get("calendar"), value.get("duration")
    length = duration_ms(value)
    if length is None or calendar is None:
        return None if length is None else at + length
    assert calendar == CALENDAR, f"there is no calendar {calendar}"
    days = _days(value)
    return after(at, length - days * DAY, days)


def _days(value: object) -> int:
    match = _ISO.match(value) if isinstance(value, str) else None
    return 0 if match is None else int(float(match["days"] or 0))
