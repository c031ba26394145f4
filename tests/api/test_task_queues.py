"""The queues of tasks over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tenuto.store.parts.workers import WorkerRow
from tenuto.workspace import task_queues
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
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(task_queues, "_MOST_TASKS", 1)
            first = (await call.get("/task-queues")).json
            assert [each["taskId"] for each in first["items"]] == ["nowhere"]
            assert first["isComplete"] is False
        declared = {"id": "pushed", "kind": "push", "url": "https://tasks.example.com/"}
        await call.post("/tasks", declared)
        found = {each["taskId"]: each for each in (await call.get("/task-queues")).json["items"]}
        assert (found["pushed"]["isPushed"], found["pushed"]["breaker"]) == (True, "closed")


async def test_workers_are_counted_for_what_they_take() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def worker(task_ids: tuple[str, ...] | None, left_out: int = 0) -> WorkerRow:
        return WorkerRow(
            tenant="default",
            worker_id="w",
            task_ids=task_ids,
            left_out=left_out,
            first_seen=now,
            last_seen=now,
            is_connected=True,
        )

    workers = [worker(("a", "a")), worker(("a", "b")), worker(("b",), left_out=1), worker(None)]
    takers = task_queues.Takers(workers)
    for id in "abc":
        assert takers.of(id) == sum(each.may_take(id) for each in workers)
