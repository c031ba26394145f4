"""Barriers, which come after every earlier step of their block and before every later one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from tenuto.model.checks import moment_problem
from tenuto.model.durations import iso
from tenuto.model.working_time import WorkingDuration, written
from tenuto.python_form.lengths import length_with_unit, working_length
from tenuto.python_form.recorder import Recording, current
from tenuto.tasks.retry import Length


def sleep(
    duration: Length | object = None,
    *,
    until: datetime | str | object = None,
    calendar: str | None = None,
    **units: float,
) -> None:
    """Wait for a while (`sleep("PT1H")`, `sleep(minutes=10)`), or until a moment; durable.

    With `calendar` it counts the working time of that calendar: `sleep(days=3, calendar="office")`
    is three working days.
    """
    trace = current("sleep")
    config: dict[str, object] = {}
    if units:
        span = _units(trace, units)
        duration = span if calendar is None else _spelled(trace, units)
    elif calendar is not None and isinstance(duration, timedelta):
        duration = working_length(trace, "sleep", duration, calendar)
    if duration is not None:
        config["duration"] = length_with_unit(
            trace, "sleep", duration, "Write `sleep(seconds={0})`, or `sleep(minutes={0})`."
        )
    if until is not None:
        config["until"] = _moment(trace, until)
    if calendar is not None:
        config["calendar"] = calendar
    trace.barrier("delay", "sleep", config)


def publish(pattern: str, payload: object = None, *, correlation_id: object = None) -> None:
    """Publish an event."""
    trace = current("publish")
    config: dict[str, object] = {"pattern": trace.traceable(pattern, "the pattern")}
    if payload is not None:
        config["payload"] = trace.traceable(payload, "the payload of an event")
    if correlation_id is not None:
        config["correlationId"] = trace.traceable(correlation_id, "the correlation id")
    trace.barrier("emit", "publish", config)


def terminate(
    status: Literal["COMPLETED", "FAILED"] = "COMPLETED",
    *,
    output: object = None,
    reason: object = None,
) -> None:
    """End the instance; active steps are cancelled first."""
    trace = current("terminate")
    config: dict[str, object] = {"status": status}
    if output is not None:
        config["output"] = trace.traceable(output, "the output")
    if reason is not None:
        config["reason"] = trace.traceable(reason, "the reason")
    block = trace.block
    block.ended_by = trace.barrier("terminate", "terminate", config)


def _moment(trace: Recording, until: object) -> object:
    if not isinstance(until, datetime):
        return until
    if (wrong := moment_problem(until)) is not None:
        advice = "Pass a moment with its time zone: `datetime(…, tzinfo=UTC)`."
        trace.refuse("TEN-1110", f"`until` cannot be kept: {wrong}", advice)
        return "1970-01-01T00:00:00Z"
    return iso(until)


def _spelled(trace: Recording, units: Mapping[str, float]) -> str:
    """Units as a duration beside a calendar, in which a day is not 24 hours."""
    weeks, days = units.get("weeks", 0), units.get("days", 0)
    if weeks != int(weeks) or days != int(days):
        message = "a part of a working day, or of a week of them, has no length"
        trace.refuse("TEN-1110", message, "Write whole days, and hours beside them.")
    rest = {name: value for name, value in units.items() if name not in ("weeks", "days")}
    return written(WorkingDuration(weeks=int(weeks), days=int(days), span=_units(trace, rest)))


def _units(trace: Recording, units: Mapping[str, float]) -> timedelta:
    try:
        return timedelta(**units)
    except (TypeError, OverflowError) as error:
        trace.refuse(
            "TEN-1110",
            f"`sleep` cannot be called so: {error}",
            'Write `sleep("PT10M")`, `sleep(minutes=10)` or `sleep(until=moment)`.',
        )
        return timedelta(0)
