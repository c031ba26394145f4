"""`instance.explain()`: the store is asked for what the log does not say."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from tenuto import Context, Settings, Tenuto
from tenuto.engine.events import explainer
from tenuto.model.errors import NotFound
from tenuto.model.json import Object
from tenuto.store.memory import MemoryDisk, MemoryStore
from tests.engine.situations import ONE_WAIT, steps, until, until_waiting
from tests.kit.postgres_database import fresh_database
from tests.kit.turns import turns
from tests.store.postgres_place import TestedStore, let_time_pass

pytestmark = pytest.mark.asyncio

PARENT: Object = {
    "id": "parent",
    "nodes": [{"id": "below", "type": "subWorkflow", "config": {"workflowId": "waiting"}}],
    "edges": [],
}


def causes_of(found: Any) -> list[Any]:  # noqa: ANN401
    return [(each["kind"], causes_of(each)) for each in found["causes"]]


async def test_a_wait_is_explained_with_the_events_that_came_near() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        instance = await app.start("waiting", {"orderId": 7})
        await until_waiting(app, 1)
        await app.publish("payment.received", {"orderId": 8}, id="e1")
        found: Any = await instance.explain()
        assert found["instanceId"] == instance.id
        assert found["status"] == "WAITING_FOR_EVENT"
        [cause] = found["causes"]
        assert cause["kind"] == "event"
        assert cause["stepId"] == "wait"
        assert "since" in cause
        assert "until" not in cause
        [near] = cause["details"]["nearMisses"]
        assert near["eventId"] == "e1"
        assert near["failed"][0]["left"] == 8


async def test_a_child_is_explained_below_its_parent() -> None:
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        await app.deploy(PARENT)
        instance = await app.start("parent", {"orderId": 7})
        await until_waiting(app, 1)
        assert causes_of(await instance.explain()) == [("child", [("event", [])])]


async def test_no_more_than_so_many_below_one_are_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explainer, "MOST_IN_ALL", 3)
    each: Object = {"source": "{{ctx.input.items}}", "mode": "parallel", "concurrency": 5}
    nodes: list[Object] = [
        {"id": "each", "type": "loop", "config": each},
        {"id": "below", "type": "subWorkflow", "config": {"workflowId": "waiting"}},
    ]
    edge: Object = {"source": "each", "target": "below", "sourceHandle": "loop"}
    async with Tenuto() as app:
        await app.deploy(ONE_WAIT)
        await app.deploy({"id": "many", "nodes": [*nodes], "edges": [edge]})
        instance = await app.start("many", {"items": [1, 2, 3, 4, 5]})
        await until_waiting(app, 5)
        [(_, children)] = causes_of(await instance.explain())
        assert [bool(below) for _, below in children] == [True, True, True, False, False]


async def test_a_task_that_nobody_has_waits_for_a_worker() -> None:
    async with Tenuto(settings=Settings(unknown_tasks="wait")) as app:
        await app.deploy(steps("a", task="elsewhere"))
        instance = await app.start("flow")

        async def holds() -> bool:
            return bool((await app.engine.state_of(instance.id)).jobs)

        await until(app, holds)
        assert causes_of(await instance.explain()) == [("worker", [])]


async def test_a_task_that_gives_signs_of_life_is_explained_with_the_last_one() -> None:
    async with Tenuto() as app:
        has_beaten, go_on = asyncio.Event(), asyncio.Event()

        @app.task(heartbeat_timeout="PT1H")
        async def work(ctx: Context) -> None:
            ctx.heartbeat()
            has_beaten.set()
            await go_on.wait()

        await app.deploy(steps("a"))
        instance = await app.start("flow")
        await has_beaten.wait()
        found: Any = await instance.explain()
        [cause] = found["causes"]
        assert cause["kind"] == "running"
        begun, beat = (
            datetime.fromisoformat(text)
            for text in (cause["since"], cause["details"]["lastHeartbeat"])
        )
        assert timedelta(milliseconds=-10) < beat - begun < timedelta(minutes=30)
        go_on.set()
        await instance.result(20)


async def test_nobody_is_explained_who_is_not_there() -> None:
    async with Tenuto() as app:
        await app.deploy(steps("a"))
        app.task(name="work")(_work)
        instance = await app.start("flow")
        assert await instance.result(20) is None
        instance.id = "00000000-0000-7000-8000-000000000009"
        with pytest.raises(NotFound):
            await instance.explain()


async def _work() -> None:
    return None


async def test_a_process_that_was_killed_is_silent() -> None:
    disk = MemoryDisk()
    stores = [MemoryStore(disk, shared=True) for _ in range(2)]
    here, there = (Tenuto(store, settings=Settings(mail_every=3600)) for store in stores)
    await _is_silent(here, there, stores[0].abandon)


async def test_a_process_that_is_not_heard_of_is_silent() -> None:
    url = await fresh_database()
    gone: list[str] = []
    here, there = (Tenuto(TestedStore(url, gone)) for _ in range(2))
    await _is_silent(here, there, lambda: let_time_pass(url, here.engine.process_id))


async def _is_silent(here: Tenuto, there: Tenuto, kill: Any) -> None:  # noqa: ANN401
    is_running, go_on = asyncio.Event(), asyncio.Event()

    @here.task
    async def work() -> None:
        is_running.set()
        await go_on.wait()

    async with there:
        await here.engine.open()
        await here.deploy(steps("a"))
        instance = await here.start("flow")
        await is_running.wait()
        seen = await there.instance(instance.id)
        assert causes_of(await seen.explain()) == [("running", [])]
        killed = kill()
        if killed is not None:
            await killed
        found = causes_of(await seen.explain())
        assert found[:1] == [("owner", [])]
        go_on.set()
        await turns(5)
        await here.engine._end(clean=False)
