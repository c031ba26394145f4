"""A worker that stops gives back what it has not ended, in the time that it is given."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tenuto.model.executions import ReleasedTask
from tenuto.model.policy import LOSSES_UNTIL_POISON
from tenuto.tasks.context import Context
from tenuto.worker import Worker, run_until_signalled
from tests.executions.stage import Stage
from tests.worker.bodies import spend
from tests.worker.work import Work, flow, registry_of, status


async def long(ctx: Context) -> object:
    await spend(300)
    return ctx.attempt


def test_restarts_of_workers_cost_a_long_task_attempts_and_nothing_else() -> None:
    """What is not done is started again, which counts neither as a failure nor as a loss."""
    rounds = LOSSES_UNTIL_POISON + 2

    async def story(stage: Stage) -> None:
        registry = registry_of(ship=long)
        work = await Work(stage).begin(registry, grace=1.0)
        id = await stage.started(work.engine, flow(retry={"maxAttempts": 1}))
        for _ in range(rounds):
            await stage.clock.sleep(20)
            before = stage.clock.ticks()
            await work.end()
            assert stage.clock.ticks() - before < 5
            work.worker = Worker(work.broker, registry, worker_id="w2", clock=stage.clock)
            work.running = asyncio.create_task(work.worker.run(1.0))
        assert await status(work.engine, id) == "COMPLETED"
        assert await stage.lines_of(work.engine, id, "a")
        payloads = [row.payload or b"" for row in await work.engine.store.instances.entries(id)]
        assert sum(b"STOPPED" in each for each in payloads) == rounds
        await work.end()

    Stage().play(story)


def test_what_was_not_begun_is_put_back_as_it_was() -> None:
    async def story(stage: Stage) -> None:
        registry = registry_of(ship=long)
        work = await Work(stage).begin(registry, grace=1.0, concurrency=1, prefetch=1)
        for _ in range(2):
            await stage.started(work.engine, flow())
        await stage.clock.sleep(1)
        assert work.worker.in_hand == 2
        await work.end()
        assert work.worker.in_hand == 0
        claimed = await work.broker.broker.claim("default", "w2", ["ship"], most=5)
        assert sorted(each.attempt for each in claimed) == [1, 2]

    Stage().play(story)


def test_giving_back_under_a_lease_that_is_over_changes_nothing() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, flow())
        [task] = await broker.claim("default", "w1", ["ship"])
        mine = ReleasedTask(execution_id=task.execution_id, lease_token=task.lease_token)
        other = ReleasedTask(execution_id=task.execution_id, lease_token="1.0")
        first, second = await broker.release("default", [mine, other])
        assert first.error is None
        assert second.error is not None
        [again] = await broker.claim("default", "w2", ["ship"])
        assert again.attempt == 2
        [late] = await broker.release("default", [mine])
        assert late.error is not None
        assert late.error.code == "TEN-3012"
        assert (await stage.lines_of(engine, id, "a")).count("NODE_DISPATCHED") == 2

    Stage().play(story)


def test_a_server_that_is_away_keeps_no_worker_from_going() -> None:
    async def quick(_: Context) -> object:
        await spend(1)
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=quick), grace=1.0)
        await stage.started(work.engine, flow())
        await stage.clock.sleep(0.5)
        work.broker.is_away = True
        await stage.clock.sleep(10)
        before = stage.clock.ticks()
        await work.end()
        assert stage.clock.ticks() - before < 6

    Stage().play(story)


def test_a_result_that_is_on_its_way_when_the_grace_ends_still_arrives() -> None:
    async def quick(_: Context) -> object:
        await spend(0.9)
        return None

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=quick), grace=1.0)
        told = work.broker.report

        async def slow(reports: object) -> object:
            await stage.clock.sleep(2)
            return await told(reports)  # type: ignore[arg-type]

        work.broker.report = slow  # type: ignore[method-assign, assignment]
        id = await stage.started(work.engine, flow())
        await stage.clock.sleep(0.1)
        await work.end()
        assert await status(work.engine, id) == "COMPLETED"
        assert (await stage.lines_of(work.engine, id, "a")).count("NODE_DISPATCHED") == 1

    Stage().play(story)


def test_a_worker_in_a_hurry_waits_for_nothing() -> None:
    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=long), grace=1_000.0)
        await stage.started(work.engine, flow())
        await stage.clock.sleep(1)
        work.worker.stop()
        await stage.clock.sleep(1)
        before = stage.clock.ticks()
        work.worker.hurry()
        assert work.running is not None
        await work.running
        assert stage.clock.ticks() - before < 3
        [again] = await work.broker.broker.claim("default", "w2", ["ship"])
        assert again.attempt == 2

    Stage().play(story)


class _Told:
    """Stands where a worker would."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.is_stopping = False
        self.is_over = asyncio.Event()

    def stop(self) -> None:
        self.is_stopping = True
        self.said.append("stop")
        os.kill(os.getpid(), signal.SIGINT)

    def hurry(self) -> None:
        self.said.append("hurry")
        self.is_over.set()

    async def run(self, _: float) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await self.is_over.wait()


@pytest.mark.asyncio
async def test_a_second_signal_hurries_it() -> None:
    worker = _Told()
    async with asyncio.timeout(30):
        await run_until_signalled(worker)  # type: ignore[arg-type]
    assert worker.said == ["stop", "hurry"]
