"""Leaves instances in every state behind, as a process does that is killed.

`python -m tests.golden.stores.story URL` on the version whose stores are to be kept, and then
`python -m tests.golden.stores.rows URL > tests/golden/stores/sqlite.json` (or `postgres.json`).
It uses public names alone, so that any version can run it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress

from tenuto import Tenuto, WorkflowFailed
from tenuto.model.json import Object

DEFINITIONS: list[Object] = [
    {"id": "done", "steps": [{"stepId": "a", "type": "TASK", "taskId": "echo"}]},
    {
        "id": "failed",
        "steps": [{"stepId": "a", "type": "TASK", "taskId": "fail", "retry": {"maxAttempts": 1}}],
    },
    {"id": "running", "steps": [{"stepId": "a", "type": "TASK", "taskId": "hang"}]},
    {
        "id": "waiting",
        "steps": [
            {
                "stepId": "w",
                "type": "EVENT_WAIT",
                "eventPattern": "go",
                "eventCondition": "event.payload.id === ctx.input.id",
            }
        ],
    },
    {"id": "sleeping", "steps": [{"stepId": "d", "type": "DELAY", "duration": "P9000D"}]},
    {
        "id": "deciding",
        "steps": [{"stepId": "ask", "type": "APPROVAL", "assignees": {"users": ["ada"]}}],
    },
    {
        "id": "parent",
        "steps": [
            {
                "stepId": "c",
                "type": "SUB_WORKFLOW",
                "workflowId": "waiting",
                "input": {"id": "child"},
            }
        ],
    },
    {
        "id": "undone",
        "steps": [
            {"stepId": "a", "type": "TASK", "taskId": "echo", "transitions": {"default": "b"}},
            {"stepId": "b", "type": "TASK", "taskId": "fail", "retry": {"maxAttempts": 1}},
        ],
        "compensationSteps": [{"stepId": "ua", "compensationFor": "a", "taskId": "echo"}],
    },
    {
        "id": "looping",
        "steps": [
            {
                "stepId": "each",
                "type": "LOOP",
                "source": "{{ctx.input.items}}",
                "mode": "parallel",
                "transitions": {"loop": "w"},
            },
            {
                "stepId": "w",
                "type": "EVENT_WAIT",
                "eventPattern": "item",
                "eventCondition": "event.payload.n === item",
            },
        ],
    },
]


def program(url: str, *, hangs: bool = False) -> Tenuto:
    """A program with the tasks of these workflows, of which one may never return."""
    app = Tenuto(url)

    @app.task
    async def echo(value: object) -> object:
        return value

    @app.task
    async def fail(value: object) -> object:
        raise ValueError(f"not {value}")

    @app.task
    async def hang(value: object) -> object:
        return await asyncio.Event().wait() if hangs else value

    return app


async def main(url: str) -> None:
    app = program(url, hangs=True)
    await app.open()
    for definition in DEFINITIONS:
        await app.deploy(definition)
    ids = {}
    for definition in DEFINITIONS:
        name = str(definition["id"])
        given = {"id": name, "items": [1, 2, 3]}
        ids[name] = (await app.start(name, given, key=f"key of {name}")).id
    paused = await app.start("waiting", {"id": "paused"}, key="key of paused")
    await paused.pause("later")
    cancelled = await app.start("waiting", {"id": "cancelled"}, key="key of cancelled")
    await cancelled.cancel("not wanted")
    await app.publish("item", {"n": 2})
    for name in ("done", "failed", "undone"):
        with suppress(WorkflowFailed):
            await (await app.instance(ids[name])).result(timeout=30)
    await asyncio.sleep(1.0)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
