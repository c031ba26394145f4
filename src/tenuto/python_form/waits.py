"""Waits for events: `wait_event` and `wait_first`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from tenuto.model.graph import TIMEOUT
from tenuto.python_form import formula
from tenuto.python_form.events import EventRule
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, formula_of, trace_of
from tenuto.python_form.joins import choice
from tenuto.python_form.json_values import Expression
from tenuto.python_form.lengths import length_with_unit, working_length
from tenuto.python_form.recorder import Recording, current
from tenuto.python_form.step import ARM, GO, Block, Exit, Step
from tenuto.tasks.retry import Length
from tenuto.tasks.step_call import set_ones

T = TypeVar("T")

Handler = Callable[..., object]
"""A task, or a function that describes steps."""


@overload
def wait_event(
    pattern: str,
    payload: type[T],
    /,
    *,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    calendar: str | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    mapping: Mapping[str, str] | None = None,
    completes: object = None,
) -> T: ...


@overload
def wait_event(
    pattern: str,
    /,
    *,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    calendar: str | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    mapping: Mapping[str, str] | None = None,
    completes: object = None,
) -> dict[str, Any]: ...


@overload
def wait_event(
    pattern: str,
    payload: type[T],
    /,
    *,
    count: int,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    calendar: str | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    completes: object = None,
) -> list[T]: ...


@overload
def wait_event(
    pattern: str,
    /,
    *,
    count: int,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    calendar: str | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    completes: object = None,
) -> list[dict[str, Any]]: ...


def wait_event(  # noqa: PLR0913 - one for each thing that can be said
    pattern: str,
    payload: type[object] | None = None,
    /,
    *,
    count: int | None = None,
    where: str | Callable[[Any], object] | None = None,
    timeout: Length | None = None,
    calendar: str | None = None,
    on_timeout: Callable[..., object] | None = None,
    lookback: Length | None = None,
    correlation_id: object = None,
    mapping: Mapping[str, str] | None = None,
    completes: object = None,
) -> Any:
    """Wait for an event; its value is the event, or its payload where a type for that is given.

    With `count` it waits for so many events, and its value is a list. `where` sees `event` and the
    context. After `timeout`, in the working time of `calendar` if one is named, `on_timeout` runs
    instead and its value is that of the wait; without it the workflow fails. When the wait
    completes, it ends the loops `completes`.
    """
    trace = current("wait_event")
    config: dict[str, object] = {"eventPattern": pattern}
    test = _condition(trace, where)
    if test is not None:
        config["eventCondition"] = test
    _set_timeout(trace, config, timeout, calendar, on_timeout)
    if lookback is not None:
        config["lookback"] = length_with_unit(trace, "lookback", lookback)
    if correlation_id is not None:
        config["correlationId"] = trace.traceable(correlation_id, "the correlation id")
    if mapping is not None:
        config["eventPayloadMapping"] = dict(mapping)
    if count is not None:
        config["count"] = trace.traceable(count, "`count`")
    wait = trace.record("eventWait", "wait_event", config, is_barrier=True, has_output=True)
    trace.apply(wait, set_ones({"completes": completes}))
    came = _came(wait, has_payload=payload is not None, is_counted=count is not None)
    value = FutureValue(trace, came, f"the event `{pattern}`", wait)
    return _behind(trace, wait, value, on_timeout)


def wait_first(
    *,
    timeout: Length | None = None,
    calendar: str | None = None,
    on_timeout: Handler | None = None,
    **events: EventRule,
) -> Any:  # noqa: ANN401 - known when the workflow runs
    """Wait for the first of several events, each under a name of its own.

    `first = wait_first(paid=event("payment.received"), refused=event("payment.refused"))`. Its
    value is the event; `with when(first.paid):` tests which one came. `timeout`, `calendar` and
    `on_timeout` are those of `wait_event`.
    """
    trace = current("wait_first")
    config: dict[str, object] = {"arms": [rule.arm(name) for name, rule in events.items()]}
    _set_timeout(trace, config, timeout, calendar, on_timeout)
    wait = trace.record("eventWait", "wait_first", config, is_barrier=True, has_output=True)
    branches: list[object] = [{"id": GO, "when": "true"}]
    came = trace.record("condition", "came", {"branches": branches}, handle=GO, join="any")
    came.sources = [Exit(wait, name) for name in events]
    came.is_barrier = True
    came.named_after = (wait, "_came")
    event = FutureValue(trace, Formula(("ctx", wait), (came,)), "the event that came first", wait)
    value = _behind(trace, came, event, on_timeout, wait)
    tests = {
        # After a time-out, the variable may be that of the iteration before.
        name: Formula(
            ("steps", came, ".status === 'COMPLETED' && ctx", wait, f"{ARM} === '{name}'"),
            formula_of(value).waits_for,
            is_atom=False,
        )
        for name in events
    }
    return FutureEvent(trace, formula_of(value), wait, tests)


class FutureEvent(FutureValue):
    """The event that came first; the names of the events are tests of which one it was."""

    __slots__ = ("_tenuto_tests",)

    def __init__(
        self, trace: Recording, what: Formula, wait: Step, tests: Mapping[str, Formula]
    ) -> None:
        super().__init__(trace, what, "the event that came first", wait)
        object.__setattr__(self, "_tenuto_tests", tests)

    def __getattr__(self, name: str) -> FutureValue:
        tests: Mapping[str, Formula] = object.__getattribute__(self, "_tenuto_tests")
        if name in tests:
            return FutureValue(trace_of(self), tests[name], f"whether `{name}` came first")
        return super().__getattr__(name)


def _behind(
    trace: Recording,
    wait: Step,
    value: FutureValue,
    on_timeout: Handler | None,
    holder: Step | None = None,
) -> FutureValue:
    """What follows a wait, and its value: the event, or what its time-out gave."""
    holder = wait if holder is None else holder
    handled = None if on_timeout is None else _handled(trace, holder, on_timeout)
    # A wait that timed out has completed too; whether the handler completed makes the difference.
    either = [handled, value]
    join = None if handled is None else trace.joined_any(either, "wait_event")
    if join is None:
        trace.block.begin_segment(wait)
        return value
    join.is_barrier = True
    join.named_after = (holder, "_or_timeout")
    trace.block.begin_segment(join)
    return choice(trace, join, either, holder)


def _came(wait: Step, *, has_payload: bool, is_counted: bool) -> Formula:
    """The event that a wait took, or its payload, or those of several events."""
    what = formula.output_of(wait)
    if not is_counted:
        return formula.member(what, "payload") if has_payload else what
    events = formula.member(what, "events")
    return formula.followed(events, ".map(each => each.payload)") if has_payload else events


def _set_timeout(
    trace: Recording,
    config: dict[str, object],
    timeout: Length | None,
    calendar: str | None,
    on_timeout: Handler | None,
) -> None:
    if timeout is not None:
        duration = working_length(trace, "timeout", timeout, calendar)
        beside = {} if calendar is None else {"calendar": calendar}
        config["eventTimeout"] = {"duration": duration, **beside}
    elif calendar is not None:
        trace.refuse(
            "TEN-1110",
            "`calendar` is given without `timeout`, so nothing would be counted in it",
            'Say after how long: `timeout="P3D"`.',
        )
    elif on_timeout is not None:
        trace.refuse(
            "TEN-1110",
            "`on_timeout` is given without `timeout`, so it would never run",
            'Say after how long: `timeout="P3D"`.',
        )


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


def _condition(trace: Recording, where: str | Callable[[Any], object] | None) -> Expression | None:
    if where is None:
        return None
    if callable(where):
        event = FutureValue(trace, formula.plain("event"), "an event that will come")
        return trace.expression(where(event), "where")
    return trace.expression(where, "where")
