"""A failed instance is retried: in the same process, in another one, and again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto import Conflict, Context, InstanceRef, TaskError, Tenuto, WorkflowFailed
from tenuto.engine.upkeep.verification import verify
from tenuto.model.durations import epoch_ms
from tenuto.model.json import Object
from tenuto.store.parts.turns import Turn, TurnResult
from tests.engine.situations import at_rest, steps

pytestmark = pytest.mark.asyncio

WAIT: Object = {"stepId": "w", "type": "EVENT_WAIT", "eventPattern": "paid"}
FORK: Object = {
    "id": "fork",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "note", "transitions": {"default": ["b", "w"]}},
        {"stepId": "b", "type": "TASK", "taskId": "flaky", "outputVariable": "b"},
        WAIT,
    ],
}


class Shop:
    """Tasks that fail until they are mended, and what they were called with."""

    def __init__(self) -> None:
        self.is_broken = True
        self.calls: list[tuple[str, int, str]] = []

    def register(self, app: Tenuto) -> Tenuto:
        @app.task
        async def note(ctx: Context) -> None:
            self.calls.append((ctx.step_id, ctx.attempt, ctx.idempotency_key))

        @app.task
        async def flaky(ctx: Context) -> str:
            self.calls.append((ctx.step_id, ctx.attempt, ctx.idempotency_key))
            if self.is_broken:
                raise TaskError("BROKEN", "not mended yet", retryable=False)
            return "mended"

        return app


async def failed(instance: InstanceRef) -> str:
    with pytest.raises(WorkflowFailed) as error:
        await instance.result(timeout=20)
    return error.value.error.code


async def test_a_retried_instance_completes() -> None:
    shop = Shop()
    async with shop.register(Tenuto()) as app:
        await app.deploy(steps("a", "b", task="flaky"))
        instance = await app.start("flow")
        assert await failed(instance) == "BROKEN"
        assert await instance.retry() == "RUNNING"
        assert await failed(instance) == "BROKEN"
        shop.is_broken = False
        assert await instance.retry() == "RUNNING"
        assert await instance.result(timeout=20) == "mended"
        keys = {key for step, _, key in shop.calls if step == "a"}
        assert keys == {f"{instance.id}:a"}
        assert [attempt for step, attempt, _ in shop.calls if step == "a"] == [1, 2, 3]
        details = await instance.details()
        assert details["lastError"] is None
        with pytest.raises(Conflict) as refused:
            await instance.retry()
        assert refused.value.code == "TEN-3002"


@pytest.mark.parametrize("url", ["memory", "sqlite"])
async def test_a_retry_that_fails_at_once_has_a_new_end_in_lists(url: str, tmp_path: Path) -> None:
    where = None if url == "memory" else f"sqlite:///{tmp_path}/orders.db"
    async with Shop().register(Tenuto(where)) as app:
        broken: Object = {"stepId": "a", "type": "TASK", "taskId": "note"}
        broken["input"] = {"share": "{{ ctx.input.total / 0 }}"}
        await app.deploy({"id": "flow", "steps": [broken]})
        instance = await app.start("flow", {"total": 1})
        assert await failed(instance) == "EXPRESSION_ERROR"
        # The status is the same before and after the turn, and the end is another one.
        assert await instance.retry() == "FAILED"
        state = (await app.engine.loader.look_at(instance.id)).state
        [row] = await app.instances()
        assert row.completed_at is not None
        assert state.completed_at is not None
        assert epoch_ms(row.completed_at) == epoch_ms(state.completed_at)


@pytest.mark.parametrize("url", ["memory", "sqlite"])
async def test_a_retry_takes_the_dead_letter_with_it(url: str, tmp_path: Path) -> None:
    shop = Shop()
    where = None if url == "memory" else f"sqlite:///{tmp_path}/orders.db"
    async with shop.register(Tenuto(where) if where else Tenuto()) as app:
        await app.deploy(steps("a", task="flaky"))
        instance = await app.start("flow")
        await failed(instance)
        store = app.engine.store
        assert len(await store.dead_letters.page("default")) == 1
        shop.is_broken = False
        await instance.retry()
        assert await store.dead_letters.page("default") == []
        assert await instance.result(timeout=20) == "mended"


async def test_an_instance_that_failed_in_another_process_is_retried(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    shop = Shop()
    async with shop.register(Tenuto(store)) as app:
        await app.deploy(FORK)
        instance = await app.start("fork", {})
        assert await failed(instance) == "BROKEN"
        assert (await app.publish("paid", 1)).resumed == 0
    shop.is_broken = False
    async with shop.register(Tenuto(store)) as app:
        (row,) = await app.instances(status="FAILED")
        assert row.last_error is not None
        again = await app.instance(instance.id)
        await again.retry()
        # The event came while nobody waited; the wait looks back again.
        assert await again.result(timeout=20) is not None
        (row,) = await app.instances(status="COMPLETED")
        assert row.last_error is None
        async for verdict in verify(app.engine.store, app.engine.plans):
            assert not verdict.differences
    assert [step for step, _, _ in shop.calls] == ["a", "b", "b"]


async def test_a_turn_says_who_may_be_erased_meanwhile() -> None:
    shop = Shop()
    async with shop.register(Tenuto()) as app:
        await app.deploy(steps("a", task="flaky"))
        instance = await app.start("flow")
        await failed(instance)
        commit, said = app.engine.store.turns.commit, list[bool]()

        async def noting(turn: Turn, lane: int = 0) -> TurnResult:
            said.extend(write.may_be_gone for write in turn.writes)
            return await commit(turn, lane)

        app.engine.store.turns.commit = noting  # type: ignore[method-assign]
        await instance.retry()
        await failed(instance)
        assert said[0]
        assert not any(said[1:])


async def test_a_turn_says_that_an_instance_which_it_does_not_own_may_be_erased_meanwhile() -> None:
    """Another process may end it, and erase it, while the write is under way."""
    shop = Shop()
    async with shop.register(Tenuto()) as app:
        await app.deploy({"id": "flow", "steps": [WAIT]})
        instance = await app.start("flow")
        await at_rest(app)
        commit, said = app.engine.store.turns.commit, dict[int, bool]()

        async def noting(turn: Turn, lane: int = 0) -> TurnResult:
            said.update({write.version: write.may_be_gone for write in turn.writes if write.rows})
            return await commit(turn, lane)

        app.engine.store.turns.commit = noting  # type: ignore[method-assign]
        await app.publish("paid")
        await instance.result(timeout=20)
        assert said[min(said)]
