"""Checks of a start, before there is an instance."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tenuto.core import Plan
from tenuto.core.deciding import NOT_THIS_STATUS
from tenuto.core.rerun import NOT_FROM_THERE
from tenuto.core.slots import NO_KEY
from tenuto.definition import input_problems
from tenuto.definition.task_places import task_places
from tenuto.engine.turns.requests import Answer
from tenuto.model.errors import Conflict, InvalidInput, Problem
from tenuto.model.json import JSON, json_problem
from tenuto.model.policy import Limits
from tenuto.tasks.registry import Registry

TOO_MANY_BYTES = "TEN-2005"


def refuse_unknown_tasks(plan: Plan, tasks: Registry) -> None:
    """InvalidInput where a step uses a task that is not registered."""
    unknown = {
        name
        for task_id, name in plan.tasks.items()
        if task_id not in tasks and plan.mock_of(name) is None
    }
    if unknown:
        problems = [
            Problem(
                code="TEN-2003",
                path=place.path,
                message=f"no task is called {place.task_id!r} (UNKNOWN_TASK)",
                advice=_task_advice(tasks, place.task_id),
            )
            for place in task_places(plan.definition)
            if place.step_id in unknown
        ]
        raise InvalidInput("the workflow uses tasks that are not registered", problems)


def refuse_bad_input(plan: Plan, input: JSON, limits: Limits) -> None:
    """InvalidInput where the input is no JSON, too large, or not what the definition asks for."""
    problems = bad_input(plan, input, limits)
    if problems:
        raise unfit_input(plan, problems)


def unfit_input(plan: Plan, problems: Sequence[Problem]) -> InvalidInput:
    """The error for an input with these problems."""
    return InvalidInput(f"the input does not fit {plan.definition.id}", problems)


def bad_input(plan: Plan, input: JSON, limits: Limits) -> list[Problem]:
    """All problems of the input of a start."""
    return json_problems(input, limits.input_bytes, "$") or list(
        input_problems(plan.definition, input)
    )


def json_problems(value: JSON, most_bytes: int, path: str) -> list[Problem]:
    """Why a value cannot be stored."""
    problem = json_problem(value)
    if problem is not None:
        where, what = problem
        return [
            Problem(
                code="TEN-2004",
                path=path + where,
                message=what,
                advice="Send JSON: null, booleans, finite numbers, text, lists and objects.",
            )
        ]
    size = len(msgspec.json.encode(value))
    if size > most_bytes:
        return [
            Problem(
                code=TOO_MANY_BYTES,
                path=path,
                message=f"{size:,} bytes is more than the limit of {most_bytes:,} (TOO_LARGE)",
                advice="Keep large data elsewhere and pass a reference to it.",
            )
        ]
    return []


def key_conflict(instance_id: str) -> Conflict:
    """An idempotency key is used again with other content."""
    return Conflict(
        f"this key was used for another start: instance {instance_id}",
        code="TEN-3004",
        advice="Use a new key for a new start, or repeat the first one unchanged.",
        instance_id=instance_id,
    )


def has_found_another(answer: Answer) -> bool:
    """Whether a start was refused since there is an instance with its id."""
    return answer.rejection is not None and answer.rejection.code == NOT_THIS_STATUS


def raise_rejection(answer: Answer) -> None:
    """Raise the reason why a start was refused, if it was."""
    rejection = answer.rejection
    if rejection is None:
        return
    if rejection.code in ("TEN-2101", NO_KEY):
        problem = Problem(
            code=rejection.code,
            path=rejection.path,
            message=rejection.message,
            advice="Correct the input, or the expression that reads it.",
        )
        raise InvalidInput("the input cannot be worked with", [problem])
    if rejection.code == NOT_FROM_THERE:
        problem = Problem(
            code=rejection.code,
            path="$.fromStep",
            message=rejection.message,
            advice="Rerun from a step that was reached, or from the one that chose the way.",
        )
        raise InvalidInput("it cannot be rerun from there", [problem])
    raise Conflict(rejection.message, code=rejection.code, status=answer.status)


def _task_advice(tasks: Registry, name: str) -> str:
    near = tasks.nearest(name)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Register one: @task on a function called {name}, or @task(name={name!r})."
