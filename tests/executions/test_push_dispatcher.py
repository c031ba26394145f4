"""Pushing from several processes, in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any

import msgspec

from tenuto.engine.engine import Engine
from tenuto.executions.broker import TaskBroker
from tenuto.executions.push_dispatcher import PushDispatcher
from tenuto.model.status import Status
from tenuto.model.task_definition import BreakerPolicy, TaskDefinition, TaskLimits
from tenuto.ports import Page
from tenuto.store.parts.tasks import TaskRow
from tenuto.testing.virtual_clock import VirtualClock
from tests.executions.stage import Stage
from tests.kit.workload.drawing import document, node

FLOW = document("w", [node("a", "task", taskId="charge", retry={"maxAttempts": 1})], [])
DONE = Page(200, b'{"status":"COMPLETED"}')


LATE = 0.05
"""Seconds that a write takes, where writes are late."""


class Address:
    """Answers after a second, with whatever `page` is then."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.page = DONE
        self.began: list[float] = []
        self.at_once = 0
        self.most_at_once = 0
        self.is_silent = False
        self.headers: list[Mapping[str, str]] = []
        self.urls: list[str] = []

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
        self.began.append(self.clock.ticks())
        self.headers.append(headers)
        self.urls.append(url)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.clock.sleep(1_000_000 if self.is_silent else 1)
        finally:
            self.at_once -= 1
        return self.page

    async def close(self) -> None: ...


async def declare(
    engine: Engine, limits: TaskLimits, version: int = 1, *, id: str = "charge"
) -> None:
    task = TaskDefinition(
        id=id,
        kind="push",
        url=f"https://{id}.example.com/",
        limits=limits,
        breaker=BreakerPolicy(failures=2, open_for=10_000),
    )
    now = engine.clock.now()
    there = await engine.store.tasks.get("default", id)
    assert await engine.store.tasks.put(
        TaskRow(
            tenant="default",
            id=id,
            version=version,
            document=msgspec.json.encode(task),
            is_pushed=True,
            created_at=now if there is None else there.created_at,
            updated_at=now,
        )
    )


async def two(
    stage: Stage, address: Address
) -> tuple[Engine, list[tuple[Engine, asyncio.Task[None]]]]:
    """Two processes that push."""
    found = []
    for _ in range(2):
        engine, broker = await stage.opened(shared=True)
        office = PushDispatcher(engine, broker, address, lambda: "http://here")
        found.append((engine, asyncio.get_running_loop().create_task(office.run())))
    return found[0][0], found


def write_late(engine: Engine, clock: VirtualClock) -> None:
    """Let what is known of addresses be old by the time at which it is changed."""
    put = engine.store.tasks.put_target

    async def late(*of_what: Any) -> bool:  # noqa: ANN401
        await clock.sleep(LATE)
        return await put(*of_what)

    engine.store.tasks.put_target = late  # type: ignore[assignment, method-assign]


async def over(pushers: list[tuple[Engine, asyncio.Task[None]]]) -> None:
    for engine, pushing in pushers:
        pushing.cancel()
        await asyncio.gather(pushing, return_exceptions=True)
        await engine.close()


def test_limits_hold_for_all_processes_together() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        engine, pushers = await two(stage, address)
        await declare(engine, TaskLimits(concurrency=3))
        ids = [await stage.started(engine, FLOW) for _ in range(12)]
        for id in ids:
            assert (await engine.final_state(id)).state.status == "COMPLETED"
        assert len(address.began) == 12
        assert address.most_at_once == 3
        await over(pushers)

    Stage().play(story)


def test_a_rate_holds_and_is_adjusted_while_it_runs() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        engine, pushers = await two(stage, address)
        for each, _ in pushers:
            write_late(each, stage.clock)
        await declare(engine, TaskLimits(rate_per_second=1))
        await stage.clock.sleep(2)
        ids = [await stage.started(engine, FLOW) for _ in range(40)]
        began = stage.clock.ticks()
        await stage.clock.sleep(10)
        assert len(address.began) >= 5
        pauses = [after - before for before, after in pairwise(address.began)]
        # A request counts from when it is written down, a little before it is sent.
        assert min(pauses) >= 1 - 2 * LATE, "two processes that both saw room do not both take it"
        await declare(engine, TaskLimits(), version=2)
        for id in ids:
            await engine.final_state(id)
        assert stage.clock.ticks() - began < 20
        await over(pushers)

    Stage().play(story)


def test_a_breaker_that_opens_in_one_process_is_open_in_all_within_a_second() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        address.page = Page(503)
        engine, pushers = await two(stage, address)
        await declare(engine, TaskLimits(concurrency=1))
        ids = [await stage.started(engine, FLOW) for _ in range(10)]
        await stage.clock.sleep(9)
        sent = len(address.began)
        assert 2 <= sent <= 4, "after two failures nothing more is sent"
        address.page = DONE
        states = [(await engine.final_state(id)).state.status for id in ids]
        assert states.count(Status.COMPLETED) == 10 - sent
        await over(pushers)

    Stage().play(story)


def test_a_push_says_where_it_stands_in_its_trace() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        engine, pushers = await two(stage, address)
        await declare(engine, TaskLimits())
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        traced = await stage.started(engine, FLOW, traceparent=trace)
        await engine.final_state(traced)
        await engine.final_state(await stage.started(engine, FLOW))
        [first, second] = address.headers
        assert first["traceparent"].split("-")[1] == trace.split("-")[1]
        assert first["traceparent"] != trace, "the attempt has a place of its own"
        assert "traceparent" not in second
        await over(pushers)

    Stage().play(story)


def test_what_a_dead_process_had_pushed_comes_back() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        address.is_silent = True
        engine, [(first, pushing), other] = await two(stage, address)
        other[1].cancel()
        await declare(engine, TaskLimits())
        id = await stage.started(other[0], FLOW)
        await stage.clock.sleep(20)
        assert len(address.began) == 1, "its lease is extended while it waits for an answer"
        address.is_silent = False
        for task in asyncio.all_tasks():
            if task.get_name().startswith("tenuto push"):
                task.cancel()
        pushing.cancel()
        again = PushDispatcher(other[0], TaskBroker(other[0]), address, lambda: "http://here")
        running = asyncio.get_running_loop().create_task(again.run())
        final = await other[0].final_state(id)
        assert final.state.status == "COMPLETED"
        assert len(address.began) == 2
        await over([(first, pushing), (other[0], running)])

    Stage().play(story)


def test_what_was_accepted_is_the_services_until_the_time_out() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        address.page = Page(202)
        engine, pushers = await two(stage, address)
        await declare(engine, TaskLimits())
        id = await stage.started(engine, FLOW)
        began = stage.clock.now()
        state = (await engine.final_state(id)).state
        assert state.last_error is not None
        assert state.last_error.code == "TIMEOUT"
        assert stage.clock.now() - began >= timedelta(minutes=9)
        assert len(address.began) == 1
        await over(pushers)

    Stage().play(story)


def test_what_is_declared_costs_nothing_while_there_is_nothing_to_push() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        engine, pushers = await two(stage, address)
        for number in range(20):
            await declare(engine, TaskLimits(), id=f"idle{number}")
        await declare(engine, TaskLimits())
        asked: Counter[str] = Counter()
        for verb in ("jobs.claim_for_worker", "tasks.target", "jobs.tasks_to_push"):
            counted(engine, verb, asked)
        await stage.clock.sleep(20)
        assert 8 <= asked["jobs.tasks_to_push"] <= 12
        assert asked.total() == asked["jobs.tasks_to_push"], "one question for all of them"
        id = await stage.started(pushers[1][0], FLOW)
        assert (await engine.final_state(id)).state.status == "COMPLETED"
        await over(pushers)

    Stage().play(story)


def test_what_another_process_has_offered_is_pushed() -> None:
    async def story(stage: Stage) -> None:
        address = Address(stage.clock)
        engine, [(pusher, pushing), (_, gone)] = await two(stage, address)
        gone.cancel()
        other, _ = await stage.opened(shared=True)
        early = await stage.started(other, FLOW)
        await declare(engine, TaskLimits())
        assert (await other.final_state(early)).state.status == "COMPLETED"
        id = await stage.started(other, FLOW)
        before = stage.clock.ticks()
        assert (await other.final_state(id)).state.status == "COMPLETED"
        assert stage.clock.ticks() - before < 5
        await over([(pusher, pushing)])

    Stage().play(story)


def counted(engine: Engine, verb: str, asked: Counter[str]) -> None:
    """Count how often a verb of the store is asked for."""
    part, name = verb.split(".")
    real = getattr(getattr(engine.store, part), name)

    async def noted(*given: object, **named: object) -> object:
        asked[verb] += 1
        return await real(*given, **named)

    setattr(getattr(engine.store, part), name, noted)
