"""Connected workers are listed, and explain says whether one takes a task; on every back end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenuto import InvalidInput
from tenuto.executions.broker import TaskBroker
from tenuto.model.json import Object
from tenuto.store.parts.workers import Sighting
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

FAR: Object = {"id": "far", "steps": [{"stepId": "a", "type": "TASK", "taskId": "far_away"}]}


async def saw(place: Place, worker_id: str, *task_ids: str, age: int = 0) -> None:
    sighting = Sighting(tenant="default", worker_id=worker_id, age=age, task_ids=task_ids or None)
    engine = place.app.engine
    await engine.store.workers.saw([sighting], engine.clock.now())


async def test_workers_are_listed_with_their_tasks_and_what_they_hold(place: Place) -> None:
    workers, engine = place.workspace.workers, place.app.engine
    assert await workers.list() == []
    await place.app.deploy(FAR)
    await place.app.start("far")
    [_] = await TaskBroker(engine).claim("default", "w1", ["far_away"], wait=timedelta(seconds=30))
    await saw(place, "w1", "far_away")
    await saw(place, "w2", age=120_000)
    first, second = await workers.list()
    assert (first.worker_id, first.task_ids, first.running) == ("w1", ["far_away"], 1)
    assert (first.is_connected, first.since <= first.last_seen) == (True, True)
    assert (second.task_ids, second.running, second.is_connected) == (None, 0, False)
    page = await workers.page(limit=1)
    assert [each.worker_id for each in page.items] == ["w1"]
    rest = await workers.page(limit=1, cursor=page.next_cursor)
    assert [each.worker_id for each in rest.items] == ["w2"]
    with pytest.raises(InvalidInput):
        await workers.page(cursor="nonsense")


async def test_explain_says_how_many_connected_workers_take_a_task(place: Place) -> None:
    await place.app.deploy(FAR)
    started = await place.app.start("far")
    instance = place.workspace.at(started.id)

    async def cause() -> tuple[object, object]:
        explained: Any = await instance.explain()
        [found] = explained["causes"]
        return found["details"]["workers"], found["message"]

    said = "no process or worker has taken its task far_away"
    await saw(place, "w1", "another")
    await saw(place, "w2", "far_away", age=120_000)
    assert await cause() == (0, said)
    await saw(place, "w3", "far_away")
    assert await cause() == (1, f"{said}; 1 connected worker takes such tasks")
    await saw(place, "w4")
    assert await cause() == (2, f"{said}; 2 connected workers take such tasks")
