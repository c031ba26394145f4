"""Declarations of tasks that are large, or many."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.attack import TOO_LARGE, Ask, Attack


def _large() -> Iterator[Ask]:
    for number in range(350):
        id = f"large{number}"
        body: Object = {
            "id": id,
            "kind": "pull",
            "inputSchema": {"description": "d" * 950_000},
        }
        yield Ask("PUT", f"/tasks/{id}", body)


def _registered() -> Iterator[Ask]:
    """What six workers can do: a thousand tasks each, whose schemas are all the same."""
    schema: Object = {"properties": {f"p{number}": {"type": "string"} for number in range(8)}}
    for worker in range(6):
        tasks: list[JSON] = [
            {"id": f"t{worker}-{number}", "timeout": f"PT{number + 1}S", "inputSchema": schema}
            for number in range(1_000)
        ]
        yield Ask("POST", "/executions/register", {"workerId": f"w{worker}", "tasks": tasks})


TASKS: tuple[Attack, ...] = (
    Attack("tasks-with-large-schemas", _large, TOO_LARGE),
    Attack("many-tasks-of-workers", _registered, TOO_LARGE, at_once=2),
)
