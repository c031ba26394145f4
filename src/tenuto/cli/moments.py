"""Moments and dates as people write them on the command line."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from tenuto.model.durations import parse_moment
from tenuto.model.errors import InvalidInput, Problem

_DAY = timedelta(days=1)
_MILLISECOND = timedelta(milliseconds=1)


def moment_of(text: str | None, option: str, zone: str = "UTC") -> datetime | None:
    """A moment, or the beginning of a date in a zone; InvalidInput."""
    return _read(text, option, zone, is_end=False)


def end_of(text: str | None, option: str, zone: str = "UTC") -> datetime | None:
    """A moment, or the end of a date in a zone; InvalidInput."""
    return _read(text, option, zone, is_end=True)


def date_of(text: str, option: str) -> date:
    """A date; InvalidInput."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _no_date(text, option, "Write a date, such as 2026-12-24.") from None


def _read(text: str | None, option: str, zone: str, *, is_end: bool) -> datetime | None:
    if text is None:
        return None
    advice = "Write a moment, such as 2026-12-24T09:00:00Z, or a date, such as 2026-12-24."
    if len(text) == len("2026-12-24"):
        try:
            return _edge(date.fromisoformat(text), zone, is_end=is_end)
        except (ValueError, OverflowError):
            raise _no_date(text, option, advice) from None
    try:
        return parse_moment(text)
    except ValueError as error:
        raise _refused(option, str(error), advice) from None


def _edge(day: date, zone: str, *, is_end: bool) -> datetime:
    on = day + _DAY if is_end else day
    midnight = datetime(on.year, on.month, on.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    return midnight - _MILLISECOND if is_end else midnight


def _no_date(text: str, option: str, advice: str) -> InvalidInput:
    return _refused(option, f"`{text[:100]}` is not a date", advice)


def _refused(option: str, message: str, advice: str) -> InvalidInput:
    problem = Problem(code="TEN-2640", path=option, message=message[:200], advice=advice)
    return InvalidInput(f"{option} is not a time", [problem])
