"""Steps whose task other processes have: left to them under a lease, and reported by them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from tenuto.engine.effects.job_runner import LEASE, MOST_AT_ONCE
from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.model.errors import StoreUnavailable
from tenuto.model.inputs import CancelAsked, Started
from tenuto.model.json import Object
from tenuto.store.errors import CommitUnknown
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.jobs import JobClaims, JobKey
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.workload.drawing import document, edge, node

FLOW = document(
    "w",
    [node("a", "task", taskId="near"), node("b", "task", taskId="far")],
    [edge("a", "b")],
)


class Stage:
    """Engines on one disk in virtual time, and who ran what."""

    def __init__(self) -> None:
        self.loop = VirtualLoop(Random(1))
        self.clock = VirtualClock(self.loop, Wall())
        self.disk = MemoryDisk()
        self.ids = SeededIds(Random(1))
        self.ran: list[tuple[str, str, int]] = []
        self.holding: dict[str, asyncio.Event] = {}
        self.failing = False

    def engine(self, name: str, *tasks: str, unknown_tasks: str = "wait") -> Engine:
        registry = Registry()
        for task in tasks:
            registry.add(self._task(name, task))
        settings = Settings(unknown_tasks=unknown_tasks)  # type: ignore[arg-type]
        store = MemoryStore(self.disk, shared=True)
        return Engine(store, registry=registry, clock=self.clock, ids=self.ids, settings=settings)

    def _task(self, name: str, task: str) -> TaskFunction[..., Any]:
        async def run(ctx: Context) -> Object:
            self.ran.append((name, task, ctx.attempt))
            if self.failing:
                raise ValueError("as planned")
            if name in self.holding:
                await self.holding[name].wait()
            return {"by": name}

        return TaskFunction(run, name=task)

    async def started(self, engine: Engine) -> str:
        deployed = await engine.plans.save("default", FLOW)
        started = Started(definition_id="w", definition_version=1, input={})
        return (await engine.start(deployed.plan, started)).instance_id

    def play(self, story: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
        try:
            self.loop.run_until_complete(story(self))
        finally:
            self.loop.discard_tasks()


def test_a_step_is_run_by_the_process_that_has_its_task() -> None:
    async def story(stage: Stage) -> None:
        one, two = stage.engine("one", "near"), stage.engine("two", "far")
        await one.open()
        await two.open()
        id = await stage.started(one)
        held = await one.final_state(id)
        assert held.state.status == "COMPLETED", held.state.last_error
        assert stage.ran == [("one", "near", 1), ("two", "far", 1)]
        assert stage.disk.jobs == {}
        await stage.clock.sleep(10)
        assert stage.disk.owners == {}
        await one.close()
        await two.close()

    Stage().play(story)


def test_what_undoes_a_step_is_run_by_the_process_that_has_it_and_told_the_same() -> None:
    undone: list[object] = []

    async def undo(ctx: Context, given: object) -> None:
        assert ctx.undo is not None
        undone.append((ctx.undo.step_id, given, ctx.undo.original_output, ctx.undo.workflow_input))

    async def story(stage: Stage) -> None:
        one, two = stage.engine("one", "near"), stage.engine("two")
        two.registry.add(TaskFunction(undo, name="near.undo", undoes="near"))
        for engine in (one, two):
            await engine.open()
        step: Object = {"stepId": "x", "compensationFor": "a", "taskId": "near.undo"}
        told: Object = {**step, "input": "ctx.input.why"}
        ends = node("b", "terminate", status="FAILED")
        for name, undoing in (("default", step), ("told", told)):
            flow = document(name, [node("a", "task", taskId="near"), ends], [edge("a", "b")])
            deployed = await one.plans.save("default", {**flow, "compensationSteps": [undoing]})
            begun = Started(definition_id=name, definition_version=1, input={"why": 7})
            id = (await one.start(deployed.plan, begun)).instance_id
            assert (await one.final_state(id)).state.status == "FAILED"

    Stage().play(story)
    output, input = {"by": "one"}, {"why": 7}
    assert undone == [("a", output, output, input), ("a", 7, output, input)]


def test_a_step_waits_as_long_as_nobody_has_its_task() -> None:
    async def story(stage: Stage) -> None:
        one = stage.engine("one", "near")
        await one.open()
        id = await stage.started(one)
        await stage.clock.sleep(3600)
        assert len(stage.disk.jobs) == 1
        two = stage.engine("two", "far")
        await two.open()
        await one.final_state(id)
        assert stage.ran == [("one", "near", 1), ("two", "far", 1)]

    Stage().play(story)


def test_waiting_for_a_process_that_has_the_task_is_no_loss() -> None:
    """What nobody began cannot be lost, however often its owner dies."""

    async def story(stage: Stage) -> None:
        one = stage.engine("one", "near")
        await one.open()
        id = await stage.started(one)
        await stage.clock.sleep(1)
        for number in range(8):
            stage.disk.declare_dead(one.process_id)
            one.store.abandon()
            one = stage.engine(f"next {number}", "near")
            await one.open()
            await stage.clock.sleep(10)
        two = stage.engine("two", "far")
        await two.open()
        await one.final_state(id)
        rows = await two.store.instances.entries(id)
        assert not [row for row in rows if row.event_type == "NODE_LOST"]
        assert stage.ran == [("one", "near", 1), ("two", "far", 1)]

    Stage().play(story)


def test_a_job_of_a_process_that_fell_silent_is_lost_and_given_to_another() -> None:
    async def story(stage: Stage) -> None:
        stage.holding["two"] = asyncio.Event()
        one, two = stage.engine("one", "near"), stage.engine("two", "far")
        await one.open()
        await two.open()
        id = await stage.started(one)
        await stage.clock.sleep(5)
        assert ("two", "far", 1) in stage.ran
        # From now on it extends no lease, and takes nothing on.
        for loop in two.shared.loops._tasks:
            if loop.get_name() == "tenuto jobs":
                loop.cancel()
        three = stage.engine("three", "far")
        await three.open()
        await one.final_state(id)
        assert ("three", "far", 2) in stage.ran
        before = await three.store.instances.entries(id)
        stage.holding["two"].set()  # its late result is refused
        await stage.clock.sleep(5)
        assert await three.store.instances.entries(id) == before

    Stage().play(story)


def test_a_long_job_keeps_its_lease() -> None:
    async def story(stage: Stage) -> None:
        stage.holding["two"] = asyncio.Event()
        one, two = stage.engine("one", "near"), stage.engine("two", "far")
        three = stage.engine("three", "far")
        for engine in (one, two, three):
            await engine.open()
        id = await stage.started(one)
        await stage.clock.sleep(2 + 5 * LEASE / timedelta(seconds=1))
        stage.holding["two"].set()
        await one.final_state(id)
        assert len([call for call in stage.ran if call[1] == "far"]) == 1

    Stage().play(story)


def test_a_job_that_a_clean_stop_ends_is_no_loss_and_goes_to_another_at_once() -> None:
    """SEMANTICS: "Clean stops do not count.\"."""

    async def story(stage: Stage) -> None:
        one = stage.engine("one", "near")
        await one.open()
        id = await stage.started(one)
        for number in range(8):
            name = f"two {number}"
            stage.holding[name] = asyncio.Event()
            two = stage.engine(name, "far")
            await two.open()
            await stage.clock.sleep(5)
            assert (name, "far", number + 1) in stage.ran
            await two.close()
        three = stage.engine("three", "far")
        await three.open()
        before = stage.clock.now()
        held = await one.final_state(id)
        assert held.state.status == "COMPLETED", held.state.last_error
        assert stage.clock.now() - before < LEASE / 3
        assert stage.ran[-1] == ("three", "far", 9)

    Stage().play(story)


def test_who_has_no_room_for_jobs_tells_of_those_that_were_dropped() -> None:
    async def story(stage: Stage) -> None:
        stage.holding["two"] = stage.holding["three"] = asyncio.Event()
        one, two, three = (
            stage.engine(*each) for each in (("one", "near"), ("two", "far"), ("three", "far"))
        )
        await one.open()
        await two.open()
        ids = [await stage.started(one) for _ in range(3)]
        await stage.clock.sleep(5)
        # It has as many as it may, and one that nobody can act upon.
        await three.open()
        three.effects.jobs.leases = {JobKey("x", "", "", n): 0 for n in range(MOST_AT_ONCE)}
        told: list[str] = []
        three.effects.jobs._report = lambda request: told.append(request.instance_id)
        stage.disk.declare_dead(two.process_id)
        two.store.abandon()
        assert await three.effects.jobs.run_once() == 0
        assert sorted(told) == sorted(ids)

    Stage().play(story)


@pytest.mark.parametrize(
    ("error", "rounds"), [(CommitUnknown("cut"), 1), (StoreUnavailable("away"), 2)]
)
def test_jobs_of_a_claim_whose_answer_got_lost_are_run_and_no_loss(
    error: Exception, rounds: int
) -> None:
    """Of what the process was never told it would not begin anything, and its lease would lapse."""

    async def story(stage: Stage) -> None:
        one, two = stage.engine("one", "near"), stage.engine("two", "far")
        await one.open()
        await two.open()
        lost = lose_one_answer(two, error)
        ids = [await stage.started(one) for _ in range(3)]
        await stage.clock.sleep(rounds * two.settings.jobs_every + 0.5)
        assert len(lost) == 1
        assert sorted(stage.ran) == [("one", "near", 1)] * 3 + [("two", "far", 1)] * 3
        for id in ids:
            await one.final_state(id)
            kinds = [row.event_type for row in await one.store.instances.entries(id)]
            assert "NODE_FAILED" not in kinds
        assert stage.disk.jobs == {}

    Stage().play(story)


def test_what_is_reported_and_not_written_yet_is_not_taken_up_again() -> None:
    async def story(stage: Stage) -> None:
        one, two = stage.engine("one", "near"), stage.engine("two", "far")
        await one.open()
        await two.open()
        commit, is_away = two.store.turns.commit, True

        async def away(turn: Any, lane: int = 0) -> Any:  # noqa: ANN401
            if is_away:
                raise StoreUnavailable("away")
            return await commit(turn, lane)

        two.store.turns.commit = away  # type: ignore[method-assign]
        ids = [await stage.started(one)]
        await stage.clock.sleep(5)
        assert stage.ran == [("one", "near", 1), ("two", "far", 1)]
        lost = lose_one_answer(two, CommitUnknown("cut"))
        ids.append(await stage.started(one))
        await stage.clock.sleep(5)
        assert len(lost) == 1
        is_away = False
        for id in ids:
            await one.final_state(id)
        assert sorted(stage.ran) == [("one", "near", 1)] * 2 + [("two", "far", 1)] * 2

    Stage().play(story)


def test_what_this_process_was_done_with_is_not_kept_in_mind_for_ever() -> None:
    async def story(stage: Stage) -> None:
        one, two = stage.engine("one", "near"), stage.engine("two", "far")
        await one.open()
        await two.open()
        await one.final_state(await stage.started(one))
        assert len(two.effects.jobs._let_go) == 1
        await stage.clock.sleep(3 * LEASE / timedelta(seconds=1))
        assert two.effects.jobs._let_go == {}

    Stage().play(story)


def lose_one_answer(engine: Engine, error: Exception) -> list[Exception]:
    """The next claim that brings jobs is made, and nobody hears of it; when it was it is told."""
    claim, lost = engine.store.jobs.claim, list[Exception]()

    async def unheard(*asked: Any, **options: Any) -> JobClaims:  # noqa: ANN401
        claims = await claim(*asked, **options)
        if claims.granted and not lost:
            lost.append(error)
            raise error
        return claims

    engine.store.jobs.claim = unheard  # type: ignore[method-assign]
    return lost


@pytest.mark.parametrize("is_claimed", [True, False])
def test_a_job_of_a_cancelled_instance_is_withdrawn(is_claimed: bool) -> None:
    async def story(stage: Stage) -> None:
        stage.holding["two"] = asyncio.Event()
        one = stage.engine("one", "near")
        await one.open()
        two = stage.engine("two", *(["far"] if is_claimed else []))
        await two.open()
        id = await stage.started(one)
        await stage.clock.sleep(5)
        await one.ask(id, CancelAsked(by="test"))
        held = await one.final_state(id)
        assert held.state.status == "CANCELLED"
        await stage.clock.sleep(60)
        assert stage.disk.jobs == {}
        assert two.runner.in_flight == 0

    Stage().play(story)
