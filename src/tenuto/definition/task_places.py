"""The places where a definition names tasks."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import NamedTuple

from tenuto.model.graph import Definition, Task

_ALIKE = 0.85
"""How alike a misspelling and its name are; `task_a` and `task_b` are less."""
_MOST_COMPARED = 1_000


class TaskPlace(NamedTuple):
    """A step, or a compensation step, that runs a task."""

    task_id: str
    step_id: str
    path: str
    """JSONPath of the task's name in the document."""


def task_places(definition: Definition) -> list[TaskPlace]:
    """Every place at which a definition names a task, in the order of the document."""
    in_steps = definition.spelling == "steps"
    spelled = "$.steps[{}].taskId" if in_steps else "$.nodes[{}].config.taskId"
    places = [
        TaskPlace(node.config.task_id, node.id, spelled.format(index))
        for index, node in enumerate(definition.graph.nodes)
        if isinstance(node.config, Task)
    ]
    return places + [
        TaskPlace(step.task_id, step.step_id, f"$.compensationSteps[{index}].taskId")
        for index, step in enumerate(definition.compensation_steps)
    ]


def misspelling_of(task_id: str, known: Collection[str]) -> str | None:
    """The known task that an unknown one is nearly the name of."""
    if task_id in known or len(known) > _MOST_COMPARED:
        return None
    return next(iter(difflib.get_close_matches(task_id, sorted(known), n=1, cutoff=_ALIKE)), None)
