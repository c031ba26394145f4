"""The places where a definition names tasks."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.model.graph import Definition, Task


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
