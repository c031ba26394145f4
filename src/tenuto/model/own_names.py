"""Names that are Tenuto's own: what they name is made and started by it alone."""

from __future__ import annotations

CALLBACK_TASK = "tenuto.callback"
"""The task that posts the callback of a schedule."""
CALLBACKS = "callback:"
"""The prefix of the ids of workflows that send callbacks of schedules."""

BUILT_IN = "@"
"""The prefix of the ids of built-in tasks: `@javascript`, `@http`, `@dataQuery`."""


def is_built_in(task_id: str) -> bool:
    """Whether a task is done by Tenuto itself; no program can register one of that name."""
    return task_id.startswith(BUILT_IN)


def is_callback(definition_id: str) -> bool:
    """Whether a definition sends callbacks of schedules."""
    return definition_id.startswith(CALLBACKS)
