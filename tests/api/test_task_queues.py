"""The queues of tasks over HTTP."""

from __future__ import annotations

import pytest

from tests.api.conftest import Serve

pytestmark = pytest.mark.asyncio

LONELY = {
    "id": "lonely",
    "steps": [{"stepId": "work", "type": "TASK", "taskId": "nowhere"}],
}


async def test_what_waits_for_a_task_that_nothing_takes_is_counted(serve: Serve) -> None:
    async with serve() as call:
        saved = await call.post("/workflows", LONELY)
        assert saved.status == 201, saved.text
        for _ in range(2):
            await call.start("lonely", {})
        found = {each["taskId"]: each for each in (await call.get("/task-queues")).json["items"]}
        lonely = found["nowhere"]
        assert lonely.pop("oldestWaiting") is not None
        assert lonely == {
            "taskId": "nowhere",
            "waiting": 2,
            "running": 0,
            "workers": 0,
            "isRunHere": False,
            "isDeclared": False,
            "isPushed": False,
        }
        assert found["refuse"]["isRunHere"]
        declared = {"id": "pushed", "kind": "push", "url": "https://tasks.example.com/"}
        await call.post("/tasks", declared)
        found = {each["taskId"]: each for each in (await call.get("/task-queues")).json["items"]}
        assert (found["pushed"]["isPushed"], found["pushed"]["breaker"]) == (True, "closed")
