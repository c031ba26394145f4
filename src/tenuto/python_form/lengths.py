"""Durations in workflow functions, as definitions spell them."""

from __future__ import annotations

from datetime import timedelta

from tenuto.definition.time_kinds import iso_duration
from tenuto.model.durations import Duration
from tenuto.python_form.trace import Trace


def length(value: object) -> object:
    """A duration as in definitions; a value that is not a timedelta is left to the compiler."""
    return iso_duration(Duration(value)) if isinstance(value, timedelta) else value


_AMBIGUOUS = "Write `P3D` for working days, or `PT24H` for hours of work."


def working_length(trace: Trace, option: str, value: object, calendar: str | None) -> object:
    """A duration beside a calendar, if there is one; a timedelta does not tell days from hours."""
    if calendar is not None and isinstance(value, timedelta) and value >= timedelta(days=1):
        message = f"`{option}` is {value!r}, which may be working days or hours of work"
        trace.refuse("TEN-1110", message, _AMBIGUOUS)
        return "PT1S"
    return length_with_unit(trace, option, value)


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
