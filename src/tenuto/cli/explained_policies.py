"""How often tasks are tried, as far as an explanation says: only an engine knows their policies."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.core import Plan
from tenuto.model.graph import Task
from tenuto.model.json import JSON, Object
from tenuto.model.policy import NO_POLICIES, Policies, RetryPolicy, TaskPolicy


def policies_of(plan: Plan, explained: Object) -> Policies:
    """The policies of the tasks that are tried again; none where that is not known."""
    tasks: dict[str, TaskPolicy] = {}
    for step, most in _tried(explained["causes"]):
        planned = plan.nodes.get(step)
        if planned is not None and isinstance(config := planned.node.config, Task):
            tasks[config.task_id] = TaskPolicy(retry=RetryPolicy(max_attempts=most))
    return Policies(tasks=tasks) if tasks else NO_POLICIES


def _tried(causes: JSON) -> Iterator[tuple[str, int]]:
    for cause in causes if isinstance(causes, list) else ():
        if not isinstance(cause, dict) or cause["kind"] == "child":
            continue
        details = cause["details"]
        most = details.get("maxAttempts") if isinstance(details, dict) else None
        if isinstance(most, int):
            yield str(cause["stepId"]), most
        yield from _tried(cause["causes"])
