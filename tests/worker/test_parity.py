"""A task behaves the same in process, pulled by a worker, and pushed: one table of its settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec
import pytest

from tenuto.engine.engine import Engine
from tenuto.executions.push_dispatcher import PushDispatcher
from tenuto.model.errors import TaskError
from tenuto.model.json import Object
from tenuto.model.policy import RetryPolicy
from tenuto.model.task_definition import TaskDefinition, WorkerTask
from tenuto.ports import Page
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry
from tenuto.tasks.worker_task import worker_task
from tenuto.testing.virtual_clock import VirtualClock
from tenuto.worker import Worker
from tenuto.workspace.task_definitions import TaskDefinitions
from tests.executions.stage import Stage
from tests.worker.local_broker import LocalBroker
from tests.worker.work import flow

Work = Callable[[int, Callable[[float], Awaitable[None]]], Awaitable[object]]
"""What an attempt does, by its number; it can spend seconds."""


class Case(NamedTuple):
    """Settings of a task, what its attempts do, and what comes of it."""

    work: Work
    seen: list[str]
    """The failures of its attempts."""
    status: str
    in_code: Mapping[str, Any] = {}
    in_step: Mapping[str, object] = {}
    takes: object = Any
    """The type of its parameter."""
    says: str = ""
    """What the message of the first failure says."""


async def fails(_: int, spend: Callable[[float], Awaitable[None]]) -> object:
    await spend(0.1)
    raise TaskError("BROKEN", "it is broken")


async def fails_twice(attempt: int, spend: Callable[[float], Awaitable[None]]) -> object:
    await spend(0.1)
    if attempt <= 2:
        raise TaskError("BROKEN", "it is broken")
    return {"attempt": attempt}


async def lasts(_: int, spend: Callable[[float], Awaitable[None]]) -> object:
    await spend(5)
    return None


async def succeeds(_: int, spend: Callable[[float], Awaitable[None]]) -> object:
    await spend(0.1)
    return None


def untyped(order):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - what is tested
    return order


@dataclass
class Order:
    """The input of a typed task."""

    id: int
    amount: float = 0
    tags: list[str] | None = None


ONCE = RetryPolicy(max_attempts=1)
CASES = {
    "nothing is set: three attempts": Case(fails, ["BROKEN"] * 3, "FAILED"),
    "retries of the code: one attempt": Case(fails, ["BROKEN"], "FAILED", in_code={"retry": ONCE}),
    "retries of the code: five attempts": Case(
        fails, ["BROKEN"] * 5, "FAILED", in_code={"retry": RetryPolicy(max_attempts=5)}
    ),
    "a code that is not retried": Case(
        fails,
        ["BROKEN"],
        "FAILED",
        in_code={"retry": RetryPolicy(max_attempts=4, non_retryable=("BROKEN",))},
    ),
    "it succeeds in the end": Case(
        fails_twice,
        ["BROKEN"] * 2,
        "COMPLETED",
        in_code={"retry": RetryPolicy(max_attempts=4, initial_delay=timedelta(seconds=7))},
    ),
    "a time-out of the code": Case(
        lasts, ["TIMEOUT"], "FAILED", in_code={"retry": ONCE, "timeout": timedelta(seconds=1)}
    ),
    "a time-out that is long enough": Case(
        lasts, [], "COMPLETED", in_code={"timeout": timedelta(seconds=6)}
    ),
    "the step's time-out wins": Case(
        lasts, [], "COMPLETED", in_code={"timeout": timedelta(seconds=1)}, in_step={"timeout": 6000}
    ),
    "the step's retries win": Case(
        fails,
        ["BROKEN"] * 2,
        "FAILED",
        in_code={"retry": ONCE},
        in_step={"retry": {"maxAttempts": 2, "initialDelay": 10}},
    ),
    "an input of another type": Case(
        succeeds,
        ["INVALID_INPUT"],
        "FAILED",
        in_step={"input": "ten"},
        takes=int,
        says='the input does not fit the task: "ten" is not of type "integer" at $; '
        "correct the input of the step, or the type that the task declares",
    ),
    "an input in an object around it": Case(
        succeeds,
        ["INVALID_INPUT"],
        "FAILED",
        in_step={"input": {"x": 1}},
        takes=int,
        says='the input does not fit the task: {"x":1} is not of type "integer" at $; a task with '
        'one parameter gets the whole input: write the value of "x" as the `input` of the step, '
        "without an object around it",
    ),
    "an input with a part of another type": Case(
        succeeds,
        ["INVALID_INPUT"],
        "FAILED",
        in_step={"input": {"id": 1, "tags": ["a", 2]}},
        takes=Order,
        says='the input does not fit the task: 2 is not of type "string" at $.tags[1]; '
        "correct the input of the step, or the type that the task declares",
    ),
    "an input without a part": Case(
        succeeds,
        ["INVALID_INPUT"],
        "FAILED",
        in_step={"input": {"amount": "5", "tags": None}},
        takes=Order,
        says='the input does not fit the task: "id" is a required property at $, and 1 more; '
        "add the property to the input of the step",
    ),
    "an input that fits": Case(
        succeeds, [], "COMPLETED", in_step={"input": {"id": 1, "amount": 2}}, takes=Order
    ),
    "an input with parts for others": Case(
        succeeds, [], "COMPLETED", in_step={"input": {"id": 1, "note": "hello"}}, takes=Order
    ),
}


class Address:
    """Does the work of a pushed task."""

    def __init__(self, case: Case, clock: VirtualClock) -> None:
        self._case = case
        self._clock = clock

    async def call(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        tenant: str,
        seconds: float,
        most: int,
    ) -> Page:
        attempt = int(msgspec.json.decode(body)["attempt"])
        try:
            async with asyncio.timeout(seconds):
                done = await self._case.work(attempt, self._clock.sleep)
        except TaskError as error:
            told: Object = {"code": error.code, "message": str(error)}
            return Page(200, msgspec.json.encode({"status": "FAILED", "error": told}))
        return Page(200, msgspec.json.encode({"status": "COMPLETED", "output": done}))

    async def close(self) -> None: ...


def function(case: Case, clock: VirtualClock) -> Registry:
    async def ship(order: Any, ctx: Context) -> object:  # noqa: ANN401 - its type is the case's
        assert isinstance(order, Order) or case.takes is Any
        return await case.work(ctx.attempt, clock.sleep)

    ship.__annotations__["order"] = case.takes
    registry = Registry()
    registry.add(TaskFunction(ship, name="ship", **case.in_code))
    return registry


async def in_process(stage: Stage, case: Case) -> tuple[Engine, Callable[[], Awaitable[None]]]:
    engine, _ = await stage.opened(registry=function(case, stage.clock))
    return engine, engine.close


async def pulled(stage: Stage, case: Case) -> tuple[Engine, Callable[[], Awaitable[None]]]:
    engine, broker = await stage.opened()
    registry = function(case, stage.clock)
    worker = Worker(LocalBroker(broker), registry, worker_id="w1", clock=stage.clock)
    running = asyncio.create_task(worker.run())
    await stage.clock.sleep(0.1)

    async def stop() -> None:
        worker.stop()
        await running
        await engine.close()

    return engine, stop


async def pushed(stage: Stage, case: Case) -> tuple[Engine, Callable[[], Awaitable[None]]]:
    engine, broker = await stage.opened()
    [task] = map(function(case, stage.clock).get, ["ship"])
    assert task is not None
    policy = worker_task(task)
    await TaskDefinitions(engine, "default").add(
        TaskDefinition(
            id="ship",
            kind="push",
            url="https://ship.example.com/",
            retry=policy.retry,
            timeout=policy.timeout,
            input_schema=policy.input_schema,
        )
    )
    office = PushDispatcher(engine, broker, Address(case, stage.clock), lambda: "http://here")
    running = asyncio.create_task(office.run())

    async def stop() -> None:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await engine.close()

    return engine, stop


@pytest.mark.parametrize("way", [in_process, pulled, pushed], ids=lambda way: way.__name__)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_setting_holds_whichever_way_the_task_runs(case: Case, way: Any) -> None:  # noqa: ANN401
    async def story(stage: Stage) -> None:
        engine, stop = await way(stage, case)
        id = await stage.started(engine, flow(**case.in_step))
        status = (await engine.final_state(id)).state.status.value
        rows = await engine.store.instances.entries(id)
        failures = [
            msgspec.json.decode(row.payload or b"")["error"]
            for row in rows
            if row.event_type == "NODE_FAILED"
        ]
        assert ([each["code"] for each in failures], status) == (case.seen, case.status)
        assert case.says in ("", *(each["message"] for each in failures))
        await stop()

    Stage().play(story)


@pytest.mark.parametrize("name", ["a time-out of the code", "an input of another type"])
def test_the_code_counts_for_what_was_ordered_before_its_worker_came(name: str) -> None:
    case = CASES[name]

    async def story(stage: Stage) -> None:
        engine, broker = await stage.opened()
        id = await stage.started(engine, flow(**case.in_step))
        registry = function(case, stage.clock)
        worker = Worker(LocalBroker(broker), registry, worker_id="w1", clock=stage.clock)
        running = asyncio.create_task(worker.run())
        assert (await engine.final_state(id)).state.status.value == "FAILED"
        worker.stop()
        await running
        await engine.close()

    Stage().play(story)


def test_workers_that_disagree_are_shown_and_the_newest_is_in_force() -> None:
    async def story(stage: Stage) -> None:
        engine, _ = await stage.opened()
        tasks = TaskDefinitions(engine, "default")

        def code(seconds: int) -> WorkerTask:
            function = TaskFunction(fails, name="ship", timeout=timedelta(seconds=seconds))
            return worker_task(function)

        for worker, seconds in (("w1", 1), ("w2", 2), ("w1", 1)):
            await tasks.register(worker, [code(seconds)])
        [last] = await tasks.register("w3", [code(1)])
        shown = await tasks.get("ship")
        assert [(each.worker_id, each.timeout) for each in shown.registered] == [
            ("w1", 1000),
            ("w2", 2000),
        ]
        assert [each.worker_id for each in last.others] == ["w2"]
        assert engine.declared_tasks.of("default").policy("ship").timeout == timedelta(seconds=1)
        version = shown.version
        await tasks.register("w4", [code(1)])
        assert (await tasks.get("ship")).version == version, "a restart changes nothing"
        await tasks.put(TaskDefinition(id="ship", kind="pull", timeout=9000))
        assert engine.declared_tasks.of("default").policy("ship").timeout == timedelta(seconds=9)
        assert len((await tasks.get("ship")).registered) == 2
        await engine.close()

    Stage().play(story)


def test_a_worker_without_policies_declares_nothing() -> None:
    async def story(stage: Stage) -> None:
        engine, _ = await stage.opened()
        tasks = TaskDefinitions(engine, "default")
        await tasks.register("w1", [worker_task(TaskFunction(untyped, name="ship"))])
        assert await tasks.list() == []
        await engine.close()

    Stage().play(story)
