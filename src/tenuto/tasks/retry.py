"""Retry policies and durations of tasks, as written in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Literal, NoReturn

from tenuto.model.durations import parse_duration
from tenuto.model.errors import TenutoError
from tenuto.model.policy import DEFAULT_RETRY, RetryPolicy

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
    ) -> None:
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
        self.policy = RetryPolicy(
            max_attempts=attempts,
            initial_delay=read_length("first", first),
            multiplier=float(factor),
            max_delay=read_length("cap", cap),
            non_retryable=tuple(non_retryable),
            on_lost=on_lost,
        )

    def __repr__(self) -> str:
        return f"Retry({self.policy})"


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
