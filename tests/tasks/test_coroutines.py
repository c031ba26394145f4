"""Asynchronous tasks: what the runner promises about attempts in the event loop."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest
from msgspec.structs import replace

from tenuto.model.errors import TaskError
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON, Object
from tenuto.ports import SystemClock
from tenuto.tasks import Cancelled, Context, Facts, Registry, Result, Runner
from tests.kit.turns import turns
from tests.tasks.stage import INSTANCE, LIMITS, TOO_LONG, Reports, order, stage

pytestmark = pytest.mark.asyncio


@pytest.fixture
def registry() -> Registry:
    return Registry()


async def test_an_attempt_is_reported_with_its_place_and_output(registry: Registry) -> None:
    @registry.task
    async def double(number: int) -> int:
        return number * 2

    async with stage(registry) as on:
        on.start("double", 4, node="step", iteration="2/0", attempt=3)
        assert on.reports.all == []
        assert on.runner.in_flight == 1
        report = await on.report()
        assert replace(report, execution_time=None) == TaskSucceeded(
            node="step", attempt=3, output=8, iteration="2/0", handle="default"
        )
        assert report.execution_time is not None
        assert on.runner.in_flight == 0


async def test_a_failure_is_reported_with_its_place_and_code(registry: Registry) -> None:
    @registry.task
    async def fail() -> None:
        raise TaskError("OUT_OF_STOCK", "none left", retryable=False)

    async with stage(registry) as on:
        on.start("fail", node="step", iteration="1", attempt=2)
        report = await on.report()
        assert isinstance(report, TaskFailed)
        assert (report.node, report.iteration, report.attempt) == ("step", "1", 2)
        assert (report.error.code, report.error.retryable) == ("OUT_OF_STOCK", False)


async def test_an_unknown_task_fails_with_its_nearest_names(registry: Registry) -> None:
    @registry.task
    async def charge() -> None: ...

    async with stage(registry) as on:
        on.start("chagre")
        assert on.reports.all == []
        failure = await on.failure()
        assert failure.code == "UNKNOWN_TASK"
        assert failure.message == "no task is registered as 'chagre'; did you mean 'charge'?"
        assert not failure.retryable


async def test_an_input_that_does_not_fit_fails_the_attempt(registry: Registry) -> None:
    @registry.task
    async def take(a: int, b: int) -> None: ...

    async with stage(registry) as on:
        on.start("take", {"a": 1})
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("INVALID_INPUT", False)


@pytest.mark.parametrize(
    ("value", "code"), [({"a": {1, 2}}, "NOT_JSON"), ("x" * 50_000_000, "TOO_LARGE")], ids=type
)
async def test_an_output_that_cannot_be_recorded_fails_the_attempt(
    registry: Registry, value: object, code: str
) -> None:
    @registry.task
    async def give() -> object:
        return value

    async with stage(registry) as on:
        on.start("give")
        failure = await on.failure()
        assert (failure.code, failure.retryable) == (code, False)


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), Cancelled()])
async def test_what_would_end_a_program_ends_only_the_attempt(
    registry: Registry, error: BaseException
) -> None:
    @registry.task
    async def end() -> None:
        raise error

    @registry.task
    async def go_on() -> str:
        return "still here"

    async with stage(registry) as on:
        on.start("end")
        on.start("go_on")
        assert (await on.failure(1)).code == type(error).__name__
        assert await on.output(2) == "still here"


async def test_a_task_answers_with_a_handle_of_its_node(registry: Registry) -> None:
    @registry.task
    async def choose(handle: str) -> Result:
        return Result({"chosen": handle}, handle=handle)

    async with stage(registry) as on:
        on.start("choose", "cheap", handles=("cheap", "fast"))
        report = await on.report(1)
        assert isinstance(report, TaskSucceeded)
        assert (report.handle, report.output) == ("cheap", {"chosen": "cheap"})
        on.start("choose", "slow", handles=("cheap", "fast"))
        failure = await on.failure(2)
        assert failure.code == "UNKNOWN_HANDLE"
        assert "'slow'; this node has default, error, cheap, fast" in failure.message


async def test_a_task_is_told_about_its_attempt(registry: Registry) -> None:
    outputs: Object = {"before": {"n": [1]}}

    @registry.task
    async def look(ctx: Context) -> JSON:
        ctx.heartbeat("alive")
        ctx.previous_outputs["before"]["n"].append(2)  # type: ignore[index,call-overload,union-attr]
        return [
            ctx.instance_id,
            ctx.step_id,
            ctx.attempt,
            ctx.idempotency_key,
            ctx.correlation_id,
            ctx.deadline is None,
            ctx.cancelled,
            ctx.previous_outputs,
        ]

    async with stage(registry) as on:
        facts = Facts(correlation_id="c", previous_outputs=lambda: outputs)
        on.start("look", node="step", attempt=2, facts=facts)
        key = f"{INSTANCE}:step"
        changed: JSON = {"before": {"n": [1, 2]}}
        assert await on.output() == [INSTANCE, "step", 2, key, "c", True, False, changed]
        assert outputs == {"before": {"n": [1]}}


async def test_an_attempt_in_flight_is_not_started_again(registry: Registry) -> None:
    runs: list[int] = []
    go = asyncio.Event()

    @registry.task
    async def once() -> None:
        runs.append(1)
        await go.wait()

    async with stage(registry) as on:
        on.start("once")
        on.start("once")
        await turns()
        on.start("once")
        go.set()
        await on.report()
        await turns()
        assert (len(runs), len(on.reports.all)) == (1, 1)


async def test_tasks_that_suspend_do_not_hold_up_the_others(registry: Registry) -> None:
    go = asyncio.Event()

    @registry.task
    async def slow() -> None:
        await go.wait()

    @registry.task
    async def quick() -> None: ...

    async with stage(registry) as on:
        for number in range(50):
            on.start("slow", node=f"slow{number}")
            on.start("quick", node=f"quick{number}")
        reports = await on.reports.until(50)
        assert {report.node for report in reports} == {f"quick{n}" for n in range(50)}
        go.set()
        await on.reports.until(100)


async def test_ten_thousand_suspended_at_once(registry: Registry) -> None:
    go = asyncio.Event()
    all_begun = asyncio.Event()
    begun = 0

    @registry.task
    async def wait() -> None:
        nonlocal begun
        begun += 1
        if begun == 10_000:
            all_begun.set()
        await go.wait()
        await asyncio.sleep(0)

    async with stage(registry) as on:
        for number in range(10_000):
            on.start("wait", node=f"n{number}")
        async with asyncio.timeout(TOO_LONG):
            await all_begun.wait()
        assert on.reports.all == []
        go.set()
        reports = await on.reports.until(10_000)
        assert len({report.node for report in reports}) == 10_000


async def test_many_that_never_suspend_let_the_loop_breathe(registry: Registry) -> None:
    @registry.task
    async def quick() -> None: ...

    async with stage(registry) as on:
        for number in range(5_000):
            on.start("quick", node=f"n{number}")
        breaths = 0
        while len(on.reports.all) < 5_000:
            breaths += 1
            await asyncio.sleep(0)
        assert breaths > 10


async def test_what_one_attempt_sets_no_other_sees(registry: Registry) -> None:
    tenant = contextvars.ContextVar("tenant", default="nobody")

    @registry.task
    async def enter(name: str) -> str:
        before = tenant.get()
        tenant.set(name)
        return before

    async with stage(registry) as on:
        tenant.set("whoever starts it")
        for number in range(20):
            on.start("enter", f"t{number}", node=f"n{number}")
        reports = await on.reports.until(20)
        assert {r.output for r in reports if isinstance(r, TaskSucceeded)} == {"nobody"}


async def test_a_report_that_is_not_taken_harms_nobody_else(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    @registry.task
    async def quick() -> None: ...

    async with stage(registry) as on:
        taken = on.runner._report

        def refuse_first(instance_id: str, report: Any) -> None:  # noqa: ANN401
            on.runner._report = taken
            raise RuntimeError("not now")

        on.runner._report = refuse_first
        on.start("quick", node="a")
        on.start("quick", node="b")
        assert (await on.report()).node == "b"
        assert "not taken" in caplog.text


async def test_a_task_that_is_told_to_stop_is_cancelled(registry: Registry) -> None:
    begun = asyncio.Event()
    cleaned: list[str] = []

    @registry.task
    async def wait(ctx: Context) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            assert ctx.cancelled
            cleaned.append("up")

    async with stage(registry) as on:
        on.start("wait")
        await begun.wait()
        on.stop("wait")
        on.stop("wait")
        assert on.reports.all == []
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("CANCELLED", False)
        assert cleaned == ["up"]
        on.stop("wait")


async def test_a_result_after_the_word_to_stop_is_a_result(registry: Registry) -> None:
    begun = asyncio.Event()

    @registry.task
    async def finish() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "finished all the same"
        raise AssertionError

    async with stage(registry) as on:
        on.start("finish")
        await begun.wait()
        on.stop("finish")
        assert await on.output() == "finished all the same"


async def test_a_failure_after_the_word_to_stop_is_that_failure(registry: Registry) -> None:
    begun = asyncio.Event()

    @registry.task
    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise TaskError("ROLLBACK_FAILED")

    async with stage(registry) as on:
        on.start("wait")
        await begun.wait()
        on.stop("wait")
        assert (await on.failure()).code == "ROLLBACK_FAILED"


async def test_an_attempt_that_has_not_begun_is_cancelled_without_running(
    registry: Registry,
) -> None:
    @registry.task
    async def run() -> None:
        pytest.fail("it ran")

    async with stage(registry) as on:
        on.start("run")
        on.stop("run")
        assert on.reports.all == []
        assert (await on.failure()).code == "CANCELLED"


async def test_heartbeats_of_a_task_that_is_to_stop_raise(registry: Registry) -> None:
    @registry.task
    async def work(ctx: Context) -> None:
        on.stop("work")
        assert ctx.cancelled
        try:
            ctx.heartbeat()
        except Exception:  # noqa: BLE001
            pytest.fail("a task's own handlers must not swallow it")

    async with stage(registry) as on:
        on.start("work")
        assert (await on.failure()).code == "CANCELLED"


async def test_a_task_that_stops_itself_leaves_its_runner_fit(registry: Registry) -> None:
    """The cancellation is still under way when the attempt ends: it must hit nobody else."""

    @registry.task
    async def work() -> str:
        on.stop("work")
        return "done"

    @registry.task
    async def other() -> str:
        await asyncio.sleep(0)
        return "untouched"

    async with stage(registry) as on:
        on.start("work")
        for number in range(5):
            on.start("other", node=f"n{number}")
        assert await on.output() == "done"
        for number in range(2, 7):
            assert await on.output(number) == "untouched"


async def test_a_cancelled_error_of_the_task_s_own_is_a_failure(registry: Registry) -> None:
    @registry.task
    async def await_cancelled() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async with stage(registry) as on:
        on.start("await_cancelled")
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("CancelledError", True)


async def test_a_task_that_cancels_itself_fails_once_the_loop_is_seen_to_live_on(
    registry: Registry,
) -> None:
    @registry.task
    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    @registry.task
    async def quick() -> None: ...

    async with stage(registry) as on:
        on.start("give_up")
        await turns()
        assert on.reports.all == []
        on.clock.advance(1)
        assert (await on.failure()).code == "CancelledError"
        on.start("quick")
        assert await on.output(2) is None


def reports_of_a_loop_that_is_ended_from_outside(registry: Registry) -> list[object]:

    @registry.task
    async def wait() -> None:
        await asyncio.Event().wait()

    async def main() -> Reports:
        reports = Reports()
        runner = Runner(registry, SystemClock(), reports, limits=LIMITS)
        runner.start(INSTANCE, order("wait"), Facts())
        await turns()
        return reports

    return list(asyncio.run(main()).all)


async def test_attempts_lost_with_their_loop_are_not_reported_as_failed(
    registry: Registry,
) -> None:
    reports = await asyncio.to_thread(reports_of_a_loop_that_is_ended_from_outside, registry)
    assert reports == []


async def test_user_code_may_use_timeouts_and_groups(registry: Registry) -> None:
    @registry.task
    async def careful(number: int) -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        with pytest.raises(ExceptionGroup):  # noqa: PT012
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(0))
                raise ValueError
        return f"caught {number}"

    async with stage(registry) as on:
        for number in range(10):
            on.start("careful", number, node=f"n{number}")
        reports = await on.reports.until(10)
        outputs = {r.output for r in reports if isinstance(r, TaskSucceeded)}
        assert outputs == {f"caught {number}" for number in range(10)}


async def test_draining_waits_for_what_runs_and_drops_what_has_not_begun(
    registry: Registry,
) -> None:
    go = asyncio.Event()

    @registry.task
    async def wait() -> str:
        await go.wait()
        return "in time"

    async with stage(registry) as on:
        on.start("wait", node="running")
        await turns()
        draining = asyncio.ensure_future(on.runner.drain(5))
        on.start("wait", node="queued")
        await turns()
        on.start("wait", node="new")
        assert not draining.done()
        go.set()
        assert await draining == 1
        assert [report.node for report in on.reports.all] == ["running"]


async def test_draining_ends_what_runs_too_long_without_a_report(registry: Registry) -> None:
    ended: list[str] = []

    @registry.task
    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async with stage(registry) as on:
        on.start("wait", node="a")
        on.start("wait", node="b")
        await turns()
        draining = asyncio.ensure_future(on.runner.drain(5))
        await turns()
        on.clock.advance(5)
        assert await draining == 2
        assert ended == ["cancelled", "cancelled"]
        assert on.reports.all == []
        assert on.runner.in_flight == 0
        assert on.clock.timers == 0
        assert await on.runner.drain(5) == 0


@pytest.mark.slow
async def test_a_task_that_ignores_every_cancellation_does_not_keep_the_process() -> None:
    registry = Registry()
    go = asyncio.Event()

    @registry.task
    async def deaf() -> None:
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue

    async with stage(registry) as on:
        on.start("deaf")
        await turns()
        draining = asyncio.ensure_future(on.runner.drain(0))
        await turns()
        on.clock.advance(1)
        assert await draining == 1
        here = asyncio.current_task()
        assert {task for task in asyncio.all_tasks() if task is not here} == set()
        go.set()
        await turns()
