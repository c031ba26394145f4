"""Attempts that take too long or fall silent."""

from __future__ import annotations

import asyncio

import pytest

from tenuto.tasks import Context, Registry
from tests.kit.turns import turns
from tests.tasks.stage import stage

pytestmark = pytest.mark.asyncio


@pytest.fixture
def registry() -> Registry:
    return Registry()


async def test_a_task_that_never_returns_is_timed_out(registry: Registry) -> None:
    ended: list[str] = []

    @registry.task
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async with stage(registry) as on:
        on.start("wait", timeout=20)
        await turns()
        on.clock.advance(19.9)
        assert on.reports.all == []
        on.clock.advance(0.1)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("TIMEOUT", True)
        assert failure.message == "the task did not end within 20 s"
        await turns()
        assert ended == ["cancelled"]
        assert on.runner.stuck_coroutines == 0


async def test_time_counts_from_when_an_attempt_begins(registry: Registry) -> None:
    @registry.task
    async def wait() -> None:
        await asyncio.Event().wait()

    async with stage(registry) as on:
        on.start("wait", timeout=20)
        on.clock.advance(100)
        await turns()
        assert on.reports.all == []
        on.clock.advance(20)
        assert (await on.failure()).code == "TIMEOUT"


async def test_a_task_that_ignores_cancellation_is_timed_out_at_once_and_once(
    registry: Registry,
) -> None:
    go = asyncio.Event()

    @registry.task
    async def deaf() -> str:
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    @registry.task
    async def quick() -> None: ...

    async with stage(registry) as on:
        on.start("deaf", timeout=20)
        await turns()
        on.clock.advance(20)
        assert len(on.reports.all) == 1
        assert (await on.failure()).code == "TIMEOUT"
        await turns()
        assert on.runner.stuck_coroutines == 1
        assert on.runner.in_flight == 0
        on.start("quick")
        assert await on.output(2) is None
        go.set()
        await turns()
        assert on.runner.stuck_coroutines == 0
        assert len(on.reports.all) == 2


async def test_the_next_attempt_runs_while_the_late_one_still_does(registry: Registry) -> None:
    go = asyncio.Event()

    @registry.task
    async def deaf(ctx: Context) -> int:
        while ctx.attempt == 1 and not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        return ctx.attempt

    async with stage(registry) as on:
        on.start("deaf", timeout=20, attempt=1)
        await turns()
        on.clock.advance(20)
        on.start("deaf", timeout=20, attempt=2)
        assert await on.output(2) == 2
        go.set()
        await turns()
        assert len(on.reports.all) == 2


async def test_each_attempt_has_its_own_time(registry: Registry) -> None:
    @registry.task
    async def wait() -> None:
        await asyncio.Event().wait()

    async with stage(registry) as on:
        on.start("wait", node="long", timeout=30)
        await turns()
        on.clock.advance(5)
        on.start("wait", node="short", timeout=10)
        on.start("wait", node="longest", timeout=600)
        await turns()
        on.clock.advance(10)
        assert [report.node for report in on.reports.all] == ["short"]
        on.clock.advance(15)
        assert [report.node for report in on.reports.all] == ["short", "long"]


async def test_silence_is_timed_out_with_the_last_words(registry: Registry) -> None:
    contexts: list[Context] = []

    @registry.task
    async def work(ctx: Context) -> None:
        contexts.append(ctx)
        await asyncio.Event().wait()

    async with stage(registry) as on:
        on.start("work", silence=5)
        await turns()
        for percent in range(5):
            on.clock.advance(4)
            contexts[0].heartbeat({"percent": percent})
        on.clock.advance(4.9)
        assert on.reports.all == []
        on.clock.advance(0.1)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("HEARTBEAT_TIMEOUT", True)
        assert failure.message == "the task gave no heartbeat for 5 s"
        assert failure.details == {"lastHeartbeat": {"percent": 4}}


async def test_the_whole_time_counts_although_the_heart_beats(registry: Registry) -> None:
    contexts: list[Context] = []

    @registry.task
    async def work(ctx: Context) -> None:
        contexts.append(ctx)
        await asyncio.Event().wait()

    async with stage(registry) as on:
        on.start("work", silence=5, timeout=12)
        await turns()
        for _ in range(3):
            on.clock.advance(4)
            contexts[0]._link.beat(None)  # type: ignore[union-attr]
        assert (await on.failure()).code == "TIMEOUT"


async def test_no_timer_is_left_when_nothing_runs(registry: Registry) -> None:
    @registry.task
    async def quick() -> None: ...

    async with stage(registry) as on:
        for number in range(100):
            on.start("quick", node=f"n{number}")
        await on.reports.until(100)
        assert on.clock.timers == 0


async def test_a_thousand_late_ones_are_found_in_few_looks(registry: Registry) -> None:
    @registry.task
    async def wait() -> None:
        await asyncio.Event().wait()

    async with stage(registry) as on:
        for number in range(1000):
            on.start("wait", node=f"n{number}", timeout=10)
            await turns(2)
            on.clock.advance(0.000_01)
        looks = 0
        look = on.runner._deadlines._look

        def counted() -> None:
            nonlocal looks
            looks += 1
            look()

        on.runner._deadlines._look = counted  # type: ignore[method-assign]
        on.clock.advance(11)
        assert len(on.reports.all) == 1000
        assert looks < 10
        await turns()
