"""Durations in workflow functions, as definitions spell them."""

from __future__ import annotations

from datetime import timedelta

from tenuto.definition.time_kinds import iso_duration
from tenuto.model.durations import Duration
from tenuto.python_form.trace import Trace


def length(value: object) -> object:
    """A duration as in definitions; a value that is not a timedelta is left to the compiler."""
    return iso_duration(Duration(value)) if isinstance(value, timedelta) else value


def length_with_unit(
    trace: Trace,
    option: str,
    value: object,
    advice: str = 'Write `{1}="PT{0}S"`, or a timedelta.',
) -> object:
    """The same; a bare number is refused."""
    if isinstance(value, int | float):
        trace.refuse(
            "TEN-1110",
            f"`{option}` is {value}, which has no unit",
            advice.format(value, option),
        )
        return "PT1S"
    return length(value)
