"""Built-in tasks: their executors are called, timed out, stopped and reported as tasks are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from tenuto.built_in.protocol import Call, Failed
from tenuto.model.failure import Failure
from tenuto.model.graph import Http
from tenuto.model.inputs import TaskFailed
from tenuto.model.json import JSON
from tenuto.model.task_logs import LogChunk
from tenuto.tasks import Facts, Registry
from tenuto.tasks.attempt import Key
from tenuto.tasks.context import BuiltInFacts
from tests.kit.turns import turns
from tests.tasks.stage import INSTANCE, Stage, stage

pytestmark = pytest.mark.asyncio

CONFIG = Http(url="https://a.example")
FACTS = Facts(
    traceparent="00-1-2-01",
    built_in=BuiltInFacts(
        tenant="acme", config=CONFIG, scope=lambda roots: dict.fromkeys(roots, "seen")
    ),
)


class Stand:
    """An executor whose work is a function."""

    def __init__(
        self,
        work: Callable[[Call], Coroutine[Any, Any, JSON]],
        *,
        queues: bool = False,
        calls_of_tenant: int | None = None,
    ) -> None:
        self.work = work
        self.queues = queues
        self.calls_of_tenant = calls_of_tenant

    async def run(self, call: Call) -> JSON:
        return await self.work(call)

    async def close(self) -> None: ...


async def never() -> JSON:
    """Wait for what does not come."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError


def begin(on: Stage, **fields: Any) -> None:  # noqa: ANN401
    on.start("@http", {"a": 1}, node="n", facts=FACTS, **fields)


async def test_an_executor_is_given_the_attempt_and_its_output_is_reported() -> None:
    calls: list[Call] = []

    async def work(call: Call) -> JSON:
        calls.append(call)
        return call.scope(("ctx",))

    async with stage(Registry(), executors={Http: Stand(work)}) as on:
        begin(on, iteration="2", attempt=3, timeout=7)
        assert await on.output() == {"ctx": "seen"}
    [call] = calls
    assert (call.tenant, call.config, call.given) == ("acme", CONFIG, {"a": 1})
    assert (call.step_id, call.iteration, call.attempt, call.seconds) == ("n", "2", 3, 7.0)
    assert call.idempotency_key.endswith(":n")
    assert call.traceparent == "00-1-2-01"


async def test_a_failure_is_reported_with_how_long_the_next_attempt_waits() -> None:
    failure = Failure(code="HTTP_STATUS", message="503", details={"status": 503})

    async def work(_: Call) -> JSON:
        raise Failed(failure, retry_after=timedelta(seconds=9))

    async with stage(Registry(), executors={Http: Stand(work)}) as on:
        begin(on)
        report = await on.report()
        assert isinstance(report, TaskFailed)
        assert (report.error, report.retry_after) == (failure, timedelta(seconds=9))


async def test_one_that_takes_too_long_is_cancelled_and_reported_once() -> None:
    ended: list[str] = []

    async def work(_: Call) -> JSON:
        try:
            return await never()
        finally:
            ended.append("cancelled")

    async with stage(Registry(), executors={Http: Stand(work)}) as on:
        begin(on, timeout=5)
        await turns()
        on.clock.advance(5.1)
        assert (await on.failure()).code == "TIMEOUT"
        await turns()
        assert ended == ["cancelled"]
        assert len(on.reports.all) == 1


async def test_the_time_of_one_that_waits_counts_from_when_it_begins() -> None:
    may_begin = asyncio.Event()

    async def work(call: Call) -> JSON:
        await may_begin.wait()
        call.begin(0.5)
        return await never()

    async with stage(Registry(), executors={Http: Stand(work, queues=True)}) as on:
        begin(on, timeout=5)
        await turns()
        assert on.runner.is_queued((INSTANCE, "n", "", 1))
        on.clock.advance(1000)
        assert on.reports.all == []
        may_begin.set()
        await turns()
        on.clock.advance(5.4)
        assert on.reports.all == []
        on.clock.advance(0.2)
        assert (await on.failure()).code == "TIMEOUT"


@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_stop_cancels_the_work_also_where_it_waits(has_begun: bool) -> None:
    ended: list[str] = []

    async def work(call: Call) -> JSON:
        if has_begun:
            call.begin(0)
        try:
            return await never()
        finally:
            ended.append("cancelled")

    async with stage(Registry(), executors={Http: Stand(work, queues=True)}) as on:
        begin(on)
        await turns()
        on.stop("n")
        assert (await on.failure()).code == "CANCELLED"
        await turns()
        assert ended == ["cancelled"]
        assert on.runner.in_flight == 0


async def test_one_that_waits_is_dropped_when_the_engine_stops() -> None:
    ended: list[str] = []

    async def work(_: Call) -> JSON:
        try:
            return await never()
        finally:
            ended.append("cancelled")

    async with stage(Registry(), executors={Http: Stand(work, queues=True)}) as on:
        begin(on)
        await turns()
        assert await on.runner.drain(600) == 1
        assert ended == ["cancelled"]
        assert on.reports.all == []


async def test_lines_of_the_call_are_those_of_its_attempt() -> None:
    chunks: list[LogChunk] = []

    def keep(key: Key, chunk: LogChunk) -> None:
        assert key[1] == "n"
        chunks.append(chunk)

    async def work(call: Call) -> JSON:
        call.log("warning", "one\ntwo", 2.0)
        call.log("info", "three")
        print("not of the attempt")
        return None

    async with stage(Registry(), executors={Http: Stand(work)}, lines=keep) as on:
        begin(on)
        await on.report()
        now = on.clock.now()
    [chunk] = chunks
    assert [(each.level, each.text) for each in chunk.lines] == [
        ("warning", "one"),
        ("warning", "two"),
        ("info", "three"),
    ]
    assert [now - each.at for each in chunk.lines] == [
        timedelta(seconds=2),
        timedelta(seconds=2),
        timedelta(0),
    ]


async def test_without_an_executor_the_attempt_fails() -> None:
    async with stage(Registry()) as on:
        begin(on)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("UNKNOWN_TASK", False)


async def test_no_program_can_register_the_name_of_one() -> None:
    with pytest.raises(Exception, match="built-in task"):
        Registry().task(name="@http")(lambda: None)
