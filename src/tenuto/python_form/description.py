"""Calls a workflow function, and returns its description."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tenuto.definition import check
from tenuto.definition.report import did_you_mean
from tenuto.model.errors import InvalidDefinition, Problem, TenutoError
from tenuto.model.json import Object
from tenuto.python_form.control_flow import last_return, looks
from tenuto.python_form.document import write_graph
from tenuto.python_form.future import FutureValue
from tenuto.python_form.places import Place, is_inside
from tenuto.python_form.recorder import Recording
from tenuto.python_form.rewrites import as_text
from tenuto.python_form.signature import Called, future_arguments
from tenuto.python_form.trace import EnoughFaults, Trace
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.recorder import RECORDER

if TYPE_CHECKING:
    from tenuto.python_form.workflow import WorkflowFunction


_SETTING = re.compile(r"\$\.nodes\[(\d+)\]\.config\.(.+)")
_UNEXPECTED = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")


class Described(Struct, frozen=True, eq=False):
    """The description of a workflow function."""

    graph: Object
    places: tuple[Place, ...]
    """The place of each node of the graph, in the same order."""
    undone: tuple[Place, ...]
    """The places of the steps with a compensation, in the order of the compensation."""
    tasks: tuple[tuple[TaskFunction[..., Any], TaskFunction[..., Any] | None], ...]
    """The tasks that it calls, each with its compensation at that time."""
    children: tuple[WorkflowFunction[..., Any], ...]
    warnings: tuple[Problem, ...]

    @property
    def is_outdated(self) -> bool:
        """Whether a compensation of one of its tasks was declared since."""
        return any(task.undone_by is not undo for task, undo in self.tasks)


class NotYet(Exception):
    """The function uses a name that is not defined yet."""


def describe(
    name: str, fn: Callable[..., Any], called: Called, place: Place, *, may_wait: bool
) -> Described:
    """Call `fn` with future values; InvalidDefinition lists all problems.

    NotYet, if it `may_wait`, when it uses a name that is not defined yet.
    """
    trace = Recording(name, inspect.unwrap(fn).__code__, place)
    token = RECORDER.set(trace)
    try:
        returned = fn(**future_arguments(trace, called))
        trace.returned_at = last_return(trace.code)
        trace.refuse_unused()
        _refuse_looks(trace)
        _end(trace, returned)
    except EnoughFaults:
        pass
    except TenutoError:
        _raise_problems(trace)
        raise
    except Exception as error:
        is_name = _is_not_defined_yet(error, trace.code)
        # What comes after a problem is often its consequence; a name that is nowhere is none.
        if trace.problems and is_name and not may_wait:
            trace.problems += _failed(trace, error).problems
        _raise_problems(trace)
        if may_wait and is_name:
            raise NotYet from error
        raise _failed(trace, error) from error
    finally:
        RECORDER.reset(token)
    _raise_problems(trace)
    written = write_graph(trace)
    trace.raise_problems()
    trace.frame = None
    return Described(
        graph=written.graph,
        places=tuple(step.place for step in trace.steps),
        undone=tuple(each.step.place for each in trace.undone),
        tasks=tuple((task, task.undone_by) for task in trace.tasks.values()),
        children=tuple(dict.fromkeys(trace.children)),
        warnings=written.warnings,
    )


def _raise_problems(trace: Trace) -> None:
    """InvalidDefinition if there are problems, with those of the steps that are described."""
    if trace.problems:
        of_steps = _of_steps(trace)
        trace.problems = sorted([*trace.problems, *of_steps], key=lambda each: _line(each.path))
    trace.raise_problems()


def _of_steps(trace: Trace) -> list[Problem]:
    """Problems in the settings of steps, on other lines than those that have problems already."""
    places = [step.place for step in trace.steps]
    told = [*trace.problems]
    blamed = {each.path for each in told}
    try:
        graph = write_graph(trace).graph
    except Exception:  # noqa: BLE001 - a function that stopped half-way may describe no graph
        return []
    finally:
        # What is wrong with the edges may follow from what was told.
        trace.problems = told
    found: list[Problem] = []
    for each in check({"id": "described", **graph}).problems:
        inside = _SETTING.match(each.path)
        place = None if inside is None else places[int(inside[1])]
        if inside is None or place is None or each.severity != "error" or str(place) in blamed:
            continue
        message = place.quoted_behind(f"`{inside[2]}`: {each.message}")
        found.append(replace(each, path=str(place), message=message))
    return found


def _line(path: str) -> tuple[str, int]:
    file, _, line = path.rpartition(":")
    return file, int(line) if line.isdecimal() else 0


def _refuse_looks(trace: Trace) -> None:
    """Refuse `is None` and `isinstance`, which test the future value itself."""
    held = trace.variables()
    for look in looks(trace.code):
        if isinstance(held.get(look.name), FutureValue):
            text = as_text(look.node, held)
            instead = "Decide in a task." if text is None else f'Write `with when("{text}"):`.'
            trace.refuse(
                "TEN-1104",
                f"`{look.word}` tests the placeholder of `{look.name}`, and not the value, which "
                "exists only when the workflow runs",
                instead,
                Place(trace.place.file, look.node.lineno),
            )


def _end(trace: Trace, returned: object) -> None:
    """Make what the function returned the output of the workflow."""
    if returned is None:
        return
    what = "what the workflow returns"
    if isinstance(returned, FutureValue | dict | str):
        output: object = trace.traceable(returned, what)
    else:
        # An end node takes an object or a template; anything else is a template by itself.
        output = FutureValue(trace, trace.spelled(returned, what), what)
    trace.record("end", "end", {"outputParameters": output}, block=trace.top)


def _is_not_defined_yet(error: Exception, code: CodeType) -> bool:
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError):
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return is_inside(frame.f_code, code)


def _failed(trace: Trace, error: Exception) -> InvalidDefinition:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == trace.code.co_filename
    ]
    place = (
        Place(trace.place.file, frames[-1].lineno or trace.place.line) if frames else trace.place
    )
    problem = Problem(
        code="TEN-1102",
        path=str(place),
        message=place.quoted_behind(
            f"the function failed while it described the workflow: {type(error).__name__}: {error}"
        ),
        advice=_advice(error),
    )
    return InvalidDefinition(f"workflow `{trace.name}` cannot be described", [problem])


def _advice(error: Exception) -> str:
    name = getattr(error, "name", None)
    if isinstance(error, NameError) and name is not None:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        return did_you_mean(name, {*frame.f_globals, *frame.f_locals}, "Define or import it.")
    if isinstance(error, AttributeError) and name is not None:
        return did_you_mean(name, dir(error.obj), "Correct the line.")
    if unexpected := _UNEXPECTED.search(str(error)):
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        called = _called(unexpected[1], frame.f_globals)
        names = () if called is None else inspect.signature(called).parameters
        return did_you_mean(unexpected[2], names, "Correct the line.")
    if "FutureValue" in str(error):
        return (
            "Values of steps exist only when the workflow runs: what needs them now belongs into "
            "a task."
        )
    return "Correct the line: the function is called when the workflow is described."


def _called(name: str, names: Mapping[str, object]) -> Callable[..., object] | None:
    """The function that an error of Python names."""
    found = names.get(name)
    return found if inspect.isfunction(found) else None
