"""Stopping in good order: no new work, tasks get their grace, what is left starts again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenuto import Settings, StoreUnavailable, Tenuto
from tests.engine.situations import steps

pytestmark = pytest.mark.asyncio


def endless(url: str) -> tuple[Tenuto, asyncio.Event]:
    """An app whose task never ends by itself, and the news that it has begun."""
    app = Tenuto(url, settings=Settings(stop_grace=0.0))
    begun = asyncio.Event()

    @app.task
    async def work(input: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    return app, begun


async def test_a_clean_stop_waits_for_running_tasks(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    may_end = asyncio.Event()
    app = Tenuto(url)

    @app.task
    async def work(input: object) -> object:
        await may_end.wait()
        return input

    await app.open()
    await app.deploy(steps("a"))
    instance = await app.start("flow", "done")
    closing = asyncio.ensure_future(app.close())
    await asyncio.sleep(0)
    may_end.set()
    await closing
    async with Tenuto(url) as again:
        assert await (await again.instance(instance.id)).result(10) == "done"


async def test_a_task_stopped_with_the_engine_starts_again_and_counts_no_loss(
    tmp_path: Path,
) -> None:
    """Clean stops do not count."""
    url = f"sqlite:///{tmp_path}/a.db"
    instance_id = ""
    for _ in range(7):
        app, begun = endless(url)
        await app.open()
        await app.deploy(steps("a"))
        if not instance_id:
            instance_id = (await app.start("flow", 1)).id
        await begun.wait()
        await app.close()
    app = Tenuto(url)

    @app.task(name="work")
    async def ends(input: object) -> str:
        return "ended"

    async with app:
        assert await (await app.instance(instance_id)).result(10) == "ended"
        history = await (await app.instance(instance_id)).history()
    codes = [
        item["payload"]["error"]["code"]  # type: ignore[index,call-overload]
        for item in history
        if item["eventType"] == "NODE_FAILED"
    ]
    assert codes == ["STOPPED"] * 7


async def test_a_closed_app_refuses_and_says_so() -> None:
    app = Tenuto()

    @app.task
    async def work(input: object) -> object:
        return input

    async with app:
        await app.deploy(steps("a"))
    with pytest.raises(StoreUnavailable):
        await app.start("flow", 1)
    with pytest.raises(StoreUnavailable):
        await app.publish("some.event")
    await app.close()


async def test_who_waits_for_a_result_is_told_when_the_engine_stops() -> None:
    app = Tenuto(settings=Settings(stop_grace=0.0))

    @app.task
    async def work(input: object) -> object:
        await asyncio.Event().wait()
        return input

    await app.open()
    await app.deploy(steps("a"))
    instance = await app.start("flow", 1)
    waiting = asyncio.ensure_future(instance.result())
    await asyncio.sleep(0)
    await app.close()
    with pytest.raises(StoreUnavailable):
        await waiting
