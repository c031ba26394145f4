"""A worker runs what it pulls as an engine would, and holds on to it for as long as that takes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

from tenuto.model.errors import TaskError
from tenuto.model.executions import MOST_OUTPUT_BYTES
from tenuto.tasks.context import Context
from tenuto.tasks.output import Result
from tenuto.worker import Worker
from tests.executions.stage import FLOW, Stage, cancel
from tests.kit.workload.drawing import document, node
from tests.worker.bodies import spend
from tests.worker.work import Work, flow, registry_of, status


def test_instances_are_carried_to_their_end() -> None:
    async def body(ctx: Context) -> object:
        return {"step": ctx.step_id, "key": ctx.idempotency_key, "who": ctx.correlation_id}

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body, bill=body), concurrency=50)
        ids = await asyncio.gather(*[stage.started(work.engine) for _ in range(30)])
        assert {await status(work.engine, id) for id in ids} == {"COMPLETED"}
        held = await work.engine.state_of(ids[0])
        assert len(held.state.nodes) == 2
        assert sum(work.broker.batches) == 60
        assert len(work.broker.batches) < 40
        await work.end()
        assert work.worker.in_hand == 0

    Stage().play(story)


def test_while_there_is_plenty_one_claim_is_made_while_another_is_answered() -> None:
    room = 20
    under_way: list[int] = []
    seen: set[int] = set()

    async def body(_: Context) -> object:
        await spend(1)
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), concurrency=room, batch=5)
        claim = work.broker.claim

        async def counted(*args: Any, most: int, **more: Any) -> object:  # noqa: ANN401
            assert work.worker.in_hand + sum(under_way) + most <= room
            under_way.append(most)
            seen.add(len(under_way))
            try:
                return await claim(*args, most=most, **more)
            finally:
                under_way.remove(most)

        work.broker.claim = counted  # type: ignore[method-assign, assignment]
        ids = await asyncio.gather(*[stage.started(work.engine, flow()) for _ in range(100)])
        assert {await status(work.engine, id) for id in ids} == {"COMPLETED"}
        assert seen == {1, 2}
        await stage.clock.sleep(65)
        assert len(under_way) == 1
        await work.end()

    Stage().play(story)


def test_a_claim_whose_answer_got_lost_is_made_again_and_nothing_is_lost() -> None:
    attempts: list[int] = []

    async def body(ctx: Context) -> object:
        attempts.append(ctx.attempt)
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body))
        for _ in range(2):
            work.broker.loses_claims = True
            id = await stage.started(work.engine, flow())
            assert await status(work.engine, id) == "COMPLETED"
        assert attempts == [1, 1]
        await work.end()

    Stage().play(story)


def test_a_function_is_handed_what_earlier_steps_gave_up_to_a_bound() -> None:
    seen: list[object] = []

    async def ship(_: Context) -> object:
        return "x" * sizes[len(ends)]

    async def bill(ctx: Context) -> object:
        seen.append(ctx.previous_outputs)
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=ship, bill=bill))
        state = (await work.engine.final_state(await stage.started(work.engine))).state
        assert state.last_error is None or state.last_error.code == "TOO_LARGE"
        ends.append(state.status.value)
        await work.end()

    ends: list[str] = []
    sizes = (10, MOST_OUTPUT_BYTES)
    for _ in sizes:
        Stage().play(story)
    assert seen == [{"a": "x" * 10}]
    assert ends == ["COMPLETED", "FAILED"]


def test_no_more_run_at_once_than_it_is_told_and_some_are_at_hand() -> None:
    running: set[str] = set()
    most = 0

    async def body(ctx: Context) -> object:
        nonlocal most
        running.add(ctx.instance_id)
        most = max(most, len(running))
        await spend(1)
        running.discard(ctx.instance_id)
        return None

    async def story(stage: Stage) -> None:
        registry = registry_of(ship=body)
        work = await Work(stage).begin(registry, concurrency=2, prefetch=3)
        ids = await asyncio.gather(*[stage.started(work.engine, flow()) for _ in range(9)])
        await stage.clock.sleep(0.5)
        assert work.worker.in_hand == 5
        assert {await status(work.engine, id) for id in ids} == {"COMPLETED"}
        await work.end()

    Stage().play(story)
    assert most == 2


def test_what_runs_longer_than_its_lease_keeps_it() -> None:
    async def body(ctx: Context) -> object:
        await spend(200)
        return ctx.attempt

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), lease=timedelta(seconds=15))
        id = await stage.started(work.engine, flow())
        assert await status(work.engine, id) == "COMPLETED"
        assert (await stage.lines_of(work.engine, id, "a")).count("NODE_DISPATCHED") == 1
        await work.end()

    Stage().play(story)


def test_a_task_is_told_that_it_is_called_off() -> None:
    seen: list[str] = []

    async def body(ctx: Context) -> object:
        try:
            await spend(300)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), lease=timedelta(seconds=9))
        id = await stage.started(work.engine)
        await stage.clock.sleep(1)
        before = stage.clock.ticks()
        await cancel(work.engine, id)
        assert await status(work.engine, id) == "CANCELLED"
        assert stage.clock.ticks() - before < 5
        assert seen == ["cancelled"]
        await work.end()

    Stage().play(story)


def test_failures_and_handles_come_as_they_are_in_process() -> None:
    async def ship(ctx: Context) -> object:
        if ctx.attempt == 1:
            raise TaskError("BUSY", "not now", details={"n": 1})
        return Result({"ok": True}, handle="left")

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=ship))
        id = await stage.started(work.engine, flow(handles=["left"]))
        assert await status(work.engine, id) == "COMPLETED"
        payloads = [row.payload or b"" for row in await work.engine.store.instances.entries(id)]
        assert any(b"BUSY" in each and b'"n":1' in each for each in payloads)
        assert any(b'"left"' in each for each in payloads)
        await work.end()

    Stage().play(story)


def test_results_wait_for_a_server_that_is_away() -> None:
    async def body(ctx: Context) -> object:
        await spend(1)
        return ctx.attempt

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body))
        id = await stage.started(work.engine, flow())
        await stage.clock.sleep(0.5)
        work.broker.is_away = True
        await stage.clock.sleep(10)
        work.broker.is_away = False
        assert await status(work.engine, id) == "COMPLETED"
        assert (await stage.lines_of(work.engine, id, "a")).count("NODE_DISPATCHED") == 1
        work.broker.loses_answers = True
        id = await stage.started(work.engine, flow())
        assert await status(work.engine, id) == "COMPLETED"
        await work.end()
        assert work.worker.in_hand == 0

    Stage().play(story)


def test_a_result_whose_lease_is_over_is_not_reported_for_ever() -> None:
    async def body(ctx: Context) -> object:
        await spend(1)
        return ctx.attempt

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body))
        id = await stage.started(work.engine, flow())
        await stage.clock.sleep(0.5)
        assert work.worker.in_hand == 1
        work.broker.is_away = True
        await stage.clock.sleep(60)
        assert work.worker.in_hand == 0
        work.broker.is_away = False
        assert await status(work.engine, id) == "COMPLETED"
        await work.end()

    Stage().play(story)


def test_a_worker_that_is_stopped_ends_what_it_has_and_takes_on_nothing() -> None:
    async def body(ctx: Context) -> object:
        await spend(5 if ctx.step_id == "a" else 100)
        return None

    async def story(stage: Stage) -> None:
        registry = registry_of(ship=body, bill=body)
        work = await Work(stage).begin(registry)
        id = await stage.started(work.engine)
        await stage.clock.sleep(1)
        before = stage.clock.ticks()
        await work.end()
        assert 3 < stage.clock.ticks() - before < 6
        assert "NODE_COMPLETED" in await stage.lines_of(work.engine, id, "a")
        assert await work.broker.broker.claim("default", "w2", ["bill"])

    Stage().play(story)


def test_a_silent_task_fails_though_its_worker_lives() -> None:
    async def body(_: Context) -> object:
        await spend(300)
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body))
        settings = {"heartbeatTimeout": 6000, "retry": {"maxAttempts": 1}}
        id = await stage.started(work.engine, flow(**settings))
        before = stage.clock.ticks()
        held = await work.engine.final_state(id)
        assert held.state.last_error is not None
        assert held.state.last_error.code == "HEARTBEAT_TIMEOUT"
        assert stage.clock.ticks() - before < 10
        await work.end()

    Stage().play(story)


def test_a_worker_knows_what_it_undoes() -> None:
    undone: list[object] = []

    async def ship(ctx: Context) -> object:
        return {"ref": ctx.step_id}

    async def unship(ctx: Context) -> object:
        assert ctx.undo is not None
        undone.append((ctx.undo.step_id, ctx.undo.original_output, ctx.idempotency_key))
        return None

    async def story(stage: Stage) -> None:
        drawn = document(
            "u",
            [node("a", "task", taskId="ship"), node("end", "terminate", status="FAILED")],
            [{"id": "e", "source": "a", "target": "end"}],
        )
        steps = [{"stepId": "x", "compensationFor": "a", "taskId": "unship"}]
        work = await Work(stage).begin(registry_of(ship=ship, unship=unship))
        id = await stage.started(work.engine, {**drawn, "compensationSteps": steps})  # type: ignore[dict-item]
        assert await status(work.engine, id) == "FAILED"
        assert undone == [("a", {"ref": "a"}, f"{id}:x")]
        await work.end()

    Stage().play(story)


def test_two_workers_share_the_work_and_nothing_is_done_twice() -> None:
    done: list[tuple[str, str, int]] = []

    async def body(ctx: Context) -> object:
        done.append((ctx.instance_id, ctx.step_id, ctx.attempt))
        await spend(Random(ctx.instance_id).random())
        return None

    async def story(stage: Stage) -> None:
        registry = registry_of(ship=body, bill=body)
        work = await Work(stage).begin(registry, concurrency=3)
        other = Worker(work.broker, registry, worker_id="w2", clock=stage.clock, concurrency=3)
        running = asyncio.create_task(other.run())
        ids = [await stage.started(work.engine, FLOW) for _ in range(12)]
        assert {await status(work.engine, id) for id in ids} == {"COMPLETED"}
        assert len(done) == len(set(done)) == 24
        other.stop()
        await running
        await work.end()

    Stage().play(story)
