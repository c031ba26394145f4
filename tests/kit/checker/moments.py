"""Moments and lengths of time as they stand in documents and payloads, in whole milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

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
