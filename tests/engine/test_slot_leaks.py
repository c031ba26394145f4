"""However an instance ends, and wherever it was, its slots and mutexes go to those behind it.

C8 (restate 7a696f28c), "Concurrency permit lost when a waiting item was killed": items are killed
in each of their states, and slots return to zero.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tenuto import Tenuto
from tenuto.model.durations import Duration, parse_duration
from tenuto.model.errors import TaskError
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.parts.instances import Erasure
from tenuto.workspace.instance import InstanceRef
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio


def job(id: str, *, keeps: bool = False, **options: JSON) -> Object:
    """A step with a mutex, a wait, another step; what was done is undone."""
    return {
        "id": id,
        "steps": [
            {
                "stepId": "a",
                "type": "TASK",
                "taskId": "gate",
                "input": {"who": "{{ctx.input}}"},
                "mutex": "m",
                "retry": {"maxAttempts": 2, "initialDelay": "PT1H"},
                "transitions": {"default": "w"},
            },
            {
                "stepId": "w",
                "type": "EVENT_WAIT",
                "eventPattern": "go",
                "eventCondition": "event.payload === workflow.input",
                "transitions": {"default": "b"},
            },
            {"stepId": "b", "type": "TASK", "taskId": "gate", "input": {"who": "after"}},
        ],
        "compensationSteps": [{"stepId": "undo", "compensationFor": "a", "taskId": "undo"}],
        "options": {"concurrency": {"limit": 1, "holdWhileWaiting": keeps}, **options},
    }


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Passes of admission write no entry: it is looked at again after each turn of the loop."""
    while not await holds():
        await turns(1)


class Stage:
    """An app whose steps go on when they are let."""

    def __init__(self, app: Tenuto) -> None:
        self.app = app
        self.shut = {"first"}
        """Whose steps do not end."""
        self.running: set[str] = set()
        self.fails: set[str] = set()
        self._opened = asyncio.Event()
        app.task(name="gate")(self._gate)
        app.task(name="undo")(self._undo)

    async def _gate(self, input: Object) -> str:
        who = str(input["who"])
        self.running.add(who)
        try:
            while who in self.shut:
                self._opened.clear()
                await self._opened.wait()
        finally:
            self.running.discard(who)
        if who in self.fails:
            raise TaskError("NO", "as planned", retryable=who != "last straw")
        return who

    async def _undo(self, _input: object) -> None:
        """Nothing is needed."""

    def open(self, who: str) -> None:
        self.shut.discard(who)
        self._opened.set()

    async def start(self, who: str, workflow: str = "job") -> InstanceRef:
        return await self.app.start(workflow, who)

    async def until_it(self, instance: InstanceRef, *statuses: Status) -> None:
        async def is_so() -> bool:
            return await instance.status() in statuses

        await until(is_so)

    async def until_running(self, who: str) -> None:
        async def is_so() -> bool:
            return who in self.running

        await until(is_so)

    async def until_slot(self, instance: InstanceRef, *states: str) -> None:
        """Until its rows have these states."""

        async def is_so() -> bool:
            rows = await self.app.engine.store.slots.of("default", instance.id)
            return sorted(row.state for row in rows) == sorted(states)

        await until(is_so)


async def in_the_queue(stage: Stage) -> InstanceRef:
    await stage.app.limits.set({"globalMaxConcurrent": 0})
    return await stage.start("first")


async def kept_back(stage: Stage) -> InstanceRef:
    first = await in_the_queue(stage)
    await stage.app.limits.hold(first.id)
    return first


async def at_work(stage: Stage) -> InstanceRef:
    first = await stage.start("first")
    await stage.until_running("first")
    return first


async def in_the_queue_for_its_mutex(stage: Stage) -> InstanceRef:
    stage.shut.add("other")
    await stage.start("other", "other")
    await stage.until_running("other")
    first = await stage.start("first")
    await stage.until_slot(first, "held", "waiting")
    return first


async def asleep(stage: Stage) -> InstanceRef:
    stage.open("first")
    first = await stage.start("first")
    await stage.until_it(first, Status.WAITING_FOR_EVENT)
    await stage.until_slot(first)
    return first


async def asleep_with_its_slot(stage: Stage) -> InstanceRef:
    await stage.app.deploy(job("job", keeps=True))
    stage.open("first")
    first = await stage.start("first")
    await stage.until_it(first, Status.WAITING_FOR_EVENT)
    await stage.until_slot(first, "held")
    return first


async def woken_and_in_the_queue_again(stage: Stage) -> InstanceRef:
    first = await asleep(stage)
    stage.shut.add("between")
    await stage.start("between")
    await stage.until_running("between")
    await stage.app.publish("go", "first")
    await stage.until_slot(first, "waiting")
    return first


async def paused(stage: Stage) -> InstanceRef:
    first = await at_work(stage)
    await first.pause()
    stage.open("first")
    await stage.until_it(first, Status.PAUSED)
    return first


async def before_a_retry(stage: Stage) -> InstanceRef:
    stage.fails.add("first")
    first = await at_work(stage)
    stage.open("first")

    async def has_failed() -> bool:
        nodes = (await stage.app.engine.state_of(first.id)).state.nodes.values()
        return any(node.error is not None for node in nodes)

    await until(has_failed)
    return first


STATES: tuple[Callable[[Stage], Awaitable[InstanceRef]], ...] = (
    in_the_queue,
    kept_back,
    at_work,
    in_the_queue_for_its_mutex,
    asleep,
    asleep_with_its_slot,
    woken_and_in_the_queue_again,
    paused,
    before_a_retry,
)


async def cancelled(stage: Stage, first: InstanceRef) -> None:
    del stage
    await first.cancel("not needed")


async def removed_by_force(stage: Stage, first: InstanceRef) -> None:
    """Its definition is removed with all of its instances, and made again."""
    del first
    await stage.app.remove_definition("job", force=True)


@pytest.mark.parametrize("kill", [cancelled, removed_by_force])
@pytest.mark.parametrize("state", STATES, ids=lambda each: each.__name__)
async def test_one_that_is_killed_in_any_state_leaves_no_slot_and_no_mutex(
    state: Callable[[Stage], Awaitable[InstanceRef]],
    kill: Callable[[Stage, InstanceRef], Awaitable[None]],
) -> None:
    async with Tenuto("memory://") as app:
        stage = Stage(app)
        await app.deploy(job("job"))
        await app.deploy(job("other"))
        first = await state(stage)
        await kill(stage, first)
        for who in list(stage.shut):
            stage.open(who)
        await stage.until_it(first, Status.CANCELLED)
        await app.limits.set({})
        await app.deploy(job("job"))
        second = await stage.start("second")
        await stage.until_it(second, Status.WAITING_FOR_EVENT)
        await app.publish("go", "second")
        assert await second.result(timeout=60) is not None
        await no_slot_is_taken(app)


@pytest.mark.parametrize("ending", ["fails", "time-out", "retried by hand", "rerun"])
async def test_every_kind_of_ending_gives_slots_and_mutexes_back(ending: str) -> None:
    """Z18, "release as an in-memory function": it is a row of the turn that ends it."""
    async with Tenuto("memory://") as app:
        stage = Stage(app)
        is_timed = ending == "time-out"
        await app.deploy(job("job", timeout="PT1S") if is_timed else job("job"))
        who = "first" if ending == "time-out" else "last straw"
        stage.fails.add("last straw")
        first = await stage.start(who)
        await stage.until_it(first, Status.FAILED, Status.CANCELLED)
        if ending == "retried by hand":
            stage.fails.clear()
            await first.retry()
            await stage.until_it(first, Status.WAITING_FOR_EVENT)
            await first.cancel()
        elif ending == "rerun":
            again = await first.rerun()
            await stage.until_it(again, Status.FAILED)
        await app.deploy(job("job"))
        second = await stage.start("second")
        await stage.until_it(second, Status.WAITING_FOR_EVENT)
        await second.cancel()
        await stage.until_it(second, Status.CANCELLED)
        await no_slot_is_taken(app)


async def no_slot_is_taken(app: Tenuto) -> None:
    slots = app.engine.store.slots
    keys = ["global", "tenant:default", "mutex:default/m"]
    keys += [f"{kind}:default/{id}" for id in ("job", "other") for kind in ("type", "key")]
    keys += [f"key:default/{id}/" for id in ("job", "other")]

    async def is_so() -> bool:
        return not await slots.counts(keys) and not (await slots.mark()).has_work

    await until(is_so)
    for instance in await slots.held("default"):
        pytest.fail(f"{instance} is held")


@pytest.mark.parametrize("state", STATES, ids=lambda each: each.__name__)
async def test_what_is_pruned_leaves_no_slot_and_what_waits_or_holds_one_is_not_pruned(
    state: Callable[[Stage], Awaitable[InstanceRef]],
) -> None:
    """Everything that has ended goes at once, also where its obligations are left."""
    async with Tenuto("memory://") as app:
        stage = Stage(app)
        await app.deploy(job("job"))
        await app.deploy(job("other"))
        prune = app.engine.upkeep.instances.prune
        now = parse_duration("PT0.001S")
        everything = Erasure(with_debts=True, with_dead_letters=True)
        first = await state(stage)
        rows = len(await app.engine.store.slots.of("default", first.id))
        await prune(everything, now)
        assert len(await app.engine.store.slots.of("default", first.id)) == rows
        for each in await app.instances():
            await (await app.instance(each.id)).cancel()
        for who in list(stage.shut):
            stage.open(who)
        await stage.until_it(first, Status.CANCELLED)
        await until(lambda: _is_pruned(app, everything, now))
        await app.limits.set({})
        await no_slot_is_taken(app)
        second = await stage.start("second")
        await stage.until_it(second, Status.WAITING_FOR_EVENT)


async def _is_pruned(app: Tenuto, manner: Erasure, age: Duration) -> bool:
    await app.engine.upkeep.instances.prune(manner, age)
    return not await app.instances()
