"""Limits of a task: for its attempts in processes, in workers and at addresses, all together."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from tenuto.engine.engine import Engine
from tenuto.engine.events.explainer import Explainer
from tenuto.engine.settings import Settings
from tenuto.executions.broker import TaskBroker
from tenuto.executions.push_dispatcher import PushDispatcher
from tenuto.model.causes import Explanation
from tenuto.model.errors import InvalidInput
from tenuto.model.task_definition import TaskDefinition, TaskLimits, WorkerTask
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.turns import Turn, TurnResult
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.testing.virtual_clock import VirtualClock
from tenuto.workspace.task_definitions import TaskDefinitions
from tests.executions.stage import Stage, cancel, done, report
from tests.executions.test_push_dispatcher import Address, over
from tests.kit.workload.drawing import document, edge, node

FLOW = document("w", [node("a", "task", taskId="charge", retry={"maxAttempts": 1})], [])
WAIT = timedelta(seconds=1_000)


class Gauge:
    """Counts attempts that are under way, wherever they run."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.now = self.most = 0
        self.began: list[float] = []

    async def busy(self, seconds: float = 1.0) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        self.began.append(self.clock.ticks())
        await self.clock.sleep(seconds)
        self.now -= 1


def functions(
    gauge: Gauge, limits: TaskLimits | None = None, at_most: int | None = None
) -> Registry:
    async def charge() -> None:
        await gauge.busy()

    registry = Registry()
    registry.add(TaskFunction(charge, name="charge", limits=limits, at_most=at_most))
    return registry


async def declare(
    engine: Engine, limits: TaskLimits, *, kind: str = "pull", url: str | None = None
) -> None:
    task = TaskDefinition(id="charge", kind=kind, url=url, limits=limits)  # type: ignore[arg-type]
    await TaskDefinitions(engine, "default").put(task)


async def work(broker: TaskBroker, gauge: Gauge, worker_id: str) -> None:
    """A worker that does one task at a time, for ever."""
    while True:
        for task in await broker.claim("default", worker_id, ["charge"], most=1, wait=WAIT):
            await gauge.busy()
            assert await report(broker, done(task)) == [None]


async def explained(engine: Engine, id: str) -> Explanation:
    explainer = Explainer(
        engine.store,
        engine.loader,
        engine.inspector,
        engine.clock,
        runner=engine.runner,
        policies=engine.policies.of,
    )
    return await explainer.explain(await engine.state_of(id))


async def all_done(engine: Engine, ids: list[str]) -> None:
    for id in ids:
        assert (await engine.final_state(id)).state.status == "COMPLETED"


def test_attempts_in_two_processes_keep_to_the_limit_in_their_code() -> None:
    """ "`limits` of a task hold for pulled, pushed and in-process attempts alike, over all
    processes".
    """

    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        registry = functions(gauge, TaskLimits(concurrency=3))
        one, _ = await stage.opened(shared=True, registry=registry)
        two, _ = await stage.opened(shared=True, registry=registry)
        ids = [await stage.started(each, FLOW) for _ in range(6) for each in (one, two)]
        await all_done(one, ids)
        assert gauge.most == 3
        # Each end lets the next one begin at that moment: 12 attempts of a second, 3 at once.
        assert gauge.began[-1] - gauge.began[0] == pytest.approx(3, abs=0.1)
        assert stage.disk.jobs == {}
        await one.close()
        await two.close()

    Stage().play(story)


@pytest.mark.parametrize("limits", [TaskLimits(concurrency=4), TaskLimits(rate_per_second=4)])
def test_processes_workers_and_addresses_share_one_limit(limits: TaskLimits) -> None:
    """ "`limits` of a task hold for pulled, pushed and in-process attempts alike"."""

    async def story(stage: Stage) -> None:
        gauge, address = Gauge(stage.clock), Address(stage.clock)
        call = address.call

        async def counted(*args: object, **options: object) -> object:
            gauge.now += 1
            gauge.most = max(gauge.most, gauge.now)
            try:
                return await call(*args, **options)  # type: ignore[arg-type]
            finally:
                gauge.now -= 1

        address.call = counted  # type: ignore[method-assign, assignment]
        one, _ = await stage.opened(shared=True, registry=functions(gauge))
        two, broker = await stage.opened(shared=True)
        three, pushing = await stage.opened(shared=True)
        office = PushDispatcher(three, pushing, address, lambda: "http://here")
        pushers = [(three, asyncio.get_running_loop().create_task(office.run()))]
        await declare(one, limits, kind="push", url="https://charge.example.com/")
        await stage.clock.sleep(3.5)  # every process knows of it
        workers = [asyncio.create_task(work(broker, gauge, f"w{n}")) for n in range(3)]
        engines = (one, two, three)
        ids = [await stage.started(each, FLOW) for _ in range(10) for each in engines]
        await all_done(one, ids)
        assert 0 < len(address.began) < 30
        assert 0 < len(gauge.began) < 30
        if limits.concurrency is not None:
            assert gauge.most == limits.concurrency
        else:
            began = sorted([*address.began, *gauge.began])
            # Four at once after a rest, then one each quarter of a second.
            for earlier, later in zip(began, began[7:], strict=False):
                assert later - earlier >= 1.0 - 0.01
        for worker in workers:
            worker.cancel()
        await over(pushers)
        await one.close()
        await two.close()

    Stage().play(story)


def test_an_end_in_one_process_wakes_a_worker_of_another_at_once() -> None:
    async def story(stage: Stage) -> None:
        one, first = await stage.opened(shared=True)
        two, second = await stage.opened(shared=True)
        await declare(one, TaskLimits(concurrency=1))
        await stage.clock.sleep(3.5)
        ids = [await stage.started(one, FLOW) for _ in range(2)]
        [task] = await first.claim("default", "w1", ["charge"], most=5)
        waiting = asyncio.create_task(second.claim("default", "w2", ["charge"], most=5, wait=WAIT))
        await stage.clock.sleep(3.1)  # not at a moment at which it looks by itself
        assert not waiting.done()
        before = stage.clock.ticks()
        assert await report(first, done(task)) == [None]
        [task] = await waiting
        assert stage.clock.ticks() - before < 0.1
        assert await report(second, done(task)) == [None]
        await all_done(one, ids)
        await one.close()
        await two.close()

    Stage().play(story)


@pytest.mark.parametrize("kind", ["process", "worker"])
def test_a_rate_holds_for_all_processes(kind: str) -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        registry = functions(gauge) if kind == "process" else Registry()
        opened = [await stage.opened(shared=True, registry=registry) for _ in range(2)]
        one = opened[0][0]
        await declare(one, TaskLimits(rate_per_second=2))
        await stage.clock.sleep(3.5)  # until the next heartbeat of the other process
        workers = [
            asyncio.create_task(work(broker, gauge, f"w{n}-{m}"))
            for n, (_, broker) in enumerate(opened if kind == "worker" else ())
            for m in range(5)
        ]
        ids = [await stage.started(engine, FLOW) for _ in range(5) for engine, _ in opened]
        await all_done(one, ids)
        assert len(gauge.began) == 10
        for earlier, later in zip(gauge.began, gauge.began[4:], strict=False):
            # Two at once after a rest, then one each half second.
            assert later - earlier >= 1.0 - 0.01
        assert gauge.began[-1] - gauge.began[0] < 5
        for worker in workers:
            worker.cancel()
        for engine, _ in opened:
            await engine.close()

    Stage().play(story)


def test_a_limit_that_is_raised_lets_more_begin_at_once() -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        engine, _ = await stage.opened(registry=functions(gauge))
        await declare(engine, TaskLimits(concurrency=1))
        ids = [await stage.started(engine, FLOW) for _ in range(6)]
        await stage.clock.sleep(0.5)
        assert gauge.now == 1
        await declare(engine, TaskLimits(concurrency=3))
        await stage.clock.sleep(0.1)
        assert gauge.now == 3
        await declare(engine, TaskLimits())
        await stage.clock.sleep(0.1)
        assert gauge.now == 6
        await all_done(engine, ids)
        await engine.close()

    Stage().play(story)


def test_an_attempt_that_is_cancelled_gives_its_place_to_the_next() -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        engine, _ = await stage.opened(registry=functions(gauge, TaskLimits(concurrency=1)))
        ids = [await stage.started(engine, FLOW) for _ in range(3)]
        await stage.clock.sleep(0.1)
        await cancel(engine, ids[0])
        await cancel(engine, ids[1])
        await all_done(engine, ids[2:])
        assert len(gauge.began) == 2, "one that waits never begins"
        assert stage.disk.jobs == {}
        await engine.close()

    Stage().play(story)


def test_explain_names_the_limit_and_those_that_hold_it() -> None:
    """An attempt that is over a limit waits, and `explain` names the limit."""

    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        engine, _ = await stage.opened(registry=functions(gauge, TaskLimits(concurrency=1)))
        first, second = [await stage.started(engine, FLOW) for _ in range(2)]
        await stage.clock.sleep(0.1)
        [cause] = (await explained(engine, second)).causes
        assert cause.kind == "slot"
        assert cause.message == f"1 of 1 attempts of its task charge run, held by {first} (a)"
        assert cause.since is not None
        assert cause.details["limit"] == "task:charge"
        assert (cause.details["held"], cause.details["max"]) == (1, 1)
        holder = {"instanceId": first, "stepId": "a", "by": engine.process_id}
        assert cause.details["holders"] == [holder]
        [cause] = (await explained(engine, first)).causes
        assert cause.message == "attempt 1 runs"
        await all_done(engine, [first, second])
        await engine.close()

    Stage().play(story)


def test_explain_says_until_when_a_rate_holds_an_attempt_back() -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        limits = TaskLimits(rate_per_second=0.1)
        engine, _ = await stage.opened(registry=functions(gauge, limits))
        _, second = [await stage.started(engine, FLOW) for _ in range(2)]
        await stage.clock.sleep(2)
        [cause] = (await explained(engine, second)).causes
        assert cause.kind == "rate-limit"
        assert cause.message == "waits for the rate of its task charge, 0.1 a second"
        assert cause.until is not None
        assert (cause.until - stage.clock.now()).total_seconds() == pytest.approx(8, abs=0.1)
        await all_done(engine, [second])
        await engine.close()

    Stage().play(story)


def test_a_bound_of_a_process_holds_up_no_other_task() -> None:
    """ "a bound on in-process attempts per process and per task (`@task(at_most=…)`), what is over
    it waits visibly".

    `@task(at_most=…)` bounds the attempts of a task in one process.
    """

    async def story(stage: Stage) -> None:
        gauge, other = Gauge(stage.clock), Gauge(stage.clock)
        registry = functions(gauge, at_most=2)
        registry.add(TaskFunction(partial(other.busy, 0.1), name="bill"))
        engine, _ = await stage.opened(registry=registry)
        ids = [await stage.started(engine, FLOW) for _ in range(6)]
        bill = document("x", [node("b", "task", taskId="bill")], [])
        billed = await stage.started(engine, bill)
        await stage.clock.sleep(0.5)
        assert (gauge.now, gauge.most) == (2, 2)
        assert (await engine.state_of(billed)).state.status == "COMPLETED"
        [cause] = (await explained(engine, ids[-1])).causes
        assert cause.kind == "slot"
        assert cause.message == "attempt 1 waits: 2 of 2 attempts of charge run in its process"
        await all_done(engine, ids)
        assert gauge.most == 2
        await engine.close()

    Stage().play(story)


def test_a_process_claims_no_more_of_a_limited_task_than_it_can_run() -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        limits = TaskLimits(concurrency=4)
        registries = [functions(gauge, limits, at_most=2) for _ in range(2)]
        engines = [(await stage.opened(shared=True, registry=each))[0] for each in registries]
        ids = [await stage.started(engines[0], FLOW) for _ in range(12)]
        await stage.clock.sleep(0.01)
        await all_done(engines[0], ids)
        assert gauge.most == 4, "the other process has the other two"
        for engine in engines:
            await engine.close()

    Stage().play(story)


def test_workers_register_the_limits_of_their_code() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        tasks = TaskDefinitions(engine, "default")
        code = WorkerTask(id="charge", limits=TaskLimits(concurrency=2))
        await tasks.register("w1", [code])
        assert engine.policies.of("default").limited == {"charge": TaskLimits(concurrency=2)}
        for _ in range(5):
            await stage.started(engine, FLOW)
        assert len(await broker.claim("default", "w1", ["charge"], most=5)) == 2
        await tasks.put(TaskDefinition(id="charge", kind="pull", limits=TaskLimits(concurrency=3)))
        assert len(await broker.claim("default", "w2", None, most=5)) == 1
        assert await broker.claim("default", "w2", None, most=5) == []
        await engine.close()

    Stage().play(story)


@pytest.mark.parametrize(
    ("limits", "path"),
    [
        (TaskLimits(concurrency=0), "$.limits.concurrency"),
        (TaskLimits(concurrency=-1), "$.limits.concurrency"),
        (TaskLimits(concurrency=10_001), "$.limits.concurrency"),
        (TaskLimits(concurrency=1.5), "$.limits.concurrency"),  # type: ignore[arg-type]
        (TaskLimits(rate_per_second=0), "$.limits.ratePerSecond"),
        (TaskLimits(rate_per_second=float("nan")), "$.limits.ratePerSecond"),
        (TaskLimits(rate_per_second=1e9), "$.limits.ratePerSecond"),
    ],
)
def test_limits_that_mean_nothing_are_refused(limits: TaskLimits, path: str) -> None:
    async def story(stage: Stage) -> None:
        engine, _ = await stage.opened()
        with pytest.raises(InvalidInput) as refused:
            await declare(engine, limits)
        assert [each.path for each in refused.value.problems] == [path]
        await engine.close()

    Stage().play(story)


def test_what_waits_for_a_limit_goes_on_after_a_crash() -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        registry = functions(gauge, TaskLimits(concurrency=2))
        one, _ = await stage.opened(shared=True, registry=registry)
        ids = [await stage.started(one, FLOW) for _ in range(6)]
        await stage.clock.sleep(0.5)
        one.store.abandon()
        two, _ = await stage.opened(shared=True, registry=registry)
        states = [(await two.final_state(id)).state.status for id in ids]
        assert states == ["COMPLETED"] * 6
        assert (await two.store.jobs.use_of("default", "charge")).held == 0
        await two.close()

    Stage().play(story)


def test_a_long_attempt_of_a_limited_task_keeps_its_lease() -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)

        async def charge() -> None:
            await gauge.busy(100)

        registry = Registry()
        registry.add(TaskFunction(charge, name="charge", limits=TaskLimits(concurrency=1)))
        engine, _ = await stage.opened(registry=registry)
        await stage.clock.sleep(1)
        ids = [await stage.started(engine, FLOW) for _ in range(2)]
        await all_done(engine, ids)
        assert len(gauge.began) == 2, "neither was lost"
        await engine.close()

    Stage().play(story)


def test_jobs_go_on_when_the_limits_they_waited_for_are_gone() -> None:
    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        limited = functions(gauge, TaskLimits(concurrency=1))
        one, _ = await stage.opened(registry=limited)
        ids = [await stage.started(one, FLOW) for _ in range(4)]
        await stage.clock.sleep(0.5)
        await one.close()
        two, _ = await stage.opened(registry=functions(gauge))
        await all_done(two, ids)
        await two.close()

    Stage().play(story)


@pytest.mark.parametrize("is_worker", [False, True])
def test_a_job_that_is_claimed_before_its_turn_is_answered_begins(is_worker: bool) -> None:
    """The turn that offers it is durable; the instance at hand is still the one before."""

    async def story(stage: Stage) -> None:
        gauge = Gauge(stage.clock)
        registry = Registry() if is_worker else functions(gauge)
        registry.add(TaskFunction(ready, name="ready"))
        engine, broker = await stage.opened(shared=True, registry=registry)
        await declare(engine, TaskLimits(concurrency=1))
        commit = engine.store.turns.commit

        async def answered_late(turn: Turn, lane: int = 0) -> TurnResult:
            result = await commit(turn, lane)
            if any(write.jobs_offered for write in turn.writes):
                engine.effects.freed_elsewhere()
                await stage.clock.sleep(1)
            return result

        engine.store.turns.commit = answered_late  # type: ignore[method-assign]
        workers = [asyncio.create_task(work(broker, gauge, "w"))] if is_worker else []
        steps = [node("r", "task", taskId="ready"), node("a", "task", taskId="charge")]
        id = await stage.started(engine, document("two", steps, [edge("r", "a")]))
        await all_done(engine, [id])
        assert len(gauge.began) == 1
        assert await stage.lines_of(engine, id, "a") == ["NODE_DISPATCHED", "NODE_COMPLETED"]
        assert stage.clock.ticks() - gauge.began[0] < 5
        await over([(engine, each) for each in workers])

    Stage().play(story)


async def ready() -> None:
    """Ends at once."""


@pytest.mark.parametrize(
    ("attempts", "at_most", "others", "after"),
    [(1, None, 1, 1.0), (1, None, 3, 2.0), (3, 1, 5, 0.0)],
)
def test_an_attempt_begins_as_soon_as_its_process_has_room(
    attempts: int, at_most: int | None, others: int, after: float
) -> None:
    """Room that an attempt of another task has left; its own bound holds up that task alone.

    Tasks with limits take turns with those that wait in the process already.
    """

    async def story(stage: Stage) -> None:
        gauge, before = Gauge(stage.clock), Gauge(stage.clock)

        async def other() -> None:
            await before.busy()

        registry = functions(gauge, TaskLimits(concurrency=5))
        registry.add(TaskFunction(other, name="other", at_most=at_most))
        engine = Engine(
            MemoryStore(stage.disk),
            registry=registry,
            clock=stage.clock,
            ids=stage.ids,
            settings=Settings(attempts=attempts),
        )
        await engine.open()
        first = document("first", [node("a", "task", taskId="other")], [])
        ids = [await stage.started(engine, first) for _ in range(others)]
        await stage.clock.sleep(0.01)
        ids.append(await stage.started(engine, FLOW))
        await all_done(engine, ids)
        assert gauge.began[0] - before.began[0] == pytest.approx(after, abs=0.1)
        await engine.close()

    Stage().play(story)
