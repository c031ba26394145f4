"""Retry policies and durations of tasks, as written in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Literal, NoReturn

from msgspec.structs import asdict

from tenuto.model.durations import parse_duration
from tenuto.model.errors import TenutoError
from tenuto.model.policy import (
    DEFAULT_RETRY,
    BusinessRetryPolicy,
    RetryPolicy,
    default_longest,
)
from tenuto.model.working_time import WorkingDuration, parse_working_duration

_USUAL_CAP = DEFAULT_RETRY.max_delay
BAD_OPTION = "TEN-1802"
"""A task has an invalid option."""

Length = str | timedelta
"""A duration: ISO 8601 text or a timedelta."""


class Retry:
    """How often a failing task is retried, and how long it waits in between."""

    __slots__ = ("policy",)

    def __init__(
        self,
        attempts: int = DEFAULT_RETRY.max_attempts,
        first: Length = DEFAULT_RETRY.initial_delay,
        factor: float = DEFAULT_RETRY.multiplier,
        cap: Length = DEFAULT_RETRY.max_delay,
        *,
        non_retryable: Iterable[str] = (),
        on_lost: Literal["retry", "fail"] = "retry",
        calendar: str | None = None,
    ) -> None:
        """With `calendar`, the delays are in its working time: `"P1D"` is a working day."""
        if type(attempts) is not int or attempts < 1:
            _refuse(f"attempts={attempts!r} is not a number of attempts", "Write 1 or more.")
        if type(factor) not in {int, float} or not math.isfinite(factor) or factor < 1:
            _refuse(f"factor={factor!r} does not lengthen the wait", "Write 1.0 or more.")
        if isinstance(non_retryable, str):
            _refuse(
                f"non_retryable={non_retryable!r} is text", f"Write a list: [{non_retryable!r}]."
            )
        if on_lost not in {"retry", "fail"}:
            _refuse(f"on_lost={on_lost!r} means nothing", 'Write "retry" or "fail".')
        policy = RetryPolicy(
            max_attempts=attempts,
            initial_delay=read_length("first", first),
            multiplier=float(factor),
            max_delay=read_length("cap", cap),
            non_retryable=tuple(non_retryable),
            on_lost=on_lost,
        )
        self.policy = policy if calendar is None else _business(policy, first, cap, calendar)

    def __repr__(self) -> str:
        return f"Retry({self.policy})"


def _business(
    policy: RetryPolicy, first: Length, cap: Length, calendar: str
) -> BusinessRetryPolicy:
    if not calendar:
        _refuse(f"calendar={calendar!r} is not the id of a calendar", 'Write calendar="office".')
    begins = _working("first", first)
    return BusinessRetryPolicy(
        **asdict(policy),
        calendar=calendar,
        first=begins,
        longest=default_longest(begins) if cap is _USUAL_CAP else _working("cap", cap),
    )


def _working(option: str, value: Length) -> WorkingDuration:
    if isinstance(value, str):
        return parse_working_duration(value)
    if value >= timedelta(days=1):
        advice = "Write 'P1D' for a working day, or 'PT24H' for hours of work."
        _refuse(f"{option}={value!r} may be working days or hours of work", advice)
    return WorkingDuration(span=value)


def read_length(option: str, value: Length, *, may_be_zero: bool = True) -> timedelta:
    """A duration from the value that a user gave for `option`."""
    advice = "Write ISO 8601 text such as 'PT20S', or a timedelta."
    if isinstance(value, timedelta):
        span = value
    elif isinstance(value, str):
        try:
            duration = parse_duration(value)
        except ValueError as error:
            _refuse(f"{option}: {error}", advice)
        if duration.months:
            _refuse(f"{option}={value!r}: a month has no fixed length", "Write it in days.")
        span = duration.span
    else:
        _refuse(f"{option}={value!r} is not a duration", advice)
    if span < timedelta(0) or (not span and not may_be_zero):
        _refuse(f"{option}={value!r} is too short", advice)
    return span


def _refuse(message: str, advice: str) -> NoReturn:
    raise TenutoError(message, code=BAD_OPTION, advice=advice)
