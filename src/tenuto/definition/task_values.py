"""Checks of what a task is given and returns, by its schemas."""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from tenuto.definition.schemas import check_task_input, check_task_output
from tenuto.model.errors import Problem
from tenuto.model.failure import INVALID_INPUT, INVALID_OUTPUT, Failure
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Verdict

_SCHEMA_STEPS = 10
"""So many steps of a schema take as long as one of an expression."""
_OF_UNDO = (
    "it gets the output of the task, unless the compensation has an `input`: correct the type of "
    "its parameter, or what the task returns"
)


class InputCheck(Struct, frozen=True):
    """Whether values fit the `inputSchema` of a task."""

    schema: JSON
    undoes: str | None = None
    """The task whose output is checked, where this one undoes it."""

    def __call__(self, value: JSON) -> Verdict:
        problems, steps = check_task_input(self.schema, value)
        if not problems:
            return Verdict(None, steps // _SCHEMA_STEPS)
        what, remedy = "the input does not fit the task", _remedy(problems[0])
        if self.undoes is not None:
            what = f"what the function that undoes {self.undoes} is given does not fit it"
            remedy = _OF_UNDO
        elif (name := _lone_name(value)) is not None and problems[0].path == "$":
            # Whether the value would fit without the object around it.
            inner, more = check_task_input(self.schema, cast("Object", value)[name])
            steps += more
            remedy = remedy if inner else _whole(name)
        failure = Failure(
            code=INVALID_INPUT,
            message=f"{what}: {_first(problems)}; {remedy}",
            details=_details(problems),
            retryable=False,
        )
        return Verdict(failure, steps // _SCHEMA_STEPS)


class OutputCheck(Struct, frozen=True):
    """Whether values fit the `outputSchema` of a task."""

    schema: JSON

    def __call__(self, value: JSON) -> Verdict:
        problems, steps = check_task_output(self.schema, value)
        if not problems:
            return Verdict(None, steps // _SCHEMA_STEPS)
        failure = Failure(
            code=INVALID_OUTPUT,
            message=f"the output does not fit the task's outputSchema: {_first(problems)}",
            details=_details(problems),
            retryable=False,
            # It returned: its work is done.
            was_done=True,
        )
        return Verdict(failure, steps // _SCHEMA_STEPS)


def check_of_code(schema: Object | None, *, undoes: str | None = None) -> InputCheck | None:
    """The check by what the code of a task says of its input; None if it says no types.

    Names alone are checked where the function is called. `undoes`: the task that it undoes.
    """
    if schema is None:
        return None
    parts = schema.get("properties")
    is_typed = not isinstance(parts, dict) or any(parts.values())
    return InputCheck(schema, undoes) if is_typed else None


def _lone_name(value: JSON) -> str | None:
    return next(iter(value)) if isinstance(value, dict) and len(value) == 1 else None


def _whole(name: str) -> str:
    return (
        "a task with one parameter gets the whole input: write the value of "
        f'"{name}" as the `input` of the step, without an object around it'
    )


def _first(problems: tuple[Problem, ...]) -> str:
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"{problems[0].message} at {problems[0].path}{more}"


def _remedy(problem: Problem) -> str:
    return f"{problem.advice[:1].lower()}{problem.advice[1:]}".rstrip(".")


def _details(problems: tuple[Problem, ...]) -> JSON:
    return {
        "problems": [
            {
                "code": each.code,
                "path": each.path,
                "message": each.message,
                "advice": each.advice,
            }
            for each in problems
        ]
    }
