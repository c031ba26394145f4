"""Compensations of steps: declared by the task, or set for the step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from tenuto.definition.expressions import holds_template
from tenuto.expr import is_rooted_path
from tenuto.model.json import JSON
from tenuto.python_form.future import FutureValue
from tenuto.python_form.item_types import misfit
from tenuto.python_form.json_values import Expression, write
from tenuto.python_form.step import Step
from tenuto.python_form.trace import Given, Trace, literal
from tenuto.tasks import hints
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.step_call import Order, Reversal, StepCall

if TYPE_CHECKING:
    from tenuto.python_form.recorder import Recording

MISFIT = "TEN-1123"
"""A compensation does not fit its step."""


class Undone(Struct, frozen=True, eq=False):
    """A step, and its compensation."""

    step: Step
    task: TaskFunction[..., Any]
    given: Given | None = None
    """None: it gets the output of the step, and `ctx.undo`."""
    condition: Expression | None = None


def undoing(trace: Recording, step: Step, order: Order) -> Undone | None:
    """The compensation of a step that calls a task; None if it has none."""
    said = order.undo or Reversal()
    if said.by is None:
        return None
    output = trace.value_of(step, f"the result of task `{order.task.name}`")
    if said.by is ...:
        found = _declared(trace, order.task, is_said=said.when is not None)
    else:
        found = _said(trace, order.task, said.by, output)
    if found is None:
        return None
    task, given = found
    condition = None
    if said.when is not None:
        test = said.when
        if callable(test) and not isinstance(test, FutureValue):
            test = test(output)
        found_test = trace.seen_from(step.block, trace.expression(test, "undo(when=…)"))
        condition = cast("Expression", found_test)
        _refuse_unseen(trace, condition.formula.waits_for, step)
    if given is not None:
        value = trace.traceable(given.value, f"an argument of `{task.name}`")
        given = Given(trace.seen_from(step.block, value))
        if isinstance(given.value, list) and holds_template(given.value):
            trace.refuse(
                "TEN-1109",
                f"templates in a list are not read in what `{task.name}` gets to undo a step",
                "Put the values themselves into the list.",
            )
        _refuse_unseen(trace, trace.waits_for(given.value), step)
    return Undone(step, task, given, condition)


def write_given(given: Given) -> JSON:
    """The `input` of a compensation: an object, or an expression."""
    match given.value:
        case dict() as parts:
            return {name: _part(each) for name, each in parts.items()}
        case str() as text if "{{" in text:
            return text
        case value:
            return literal(value).text()


def _part(value: object) -> JSON:
    """A part of an object, in which a text that is a path would be evaluated."""
    match value:
        case str() as text if is_rooted_path(text):
            return f"{{{{{json.dumps(text)}}}}}"
        case dict():
            return {name: _part(each) for name, each in value.items()}
        case list():
            return [_part(each) for each in value]
        case _:
            return write(value)


Found = tuple[TaskFunction[..., Any], Given | None] | None


def _declared(trace: Recording, task: TaskFunction[..., Any], *, is_said: bool) -> Found:
    undo = task.undone_by
    if undo is None:
        if is_said:
            trace.refuse(
                MISFIT,
                f"nothing undoes task `{task.name}` ({task.location})",
                f"Declare what does, `@{task.name}.undo`, or name it: `.undo(by=…)`.",
            )
        return None
    _refuse_misfit(trace, task, trace.known(undo))
    _warn_of_misfit(trace, task, undo)
    return undo, None


def _said(trace: Recording, task: TaskFunction[..., Any], by: object, output: FutureValue) -> Found:
    if isinstance(by, StepCall):
        name = by._order().task.name  # noqa: SLF001 - the recorder is who an order is for
        trace.refuse(
            MISFIT,
            f"nothing can be said about `{name}` here: it is no step, it undoes one",
            f"Write `.undo(by={name})`.",
        )
        return None
    if not isinstance(by, TaskFunction):
        if callable(by):
            return _called(trace, by, output)
        trace.refuse(
            MISFIT, f"{by!r} undoes nothing", "Name a task, or write `.undo(by=None)` for none."
        )
        return None
    trace.known(by)
    if by.undoes is not None:
        _refuse_misfit(trace, task, by)
        _warn_of_misfit(trace, task, by)
        return by, None
    parameters = by.binding.data.parameters
    if len(parameters) > 1:
        trace.refuse(
            "TEN-1110",
            f"task `{by.name}` has several parameters, and there is only what the step gave",
            f"Write a function that calls it: `.undo(by=lambda given: {by.name}(…))`.",
        )
    return by, Given(output) if parameters else None


def _called(trace: Recording, by: Callable[..., object], output: FutureValue) -> Found:
    """The call in a function of the step's output."""
    calls: list[tuple[Order, Given | None]] = []
    with trace.only_calls(calls.append):
        by(output)
    if len(calls) != 1:
        trace.refuse(
            MISFIT,
            f"a compensation is one task, and this calls {len(calls) or 'none'}",
            "Call one task in it, which does everything.",
        )
        return None
    [(order, given)] = calls
    if (
        order.after
        or order.after_any
        or order.name
        or order.on_error
        or order.undo
        or order.settings
    ):
        trace.refuse(
            MISFIT,
            f"nothing can be said about `{order.task.name}` here: it is no step, it undoes one",
            f"Call it as it is: `{order.task.name}(…)`.",
        )
    return order.task, given


def _refuse_unseen(trace: Trace, used: Iterable[Step], step: Step) -> None:
    """Refuse values from inside a loop that the step is not in."""
    for each in used:
        inside = [block for block in each.block.around if block.is_loop]
        if any(block not in step.block.around for block in inside):
            trace.refuse(
                "TEN-1116",
                f"`{each.base}` is inside a loop and does not exist outside",
                "Use the results of the loop, which are a list.",
            )


def _refuse_misfit(
    trace: Trace, task: TaskFunction[..., Any], undo: TaskFunction[..., Any]
) -> None:
    """Refuse a function that needs more than the output of the task, judged by annotations."""
    parameters = undo.binding.data.parameters.values()
    needed = [
        each.name
        for each in parameters
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    ]
    gives = task.binding.data.return_annotation
    if len(parameters) == 1 and not hints.is_nothing(gives):
        return
    names = hints.names_in(gives)
    missing = [] if names is None else [name for name in needed if name not in names]
    if missing:
        what = ", ".join(f"`{name}`" for name in missing)
        trace.refuse(
            MISFIT,
            f"what undoes it ({undo.location}) asks for {what}, which `{task.name}` does not give",
            f"It gives {', '.join(f'`{name}`' for name in names)}."
            if names
            else "Take what it gives in one parameter, or nothing.",
        )


def _warn_of_misfit(
    trace: Trace, task: TaskFunction[..., Any], undo: TaskFunction[..., Any]
) -> None:
    """Warn of a parameter that never takes what the task returns, judged by annotations."""
    parameters = [*undo.binding.data.parameters.values()]
    gives = task.binding.data.return_annotation
    if len(parameters) != 1 or hints.is_nothing(gives):
        return
    [taking] = parameters
    wrong = misfit(gives, taking.annotation)
    if wrong is not None:
        trace.warn(
            MISFIT,
            f"what `{task.name}` returns does not fit `{taking.name}` of what undoes it "
            f"({undo.location}): {wrong}",
            "A function that undoes a task gets the output of the task: correct one of the types.",
        )
