"""Tasks with isolation="process": what the runner promises about attempts in child processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenuto.model.inputs import TaskSucceeded
from tenuto.model.json import Object
from tenuto.tasks import Facts, Registry, TaskFunction
from tests.kit.turns import turns
from tests.tasks.process_tasks import registry
from tests.tasks.stage import INSTANCE, TOO_LONG, Stage, stage

pytestmark = pytest.mark.asyncio

ROOT = Path(__file__).parents[2]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does, which cannot signal."""
    async with asyncio.timeout(TOO_LONG):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


async def content(mark: Path) -> str:
    await until(lambda: mark.exists() and mark.read_text() != "")
    return mark.read_text()  # noqa: ASYNC240 - a few bytes


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


async def test_a_task_runs_in_another_process_which_is_kept_for_the_next() -> None:
    async with stage(registry) as on:
        pids = set()
        for number in (1, 2, 3):
            on.start("double", number, node=f"n{number}")
            output = await on.output(number)
            assert isinstance(output, dict)
            assert output["double"] == 2 * number
            pids.add(output["pid"])
        assert len(pids) == 1
        assert os.getpid() not in pids


async def test_an_async_task_runs_in_another_process() -> None:
    async with stage(registry) as on:
        on.start("double_later", 4)
        assert await on.output() == 8


async def test_several_run_side_by_side_up_to_a_bound() -> None:
    async with stage(registry, max_processes=2) as on:
        for number in range(6):
            on.start("double", number, node=f"n{number}")
        reports = await on.reports.until(6)
        outputs = [r.output for r in reports if isinstance(r, TaskSucceeded)]
        pids = {output["pid"] for output in outputs if isinstance(output, dict)}
        assert len(outputs) == 6
        assert len(pids) <= 2


async def test_a_task_is_told_about_its_attempt() -> None:
    deadline = datetime(2026, 1, 1, tzinfo=UTC)
    outputs: Object = {"before": {"n": [1, 2**70], "text": "ä\u2028"}}
    facts = Facts(correlation_id="c", deadline=deadline, previous_outputs=lambda: outputs)
    async with stage(registry) as on:
        on.start("look", node="step", attempt=2, facts=facts)
        key = f"{INSTANCE}:step"
        told = [INSTANCE, "step", 2, key, "c", str(deadline), False, outputs]
        assert await on.output() == told


async def test_what_a_task_prints_does_not_disturb_its_answer(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with stage(registry) as on:
        on.start("shout", "hello")
        assert await on.output() == ""
        assert "hello" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("what", "code", "retryable"),
    [
        ("set", "NOT_JSON", False),
        ("large", "TOO_LARGE", False),
        ("handle", "UNKNOWN_HANDLE", False),
        ("raise", "OUT_OF_STOCK", False),
        ("exit", "SystemExit", True),
        ("other", "ValueError", True),
    ],
)
async def test_a_failure_in_a_child_is_like_any_other(
    what: str, code: str, retryable: bool
) -> None:
    async with stage(registry) as on:
        on.start("give", what)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == (code, retryable)


async def test_a_child_answers_with_a_handle() -> None:
    async with stage(registry) as on:
        on.start("give", "handle", handles=("fast",))
        report = await on.report()
        assert isinstance(report, TaskSucceeded)
        assert (report.output, report.handle) == ({"n": 1}, "fast")


async def test_an_input_that_does_not_fit_fails_the_attempt() -> None:
    async with stage(registry) as on:
        on.start("take", {"a": 1})
        failure = await on.failure()
        assert failure.code == "INVALID_INPUT"
        assert '"b" is a required property at $' in failure.message


@pytest.mark.parametrize(
    ("how", "said"), [("exit", "exit code 3"), ("segfault", "SIGSEGV"), ("kill", "SIGKILL")]
)
async def test_a_child_that_ends_by_itself_fails_the_attempt_and_is_replaced(
    how: str, said: str
) -> None:
    async with stage(registry, max_processes=1) as on:
        on.start("die", how)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("PROCESS_DIED", True)
        assert said in failure.message
        on.start("double_later", 4)
        assert await on.output(2) == 8


async def test_a_child_that_died_while_idle_is_replaced() -> None:
    async with stage(registry, max_processes=1) as on:
        on.start("double", 1, node="a")
        output = await on.output()
        assert isinstance(output, dict)
        pid = output["pid"]
        assert isinstance(pid, int)
        os.kill(pid, 9)
        await until(lambda: is_gone(pid))
        on.start("double_later", 4)
        assert await on.output(2) == 8


async def test_a_child_that_never_returns_is_killed_at_its_time_out(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    async with stage(registry, max_processes=1) as on:
        on.start("hang", str(mark), timeout=20)
        pid = int(await content(mark))
        await turns()
        on.clock.advance(20)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("TIMEOUT", True)
        await until(lambda: is_gone(pid))
        on.start("double_later", 4)
        assert await on.output(2) == 8


async def test_a_kill_reaches_what_the_task_has_started(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    async with stage(registry) as on:
        on.start("hang_with_child", str(mark), timeout=20)
        pids = [int(pid) for pid in (await content(mark)).split()]
        await turns()
        on.clock.advance(20)
        assert (await on.failure()).code == "TIMEOUT"
        for pid in pids:
            await until(lambda pid=pid: is_gone(pid))  # type: ignore[misc]


async def test_a_silent_child_is_timed_out_and_killed(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    async with stage(registry) as on:
        on.start("hang", str(mark), silence=5)
        pid = int(await content(mark))
        await turns()
        on.clock.advance(5)
        assert (await on.failure()).code == "HEARTBEAT_TIMEOUT"
        await until(lambda: is_gone(pid))


async def until_heartbeat(on: Stage) -> None:
    [attempt] = on.runner._attempts.values()
    await until(lambda: attempt.details == "ready")


@pytest.mark.parametrize("task_id", ["obey", "obey_later"])
async def test_a_child_that_is_told_to_stop_may_obey(task_id: str) -> None:
    async with stage(registry) as on:
        on.start(task_id)
        await until_heartbeat(on)
        on.stop(task_id)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("CANCELLED", False)
        on.start("double_later", 4)
        assert await on.output(2) == 8


async def test_a_child_that_does_not_obey_is_killed_after_the_grace(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    async with stage(registry) as on:
        on.start("hang", str(mark))
        pid = int(await content(mark))
        on.stop("hang", grace=3)
        on.clock.advance(2.9)
        await turns()
        assert on.reports.all == []
        on.clock.advance(0.2)
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("CANCELLED", False)
        await until(lambda: is_gone(pid))


async def test_a_child_that_is_still_coming_up_never_begins_what_was_stopped(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "pid"
    async with stage(registry) as on:
        on.start("hang", str(mark))
        on.stop("hang")
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("CANCELLED", False)
        assert not mark.exists()
        on.start("double_later", 4)
        assert await on.output(2) == 8


async def test_an_attempt_that_waits_for_a_process_is_cancelled_without_running(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "pid"
    async with stage(registry, max_processes=1) as on:
        on.start("hang", str(mark), node="first")
        on.start("double", 1, node="second")
        on.stop("second")
        assert (await on.failure()).code == "CANCELLED"
        await content(mark)


async def test_large_values_pass_through_the_pipes() -> None:
    text = "ä" * 400_000
    outputs: Object = {"before": text}
    async with stage(registry) as on:
        on.start("echo", text, facts=Facts(previous_outputs=lambda: outputs))
        assert await on.output() == len(text) * 2


async def test_what_one_attempt_sets_no_other_sees() -> None:
    async with stage(registry, max_processes=1) as on:
        for number in (1, 2):
            on.start("enter", f"t{number}", node=f"n{number}")
            assert await on.output(number) == "nobody"


async def test_draining_ends_every_child(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    async with stage(registry) as on:
        on.start("double", 1)
        output = await on.output()
        assert isinstance(output, dict)
        idle = output["pid"]
        assert isinstance(idle, int)
        on.start("hang", str(mark))
        busy = int(await content(mark))
        draining = asyncio.ensure_future(on.runner.drain(0))
        await turns()
        on.clock.advance(0)
        assert await draining == 1
        assert is_gone(idle)
        assert is_gone(busy)
        assert len(on.reports.all) == 1


async def test_a_function_that_no_child_can_find_is_a_clear_failure() -> None:
    async def lost() -> None: ...

    lost.__qualname__ = "not_there_at_all"
    own = Registry()
    own.add(TaskFunction(lost, isolation="process"))
    async with stage(own) as on:
        on.start("lost")
        failure = await on.failure()
        assert (failure.code, failure.retryable) == ("NOT_IMPORTABLE", False)
        assert "does not have it" in failure.message


SCRIPT = """
import asyncio, os, sys
from datetime import timedelta
from tenuto.model.effects import StartAttempt
from tenuto.model.policy import Limits
from tenuto.ports import SystemClock
from tenuto.tasks import Facts, Runner, task, DEFAULT_REGISTRY

@task(isolation="process")
def work(what):
    if what == "hang":
        print(os.getpid(), flush=True)
        while True: pass
    return [__name__, os.getpid() != PARENT if "PARENT" in globals() else True]

async def main():
    ended = asyncio.Event()
    def report(instance_id, report):
        print(report.output, flush=True)
        ended.set()
    runner = Runner(DEFAULT_REGISTRY, SystemClock(), report, limits=Limits())
    runner.start("i", StartAttempt(
        node="n", iteration="", attempt=1, task_id="work", input=sys.argv[1], idempotency_key="k",
        timeout=timedelta(minutes=1), heartbeat_timeout=None, handles=()), Facts())
    await ended.wait()
    await runner.drain(0)

if __name__ == "__main__":
    PARENT = os.getpid()
    asyncio.run(main())
"""


async def test_functions_of_a_script_are_found(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    for command in ([str(script)], ["-m", "script"]):
        ended = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, *command, "answer"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=TOO_LONG,
        )
        assert ended.stderr == ""
        name = "__tenuto_main__" if command == [str(script)] else "script"
        assert ended.stdout == f"['{name}', True]\n"


async def test_a_child_does_not_outlive_its_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(  # noqa: ASYNC220 - it is killed, not awaited
        [sys.executable, str(script), "hang"], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(await asyncio.to_thread(parent.stdout.readline))
        assert not is_gone(pid)
        parent.kill()
        await until(lambda: is_gone(pid))
