"""Synchronous tasks: what the runner promises about attempts in threads."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from tenuto.model.errors import TaskError
from tenuto.model.inputs import TaskSucceeded
from tenuto.tasks import Context, Facts, Registry, Result
from tests.kit.turns import turns
from tests.tasks.stage import TOO_LONG, stage

pytestmark = pytest.mark.asyncio


@pytest.fixture
def registry() -> Registry:
    return Registry()


class Gate:
    """Holds up threads until it is opened, and says when one has come."""

    def __init__(self) -> None:
        self.came = threading.Semaphore(0)
        self.opened = threading.Event()

    def pass_through(self) -> None:
        self.came.release()
        assert self.opened.wait(TOO_LONG)

    async def until_someone_came(self) -> None:
        assert await asyncio.to_thread(self.came.acquire, timeout=TOO_LONG)


async def test_a_synchronous_task_runs_off_the_loop(registry: Registry) -> None:
    @registry.task
    def where(order: dict[str, int]) -> dict[str, object]:
        thread = threading.current_thread()
        return {"order": order, "name": thread.name, "daemon": thread.daemon}

    async with stage(registry) as on:
        on.start("where", {"n": 1})
        output = await on.output()
        assert isinstance(output, dict)
        assert output["order"] == {"n": 1}
        assert output["daemon"] is True
        assert str(output["name"]).startswith("tenuto-task-")


async def test_the_loop_goes_on_while_a_thread_is_busy(registry: Registry) -> None:
    gate = Gate()

    @registry.task
    def busy() -> None:
        gate.pass_through()

    @registry.task
    async def quick() -> str:
        return "meanwhile"

    async with stage(registry) as on:
        on.start("busy")
        on.start("quick")
        assert await on.output(1) == "meanwhile"
        gate.opened.set()
        assert await on.output(2) is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("no"), "ValueError"),
        (TaskError("OUT_OF_STOCK"), "OUT_OF_STOCK"),
        (SystemExit(1), "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
async def test_whatever_a_thread_raises_is_its_failure(
    registry: Registry, error: BaseException, code: str
) -> None:
    @registry.task
    def fail() -> None:
        raise error

    async with stage(registry, max_threads=1) as on:
        on.start("fail", node="a")
        on.start("fail", node="b")
        assert (await on.failure(1)).code == code
        assert (await on.failure(2)).code == code


@pytest.mark.parametrize(
    ("value", "code"),
    [({1: 2}, "NOT_JSON"), ("x" * 50_000_000, "TOO_LARGE"), (Result(1, "x"), "UNKNOWN_HANDLE")],
    ids=type,
)
async def test_an_output_that_cannot_be_recorded_fails_the_attempt(
    registry: Registry, value: object, code: str
) -> None:
    @registry.task
    def give() -> object:
        return value

    async with stage(registry) as on:
        on.start("give")
        failure = await on.failure()
        assert (failure.code, failure.retryable) == (code, False)


async def test_an_input_that_does_not_fit_fails_the_attempt(registry: Registry) -> None:
    @registry.task
    def take(a: int, b: int) -> None: ...

    async with stage(registry) as on:
        on.start("take", {"a": 1})
        assert (await on.failure()).code == "INVALID_INPUT"


async def test_no_more_threads_run_than_allowed(registry: Registry) -> None:
    gate = Gate()

    @registry.task
    def busy() -> None:
        gate.pass_through()

    async with stage(registry, max_threads=2) as on:
        for number in range(5):
            on.start("busy", node=f"n{number}")
        await gate.until_someone_came()
        await gate.until_someone_came()
        assert not gate.came.acquire(blocking=False)
        gate.opened.set()
        await on.reports.until(5)


async def test_a_thread_is_used_again(registry: Registry) -> None:
    @registry.task
    def who() -> str:
        return threading.current_thread().name

    async with stage(registry) as on:
        for number in range(1, 6):
            on.start("who", node=f"n{number}")
            await on.report(number)
        assert len({r.output for r in on.reports.all if isinstance(r, TaskSucceeded)}) == 1


async def test_what_one_attempt_sets_no_other_sees(registry: Registry) -> None:
    tenant = contextvars.ContextVar("tenant", default="nobody")

    @registry.task
    def enter(name: str) -> str:
        before = tenant.get()
        tenant.set(name)
        return before

    async with stage(registry, max_threads=1) as on:
        for number in range(5):
            on.start("enter", f"t{number}", node=f"n{number}")
        reports = await on.reports.until(5)
        assert {r.output for r in reports if isinstance(r, TaskSucceeded)} == {"nobody"}


async def test_a_thread_sees_that_it_is_to_stop(registry: Registry) -> None:
    gate = Gate()

    @registry.task
    def work(ctx: Context) -> None:
        before = ctx.cancelled
        ctx.heartbeat({"percent": 1})
        gate.pass_through()
        assert (before, ctx.cancelled) == (False, True)
        try:
            ctx.heartbeat()
        except Exception:  # noqa: BLE001
            pytest.fail("a task's own handlers must not swallow it")

    async with stage(registry) as on:
        on.start("work")
        await gate.until_someone_came()
        on.stop("work")
        gate.opened.set()
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("CANCELLED", False)


async def test_a_result_after_the_word_to_stop_is_a_result(registry: Registry) -> None:
    gate = Gate()

    @registry.task
    def work() -> str:
        gate.pass_through()
        return "finished all the same"

    async with stage(registry) as on:
        on.start("work")
        await gate.until_someone_came()
        on.stop("work")
        gate.opened.set()
        assert await on.output() == "finished all the same"


SMALL, LARGE = Facts(tenant="small"), Facts(tenant="large")


async def test_a_tenant_with_many_long_tasks_leaves_threads_to_others(registry: Registry) -> None:
    gate = Gate()

    @registry.task
    def long() -> None:
        gate.pass_through()

    @registry.task
    def short() -> str:
        return "done"

    async with stage(registry, max_threads=8) as on:
        on.start("short", facts=SMALL)
        assert await on.output(1) == "done"
        for number in range(20):
            on.start("long", node=f"n{number}", facts=LARGE)
        for _ in range(7):
            await gate.until_someone_came()
        for number in range(5):
            on.start("short", node=f"s{number}", facts=SMALL)
            assert await on.output(number + 2) == "done"
        gate.opened.set()
        await on.report(26)


async def test_tenants_take_turns_for_threads(registry: Registry) -> None:
    gate = Gate()
    ran: list[str] = []

    @registry.task
    def work(name: str) -> None:
        ran.append(name)
        gate.pass_through()

    async with stage(registry, max_threads=1) as on:
        for number in range(3):
            on.start("work", "large", node=f"n{number}", facts=LARGE)
        on.start("work", "small", node="small", facts=SMALL)
        gate.opened.set()
        await on.report(4)
        assert ran == ["large", "large", "small", "large"]


async def test_stuck_threads_of_a_tenant_are_replaced_for_others(registry: Registry) -> None:
    gate = Gate()

    @registry.task
    def hang() -> None:
        gate.pass_through()

    @registry.task
    def short() -> str:
        return "done"

    async with stage(registry, max_threads=4, max_stuck_threads=4) as on:
        on.start("short", facts=SMALL)
        assert await on.output(1) == "done"
        for number in range(20):
            on.start("hang", node=f"n{number}", timeout=1, facts=LARGE)
        for timed_out in (3, 6):
            for _ in range(3):
                await gate.until_someone_came()
            on.clock.advance(1)
            await on.report(1 + timed_out)
        assert on.runner.stuck_threads == 6
        on.start("short", node="after", facts=SMALL)
        assert await on.output(8) == "done"
        gate.opened.set()
        await on.report(22)


async def test_an_attempt_that_waits_for_a_thread_is_cancelled_without_running(
    registry: Registry,
) -> None:
    gate = Gate()
    ran: list[str] = []

    @registry.task
    def work(name: str) -> None:
        ran.append(name)
        gate.pass_through()

    async with stage(registry, max_threads=1) as on:
        on.start("work", "first", node="first")
        on.start("work", "second", node="second")
        on.stop("second")
        assert (await on.failure()).code == "CANCELLED"
        gate.opened.set()
        await on.report(2)
        assert ran == ["first"]


async def test_a_thread_that_does_not_return_is_timed_out_counted_and_replaced(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()

    @registry.task
    def hang() -> str:
        gate.pass_through()
        return "too late"

    @registry.task
    def quick() -> str:
        return "done"

    async with stage(registry, max_threads=1, max_stuck_threads=1) as on:
        on.start("hang", timeout=20)
        await gate.until_someone_came()
        on.start("quick")
        on.clock.advance(20)
        failure = await on.failure(1)
        assert (failure.code, failure.retryable) == ("TIMEOUT", True)
        assert on.runner.stuck_threads == 1
        assert "'hang' does not return" in caplog.text
        assert await on.output(2) == "done"
        gate.opened.set()
        async with asyncio.timeout(TOO_LONG):
            while on.runner.stuck_threads:  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert len(on.reports.all) == 2
        on.start("quick")
        assert await on.output(3) == "done"


async def test_past_the_bound_stuck_threads_are_not_replaced_and_it_is_said_loudly(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    said: list[str] = []

    @registry.task
    def hang() -> None:
        gate.pass_through()

    @registry.task
    def quick() -> str:
        return "done"

    async with stage(registry, max_threads=1, max_stuck_threads=1, on_block=said.append) as on:
        for number in (1, 2):
            assert said == []
            on.start("hang", node=f"n{number}", timeout=20)
            await gate.until_someone_came()
            on.clock.advance(20)
            assert (await on.failure(number)).code == "TIMEOUT"
        assert on.runner.stuck_threads == 2
        on.start("quick", timeout=20)
        assert len(said) == 2
        assert "2 threads are stuck" in said[-1]
        assert "1 synchronous tasks wait" in said[-1]
        assert said[-1] in caplog.text
        on.clock.advance(100)
        await turns()
        assert len(on.reports.all) == 2, "time does not count before an attempt begins"
        gate.opened.set()
        assert await on.output(3) == "done"


async def test_a_late_thread_is_told_by_its_heartbeat(registry: Registry) -> None:
    gate = Gate()
    ended = threading.Event()

    @registry.task
    def work(ctx: Context) -> None:
        gate.pass_through()
        try:
            ctx.heartbeat()
        finally:
            ended.set()

    async with stage(registry) as on:
        on.start("work", timeout=20)
        await gate.until_someone_came()
        on.clock.advance(20)
        gate.opened.set()
        assert await asyncio.to_thread(ended.wait, TOO_LONG)
        assert (await on.failure()).code == "TIMEOUT"


async def test_a_silent_thread_is_timed_out(registry: Registry) -> None:
    gate = Gate()

    @registry.task
    def work(ctx: Context) -> None:
        ctx.heartbeat("once")
        gate.pass_through()

    async with stage(registry) as on:
        on.start("work", silence=5)
        await gate.until_someone_came()
        on.clock.advance(5)
        failure = await on.failure()
        assert failure.code == "HEARTBEAT_TIMEOUT"
        assert failure.details == {"lastHeartbeat": "once"}
        gate.opened.set()


async def test_draining_names_a_task_and_does_not_wait_for_its_thread_beyond_the_grace(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="tenuto.tasks")
    gate = Gate()

    @registry.task
    def hang() -> None:
        gate.pass_through()

    async with stage(registry) as on:
        on.start("hang")
        await gate.until_someone_came()
        draining = asyncio.ensure_future(on.runner.drain(5))
        await turns()
        assert not draining.done()
        assert "waiting up to 5 s for task 'hang' (step hang of " in caplog.text
        on.clock.advance(5)
        assert await draining == 1
        gate.opened.set()
        await turns()
        assert on.reports.all == []


async def test_threads_end_when_they_are_no_longer_needed(registry: Registry) -> None:
    threads: list[threading.Thread] = []

    @registry.task
    def quick() -> None:
        threads.append(threading.current_thread())

    async with stage(registry) as on:
        on.start("quick")
        await on.report()
        await on.runner.drain(0)
        await asyncio.to_thread(threads[0].join, TOO_LONG)
        assert not threads[0].is_alive()
