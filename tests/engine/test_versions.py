"""Definition versions: immutable, numbered, and kept by the instances that began with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto import Context, NotFound, Tenuto
from tenuto.model.json import Object
from tests.engine.situations import until_waiting

pytestmark = pytest.mark.asyncio


def waits_then(*names: str) -> Object:
    """Waits, then does these one after the other."""
    following = [{"stepId": name, "type": "TASK", "taskId": "work"} for name in names]
    for step, after in zip(following, names[1:], strict=False):
        step["transitions"] = {"default": after}  # type: ignore[assignment]
    wait = {
        "stepId": "wait",
        "type": "EVENT_WAIT",
        "eventPattern": "go",
        "transitions": {"default": names[0]},
    }
    return {"id": "flow", "steps": [wait, *following]}  # type: ignore[list-item]


def register(app: Tenuto) -> Tenuto:
    @app.task
    async def work(ctx: Context) -> str:
        return ctx.step_id

    return app


async def test_changed_content_makes_the_next_version_and_unchanged_content_none(
    tmp_path: Path,
) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    async with register(Tenuto(store)) as app:
        assert await app.deploy(waits_then("a")) == 1
        assert await app.deploy(waits_then("a")) == 1
        assert await app.deploy(waits_then("b")) == 2
    async with register(Tenuto(store)) as app:
        assert await app.deploy(waits_then("b")) == 2
        assert await app.deploy(waits_then("a")) == 3, "it is not the newest any more"


async def test_instances_keep_their_version_across_restarts(tmp_path: Path) -> None:
    """Z23: "Update replaces nodes and edges in place; … Running instances change under their
    feet".
    """
    store = f"sqlite:///{tmp_path / 'store.db'}"
    async with register(Tenuto(store)) as app:
        await app.deploy(waits_then("a"))
        first = await app.start("flow")
        await app.deploy(waits_then("b"))
        second = await app.start("flow")
        third = await app.start("flow", version=1)
        with pytest.raises(NotFound):
            await app.start("flow", version=3)
        await until_waiting(app, 3)
    async with register(Tenuto(store)) as app:
        await app.deploy(waits_then("c"))
        fourth = await app.start("flow")
        await until_waiting(app, 4)
        await app.publish("go")
        ended = {}
        for instance in (first, second, third, fourth):
            again = await app.instance(instance.id)
            output = await again.result(timeout=20)
            ended[instance.id] = (output, (await again.details())["definitionVersion"])
    assert list(ended.values()) == [("a", 1), ("b", 2), ("a", 1), ("c", 3)]


async def test_a_retry_and_a_rerun_stay_with_the_version(tmp_path: Path) -> None:
    app = Tenuto()
    is_broken = True

    @app.task
    async def work(ctx: Context) -> str:
        if is_broken:
            raise ValueError("not yet")
        return ctx.step_id

    definition = waits_then("a") | {"options": {"retry": {"maxAttempts": 1}}}
    async with app:
        await app.deploy(definition)
        instance = await app.start("flow")
        await app.publish("go")
        with pytest.raises(Exception, match="not yet"):
            await instance.result(timeout=20)
        await app.deploy(waits_then("b"))
        is_broken = False
        again = await instance.rerun("a")
        await instance.retry()
        assert [await each.result(timeout=20) for each in (again, instance)] == ["a", "a"]
