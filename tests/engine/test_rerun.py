"""A new instance of an earlier one: what it takes over is durable with its start, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenuto import Context, InstanceRef, InvalidInput, NotFound, TaskError, Tenuto, WorkflowFailed
from tenuto.engine.definitions.reruns import plan_rerun
from tenuto.engine.upkeep.verification import verify
from tenuto.model.json import JSON, Object
from tests.core.drawing import draw
from tests.engine.situations import Moody, steps

pytestmark = pytest.mark.asyncio


class Shop:
    """Tasks that fail where they are told to, and the keys that they were called with."""

    def __init__(self) -> None:
        self.broken = {"ship"}
        self.keys: list[str] = []

    def register(self, app: Tenuto) -> Tenuto:
        @app.task
        async def work(ctx: Context, input: JSON) -> str:
            self.keys.append(ctx.idempotency_key)
            if ctx.step_id in self.broken:
                raise TaskError("BROKEN", "not mended yet", retryable=False)
            return f"{ctx.step_id} for {input}"

        return app


async def failed_at(app: Tenuto, definition: Object, input: JSON = None) -> InstanceRef:
    await app.deploy(definition)
    instance = await app.start(str(definition["id"]), input)
    with pytest.raises(WorkflowFailed):
        await instance.result(timeout=300)
    return instance


async def taken_over(instance: InstanceRef) -> list[tuple[JSON, JSON]]:
    """The steps that were copied, each with the instance in which it ran."""
    payloads = [(row["nodeId"], row["payload"]) for row in await instance.history()]
    return [
        (node, payload["reusedFrom"])
        for node, payload in payloads
        if isinstance(payload, dict) and "reusedFrom" in payload
    ]


async def test_a_rerun_takes_over_what_completed_and_runs_the_rest(tmp_path: Path) -> None:
    """The old instance does not change."""
    store = f"sqlite:///{tmp_path / 'store.db'}"
    shop = Shop()
    async with shop.register(Tenuto(store)) as app:
        earlier = await failed_at(app, steps("reserve", "pay", "ship"), 7)
        history = await earlier.history()
        details = await earlier.details()
        shop.broken.clear()
        again = await earlier.rerun("pay")
        assert again.id != earlier.id
        assert await again.result(timeout=20) == "ship for 7"
        assert await taken_over(again) == [("reserve", earlier.id)]
        assert (await again.details())["rerunOf"] == earlier.id
        assert await earlier.history() == history
        assert await earlier.details() == details
    ran = [key.removeprefix(f"{again.id}:") for key in shop.keys if key.startswith(again.id)]
    assert ran == ["pay", "ship"]
    async with shop.register(Tenuto(store)) as app:
        assert (await (await app.instance(again.id)).details())["rerunOf"] == earlier.id
        async for verdict in verify(app.engine.store, app.engine.plans):
            assert not verdict.differences


async def test_without_a_step_everything_runs_again() -> None:
    shop = Shop()
    async with shop.register(Tenuto()) as app:
        earlier = await failed_at(app, steps("a", "ship"), 1)
        shop.broken.clear()
        again = await earlier.rerun(input=2)
        assert await again.result(timeout=20) == "ship for 2"
        third = await again.rerun()
        assert await third.result(timeout=20) == "ship for 2"


async def test_by_another_version(tmp_path: Path) -> None:
    shop = Shop()
    async with shop.register(Tenuto()) as app:
        earlier = await failed_at(app, steps("a", "ship"))
        assert await app.deploy(steps("a", "send")) == 2
        with pytest.raises(InvalidInput, match="no step 'ship'"):
            await earlier.rerun("ship", version=2)
        again = await earlier.rerun("send", version=2)
        assert await again.result(timeout=20) == "send for None"
        assert (await again.details())["definitionVersion"] == 2
        with pytest.raises(NotFound):
            await earlier.rerun(version=9)


LOOP: Object = {
    "id": "loop",
    "steps": [
        {
            "stepId": "each",
            "type": "LOOP",
            "source": [1, 2],
            "transitions": {"loop": "inner", "done": "ship"},
        },
        {"stepId": "inner", "type": "TASK", "taskId": "work"},
        {"stepId": "ship", "type": "TASK", "taskId": "work"},
    ],
}


async def test_a_step_that_is_not_there_or_inside_a_loop_is_refused() -> None:
    """`fromStep` inside a loop body is refused."""
    shop = Shop()
    async with shop.register(Tenuto()) as app:
        earlier = await failed_at(app, LOOP)
        with pytest.raises(InvalidInput) as inside:
            await earlier.rerun("inner")
        assert inside.value.code == "TEN-2010"
        assert "Rerun from each" in str(inside.value)
        with pytest.raises(InvalidInput) as unknown:
            await earlier.rerun("shipp")
        assert "Did you mean `ship`?" in str(unknown.value)
        shop.broken.clear()
        again = await earlier.rerun("ship")
        assert await again.result(timeout=20) == "ship for None"


async def test_a_step_on_a_way_not_taken_is_refused() -> None:
    shop = Shop()
    branches: list[JSON] = [{"id": "yes", "when": "true"}]
    fork: Object = {"type": "condition", "config": {"branches": branches}}
    document = draw("c:yes>ship c:else>b", c=fork) | {"id": "fork"}
    async with shop.register(Tenuto()) as app:
        earlier = await failed_at(app, document)
        with pytest.raises(InvalidInput, match="never reached") as refused:
            await earlier.rerun("b")
        assert refused.value.code == "TEN-2010"


@pytest.mark.parametrize("step", [5, ["a"], {}, True])
async def test_what_is_no_name_of_a_step_is_refused(step: Any) -> None:  # noqa: ANN401
    async with Shop().register(Tenuto()) as app:
        earlier = await failed_at(app, steps("a", "ship"))
        with pytest.raises(InvalidInput) as refused:
            await earlier.rerun(step)
        assert refused.value.code == "TEN-2010"


@pytest.mark.parametrize("version", ["2", True, 1.0, [1]])
async def test_what_is_no_version_is_refused(version: Any) -> None:  # noqa: ANN401
    async with Shop().register(Tenuto()) as app:
        earlier = await failed_at(app, steps("a", "ship"))
        with pytest.raises(InvalidInput, match="whole number"):
            await earlier.rerun("ship", version=version)


async def test_outcomes_that_do_not_fit_the_other_version_are_refused() -> None:
    shop = Shop()
    definition = steps("a", "b", "ship")
    async with shop.register(Tenuto()) as app:
        earlier = await failed_at(app, definition)
        changed = steps("a", "b", "ship")
        changed["steps"][0] = {  # type: ignore[index]
            "stepId": "a",
            "type": "DELAY",
            "duration": "PT1S",
            "transitions": {"default": "b"},
        }
        assert await app.deploy(changed) == 2
        with pytest.raises(InvalidInput) as refused:
            await earlier.rerun("ship", version=2)
        assert refused.value.code == "TEN-2011"
        assert "$.steps.a" in str(refused.value)


async def test_an_input_that_does_not_fit_is_refused() -> None:
    shop = Shop()
    definition = steps("ship") | {"inputSchema": {"type": "integer"}}
    async with shop.register(Tenuto()) as app:
        earlier = await failed_at(app, definition, 1)
        with pytest.raises(InvalidInput):
            await earlier.rerun(input="one")


async def test_a_long_way_is_taken_over_in_one_turn() -> None:
    shop = Shop()
    names = [f"n{number}" for number in range(3_000)]
    store = Moody()
    async with shop.register(Tenuto(store)) as app:
        earlier = await failed_at(app, steps(*names, "ship"))
        shop.broken.clear()
        before = store.commits
        again = await earlier.rerun("ship")
        assert await again.result(timeout=60) == "ship for None"
        assert store.commits - before <= 3
        assert len(await taken_over(again)) == 3_000


async def test_what_happens_while_a_rerun_is_planned_is_not_taken_over() -> None:
    """An instance that still runs goes on while its log is read: one moment of it counts."""
    shop = Shop()
    shop.broken = {"pay"}
    async with shop.register(Tenuto()) as app:
        earlier = await failed_at(app, draw("reserve>pay pay>ship other>last") | {"id": "shop"})
        engine = earlier._engine
        seen = await engine.state_of(earlier.id)
        shop.broken.clear()
        await earlier.retry()
        await earlier.result(timeout=20)
        planned = await plan_rerun(engine.store, engine.plans, seen, from_step="last")
        assert {each.node for each in planned.started.reused} == {"reserve", "other"}
