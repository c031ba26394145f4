"""Barriers, which come after every earlier step of their block and before every later one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar, overload

from tenuto.definition.time_kinds import iso_duration
from tenuto.model.checks import moment_problem
from tenuto.model.durations import Duration, iso
from tenuto.model.graph import TIMEOUT
from tenuto.python_form import formula
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, formula_of
from tenuto.python_form.joins import choice
from tenuto.python_form.json_values import Expression
from tenuto.python_form.recorder import Recording, current
from tenuto.python_form.step import GO, Block, Step
from tenuto.tasks.retry import Length

T = TypeVar("T")


def sleep(
    duration: Length | object = None,
    *,
    until: datetime | str | object = None,
    calendar: str | None = None,
    **units: float,
) -> None:
    """Wait for a while (`sleep("PT1H")`, `sleep(minutes=10)`), or until a moment; durable."""
    trace = current("sleep")
    config: dict[str, object] = {}
    if units:
        duration = _units(trace, units)
    if duration is not None:
        config["duration"] = _length(
            trace, "sleep", duration, "Write `sleep(seconds={0})`, or `sleep(minutes={0})`."
        )
    if until is not None:
        config["until"] = _moment(trace, until)
    if calendar is not None:
        config["calendar"] = calendar
    trace.barrier("delay", "sleep", config)


@overload
def wait_event(
    pattern: str,
    payload: type[T],
    /,
    *,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    mapping: Mapping[str, str] | None = None,
) -> T: ...


@overload
def wait_event(
    pattern: str,
    /,
    *,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    mapping: Mapping[str, str] | None = None,
) -> dict[str, Any]: ...


def wait_event(
    pattern: str,
    payload: type[object] | None = None,
    /,
    *,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    mapping: Mapping[str, str] | None = None,
) -> Any:
    """Wait for an event; its value is the event, or its payload where a type for that is given.

    `where` sees `event` and the context. After `timeout`, `on_timeout` runs instead and its value
    is that of the wait; without it the workflow fails.
    """
    trace = current("wait_event")
    config: dict[str, object] = {"eventPattern": pattern}
    test = _condition(trace, where)
    if test is not None:
        config["eventCondition"] = test
    if timeout is not None:
        config["eventTimeout"] = {"duration": _length(trace, "timeout", timeout)}
    elif on_timeout is not None:
        trace.refuse(
            "TEN-1110",
            "`on_timeout` is given without `timeout`, so it would never run",
            'Say after how long: `timeout="P3D"`.',
        )
    if lookback is not None:
        config["lookback"] = _length(trace, "lookback", lookback)
    if correlation_id is not None:
        config["correlationId"] = trace.traceable(correlation_id, "the correlation id")
    if mapping is not None:
        config["eventPayloadMapping"] = dict(mapping)
    wait = trace.record("eventWait", "wait_event", config, is_barrier=True, has_output=True)
    wait.waits_for += [] if test is None else test.formula.waits_for
    what = formula.output_of(wait)
    value = FutureValue(
        trace,
        what if payload is None else formula.member(what, "payload"),
        f"the event `{pattern}`",
        wait,
    )
    if on_timeout is None:
        trace.block.begin_segment(wait)
        return value
    handled = _handled(trace, wait, on_timeout)
    if handled is None:
        trace.block.begin_segment(wait)
        return value
    # A wait that timed out has completed too; whether the handler completed makes the difference.
    either = [handled, value]
    join = trace.joined_any(either, "wait_event")
    if join is None:
        trace.block.begin_segment(wait)
        return value
    join.is_barrier = True
    join.named_after = (wait, "_or_timeout")
    trace.block.begin_segment(join)
    return choice(trace, join, either, wait)


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


def length(value: object) -> object:
    """A duration as in definitions; a value that is not a timedelta is left to the compiler."""
    return iso_duration(Duration(value)) if isinstance(value, timedelta) else value


def _handled(trace: Recording, wait: Step, on_timeout: Callable[..., object]) -> FutureValue | None:
    """The value of the handler of a time-out; None if the handler ends the instance."""
    block = Block(trace.block, wait, TIMEOUT)
    with trace.inside(block):
        given = trace.describe(on_timeout)
        if block.ended_by is not None:
            return None
        if isinstance(given, FutureValue):
            waits_for = formula_of(given).waits_for
            if len(waits_for) == 1 and block in waits_for[0].block.around:
                return given
        # A handler without a value gets a step that records that it ran.
        what = trace.spelled(given, "what `on_timeout` gives")
        ran = trace.record(
            "condition",
            "timed_out",
            {"branches": [{"id": GO, "when": "true"}]},
            handle=GO,
            is_barrier=True,
        )
        ran.waits_for += what.waits_for
        ran.named_after = (wait, "_timed_out")
        return FutureValue(trace, Formula(what.parts, (ran,), what.is_atom), "what came instead")


def _length(
    trace: Recording,
    option: str,
    value: object,
    advice: str = 'Write `{1}="PT{0}S"`, or a timedelta.',
) -> object:
    if isinstance(value, int | float):
        trace.refuse(
            "TEN-1110",
            f"`{option}` is {value}, which has no unit",
            advice.format(value, option),
        )
        return "PT1S"
    return length(value)


def _moment(trace: Recording, until: object) -> object:
    if not isinstance(until, datetime):
        return until
    if (wrong := moment_problem(until)) is not None:
        advice = "Pass a moment with its time zone: `datetime(…, tzinfo=UTC)`."
        trace.refuse("TEN-1110", f"`until` cannot be kept: {wrong}", advice)
        return "1970-01-01T00:00:00Z"
    return iso(until)


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


def _condition(trace: Recording, where: str | Callable[[Any], object] | None) -> Expression | None:
    if where is None:
        return None
    if callable(where):
        event = FutureValue(trace, formula.plain("event"), "an event that will come")
        return trace.expression(where(event), "where")
    return trace.expression(where, "where")
