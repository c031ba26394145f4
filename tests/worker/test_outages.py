"""What one task, one request or one refusal does to a worker stays with that one."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest

from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.executions.broker import TaskBroker
from tenuto.model.errors import Forbidden, NotFound, TenutoError
from tenuto.model.executions import ClaimedTask, ReportAnswer
from tenuto.model.inputs import Started
from tenuto.model.policy import Limits
from tenuto.ports import SystemClock, SystemIds
from tenuto.store.memory import MemoryStore
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.worker import Worker
from tenuto.worker.reporter import MOST_BYTES
from tests.executions.stage import Stage
from tests.kit.workload.drawing import document, node
from tests.worker.bodies import spend
from tests.worker.local_broker import LocalBroker
from tests.worker.work import Work, flow, registry_of, status

BOTH = document("both", [node("a", "task", taskId="ship"), node("b", "task", taskId="bill")], [])
"""Two steps side by side."""


async def once(_: Context) -> object:
    await spend(100)
    return "done"


async def dispatched(work: Work, id: str, step: str) -> int:
    return (await work.stage.lines_of(work.engine, id, step)).count("NODE_DISPATCHED")


@pytest.mark.parametrize("details", [{"at": object()}, "\x00", "x" * 100_000])
def test_a_heartbeat_that_says_what_cannot_be_sent_is_a_heartbeat(details: object) -> None:
    async def odd(ctx: Context) -> object:
        ctx.heartbeat(details)
        return await once(ctx)

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=odd, bill=once))
        id = await stage.started(work.engine, BOTH)
        assert await status(work.engine, id) == "COMPLETED"
        assert [await dispatched(work, id, step) for step in "ab"] == [1, 1]
        await work.end()

    Stage().play(story)


def test_a_heartbeat_that_hangs_stops_no_other() -> None:
    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=once, bill=once))
        work.broker.hangs_for = {"a"}
        id = await stage.started(work.engine, BOTH)
        await stage.clock.sleep(99)
        assert await dispatched(work, id, "a") > 1, "its lease was over, and it came back"
        assert await dispatched(work, id, "b") == 1
        work.broker.hangs_for = set()
        assert await status(work.engine, id) == "COMPLETED"
        await work.end()

    Stage().play(story)


def test_a_heartbeat_that_hangs_once_is_followed_by_another_before_the_lease_is_over() -> None:
    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=once))
        work.broker.hangs_for = {"a"}
        id = await stage.started(work.engine, flow())
        await stage.clock.sleep(15)
        work.broker.hangs_for = set()
        assert await status(work.engine, id) == "COMPLETED"
        assert await dispatched(work, id, "a") == 1
        await work.end()

    Stage().play(story)


def test_results_that_are_too_much_together_are_told_one_after_the_other() -> None:
    async def body(_: Context) -> object:
        await spend(1)
        return "x" * 900_000

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), concurrency=50)
        ids = await asyncio.gather(*[stage.started(work.engine, flow()) for _ in range(40)])
        assert {await status(work.engine, id) for id in ids} == {"COMPLETED"}
        assert {await dispatched(work, id, "a") for id in ids} == {1}
        assert max(work.broker.batches) <= MOST_BYTES // 900_000
        await work.end()

    Stage().play(story)


def test_a_server_that_takes_less_at_once_is_told_less_at_once() -> None:
    async def body(_: Context) -> object:
        await spend(1)
        return "x" * 10_000

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), concurrency=50)
        work.broker.most_bytes = 35_000
        ids = await asyncio.gather(*[stage.started(work.engine, flow()) for _ in range(20)])
        assert {await status(work.engine, id) for id in ids} == {"COMPLETED"}
        assert {await dispatched(work, id, "a") for id in ids} == {1}
        work.broker.most_bytes = 5_000
        held = await work.engine.final_state(await stage.started(work.engine, flow()))
        assert held.state.last_error is not None
        assert held.state.last_error.code == "TOO_LARGE"
        await work.end()
        assert work.worker.in_hand == 0

    Stage().play(story)


@pytest.mark.parametrize("refusal", [Forbidden("the key was changed"), NotFound("a proxy's page")])
def test_a_refusal_that_passes_costs_nothing(refusal: TenutoError) -> None:
    async def body(ctx: Context) -> object:
        await spend(5)
        return ctx.attempt

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body))
        id = await stage.started(work.engine, flow())
        await stage.clock.sleep(4)
        work.broker.refuses = refusal
        other = await stage.started(work.engine, flow())
        await stage.clock.sleep(4)
        work.broker.refuses = None
        for each in (id, other):
            assert await status(work.engine, each) == "COMPLETED"
            assert await dispatched(work, each, "a") == 1
        await work.end()

    Stage().play(story)


def test_a_worker_that_is_refused_for_long_lets_its_tasks_end_and_goes() -> None:
    async def body(_: Context) -> object:
        await spend(65)
        return None

    async def refused(*_: object, **__: object) -> list[ClaimedTask]:
        raise Forbidden("the key is not good for claims any more")

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=body), wait=timedelta(seconds=1))
        id = await stage.started(work.engine, flow())
        await stage.clock.sleep(1)
        work.broker.claim = refused  # type: ignore[method-assign]
        assert work.running is not None
        began = stage.clock.ticks()
        with pytest.raises(Forbidden):
            await work.running
        assert 60 < stage.clock.ticks() - began < 75
        assert await status(work.engine, id) == "COMPLETED"

    Stage().play(story)


def test_a_worker_that_cannot_report_any_more_says_so_and_goes() -> None:
    async def broken(_: object) -> list[ReportAnswer]:
        raise AssertionError("a bug")

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=once))
        id = await stage.started(work.engine, flow())
        await stage.clock.sleep(1)

        work.broker.report = broken  # type: ignore[method-assign, assignment]
        assert work.running is not None
        with pytest.raises(AssertionError, match="a bug"):
            await work.running
        assert await dispatched(work, id, "a") == 2, "what was done is done again elsewhere"

    Stage().play(story)


def test_how_large_a_result_may_be_is_for_the_server_to_say() -> None:
    async def body(_: Context) -> object:
        return "x" * 1_500_000

    async def story(stage: Stage) -> None:
        limits = Limits(output_bytes=sizes[len(ends)])
        work = await Work(stage).begin(registry_of(ship=body), limits=limits)
        ends.append(await status(work.engine, await stage.started(work.engine, flow())))
        await work.end()

    ends: list[str] = []
    sizes = (2_000_000, 1_000_000)
    for _ in sizes:
        Stage().play(story)
    assert ends == ["COMPLETED", "FAILED"]


@pytest.mark.asyncio
async def test_as_many_plain_functions_run_at_once_as_it_is_told() -> None:
    together = threading.Barrier(40)

    def ship() -> None:
        together.wait(30)

    registry = Registry()
    registry.add(TaskFunction(ship, name="ship"))
    engine = Engine(
        MemoryStore(),
        registry=Registry(),
        clock=SystemClock(),
        ids=SystemIds(),
        settings=Settings(unknown_tasks="wait"),
    )
    await engine.open()
    broker = LocalBroker(TaskBroker(engine))
    worker = Worker(broker, registry, worker_id="w1", clock=SystemClock(), concurrency=40)
    running = asyncio.create_task(worker.run())
    deployed = await engine.plans.save("default", flow())
    begun = Started(definition_id="one", definition_version=1, input={})
    ids = [(await engine.start(deployed.plan, begun)).instance_id for _ in range(40)]
    assert {await status(engine, id) for id in ids} == {"COMPLETED"}
    worker.stop()
    await running
    await engine.close()


def test_a_server_that_is_away_is_told_once_however_long_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "tenuto.worker")

    async def story(stage: Stage) -> None:
        work = await Work(stage).begin(registry_of(ship=once))
        await stage.clock.sleep(90)
        work.broker.is_away = True
        await stage.clock.sleep(600)
        work.broker.is_away = False
        id = await stage.started(work.engine, flow())
        assert await status(work.engine, id) == "COMPLETED"
        await work.end()

    Stage().play(story)
    said = [each.getMessage() for each in caplog.records]
    failed = [each for each in said if each.startswith("claim failed")]
    again = [each for each in said if each.startswith("claims again")]
    assert 1 <= len(failed) <= 2, "once for each claim that is under way"
    assert len(again) == len(failed)
