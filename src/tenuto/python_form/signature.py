"""The arguments of a workflow function: future values for its input and its context."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, NoReturn

from msgspec import Struct

from tenuto.model.errors import InvalidDefinition, Problem
from tenuto.python_form import formula
from tenuto.python_form.control_flow import set_outside
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, formula_of
from tenuto.python_form.item_types import UNKNOWN
from tenuto.python_form.places import Place
from tenuto.python_form.trace import Trace, literal
from tenuto.tasks import hints
from tenuto.tasks.binding import bind

_KNOWN_OF_CONTEXT = {
    "instance_id": "workflow.instance.id",
    "correlation_id": "workflow.instance.correlationId",
}


class Called(Struct, frozen=True, eq=False):
    """How a workflow function is called."""

    data: inspect.Signature
    context: str | None


def called_with(fn: Callable[..., Any], around: Mapping[str, Any]) -> Called:
    """Work out how `fn` is called; `around` has the names around its definition."""
    data = bind(fn, around).data
    others = [name for name in inspect.signature(fn).parameters if name not in data.parameters]
    return Called(data=data, context=others[0] if others else None)


def future_arguments(trace: Trace, called: Called) -> dict[str, object]:
    """The arguments of the call: one parameter is the whole input, several are parts of it."""
    arguments: dict[str, object] = {}
    whole = formula.plain("ctx.input")
    several = len(called.data.parameters) > 1
    for name, parameter in called.data.parameters.items():
        what = formula.member(whole, name) if several else whole
        about = "part of the input of the workflow" if several else "the input of the workflow"
        value = FutureValue(trace, what, about, None, _kind(parameter))
        if parameter.default is not parameter.empty and parameter.default is not None:
            default = literal(trace.traceable(parameter.default, f"the default of `{name}`"))
            either = formula.binary(formula_of(value), "??", default)
            value = FutureValue(trace, either, f"the input `{name}`", None, _kind(parameter))
        arguments[name] = value
    if called.context is not None:
        arguments[called.context] = FutureContext(trace)
    return arguments


def _kind(parameter: inspect.Parameter) -> object:
    is_known = parameter.annotation is not hints.UNRESOLVED
    return parameter.annotation if is_known else UNKNOWN


class FutureContext:
    """The context of a workflow that does not run yet."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __getattr__(self, name: str) -> FutureValue:
        if name.startswith("__"):
            raise AttributeError(name)
        path = _KNOWN_OF_CONTEXT.get(name)
        if path is None:
            self._trace.refuse(
                "TEN-1106",
                f"`ctx.{name}` exists only in a task",
                f"A workflow knows {', '.join(f'`ctx.{each}`' for each in _KNOWN_OF_CONTEXT)}.",
            )
        what: Formula = formula.plain(path or "null")
        return FutureValue(self._trace, what, f"`ctx.{name}` of the workflow")


def refuse_function(fn: object) -> None:
    """InvalidDefinition unless `fn` can describe a workflow."""
    if not inspect.isfunction(inspect.unwrap(fn)) if callable(fn) else True:
        _refuse("TEN-1101", Place("?", 0), f"{fn!r} is not a function", "Put @workflow above one.")
    function = inspect.unwrap(fn)  # type: ignore[arg-type]
    code: CodeType = function.__code__
    place = Place(code.co_filename, code.co_firstlineno)
    name = function.__name__
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        _refuse(
            "TEN-1101",
            place,
            f"`{name}` is asynchronous, but a workflow function only describes: nothing is awaited",
            "Write `def`, and call tasks without `await`.",
        )
    if inspect.isgeneratorfunction(function):
        _refuse("TEN-1101", place, f"`{name}` is a generator", "Write `return`, not `yield`.")
    kinds = {each.kind for each in inspect.signature(function).parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        _refuse(
            "TEN-1101",
            place,
            f"`{name}` takes `*` or `**`, and the input does not give their number",
            "Name its parameters.",
        )
    _refuse_writing_outside(code)


def _refuse_writing_outside(code: CodeType) -> None:
    name = set_outside(code)
    if name is not None:
        where = Place(code.co_filename, name.lineno)
        _refuse(
            "TEN-1103",
            where,
            where.quoted_behind(f"the workflow function sets `{name.id}`, which is not its own"),
            "It is called once, when it is described, and never when the workflow runs: "
            "pass values from step to step, or keep state in a task.",
        )


def _refuse(code: str, place: Place, message: str, advice: str) -> NoReturn:
    problem = Problem(code=code, path=str(place), message=message, advice=advice)
    raise InvalidDefinition("this cannot describe a workflow", [problem])
