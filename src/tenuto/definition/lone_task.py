"""The workflow of one step that runs a declared task on its own."""

from __future__ import annotations

from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition

RUNS = "task:"
"""The prefix of the ids of workflows that run one task."""


def workflow_of(task: TaskDefinition) -> Object:
    """The workflow that runs a task on its own."""
    step: Object = {"stepId": "run", "type": "TASK", "taskId": task.id}
    if task.retry is not None:
        step["retry"] = task.retry
    if task.timeout is not None:
        step["timeout"] = task.timeout
    if task.heartbeat_timeout is not None:
        step["heartbeatTimeout"] = task.heartbeat_timeout
    document: Object = {"id": f"{RUNS}{task.id}", "steps": [step]}
    if task.input_schema is not None:
        document["inputSchema"] = task.input_schema
    return document
