"""The processes of a sandbox: of one tenant each, bounded, shared fairly, and gone at the end."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tenuto.model.json import JSON
from tenuto.sandbox import confined_process, pool
from tenuto.sandbox.confined_process import start_process
from tenuto.sandbox.messages import Confinement
from tenuto.sandbox.outcomes import FetchRequest, FetchResponse
from tenuto.tasks.child_process import ChildDied, ChildProcess, niceness
from tests.javascript.stage import PATIENT, SHORT, failure, is_there, sandbox, value

pytestmark = pytest.mark.asyncio

TOO_LONG = 30.0


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does, which cannot signal."""
    async with asyncio.timeout(TOO_LONG):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


class Gate:
    """Holds calls that request something."""

    def __init__(self) -> None:
        self.held = 0
        self.is_open = asyncio.Event()

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        self.held += 1
        await self.is_open.wait()
        return FetchResponse(status=200, url=request.url, body="1")


HOLDS = "await fetch('https://held.example'); return 1"


async def test_a_process_serves_calls_of_one_tenant_one_after_the_other() -> None:
    async with sandbox(spares=1) as box:
        await box.run("return 1", tenant="a", limits=PATIENT)
        first = set(box.pids)
        for _ in range(20):
            await box.run("return 1", tenant="a", limits=PATIENT)
        assert first <= set(box.pids)
        assert box.figures().started <= 2


@pytest.mark.slow
async def test_no_process_ever_serves_two_tenants() -> None:
    async with sandbox(processes=1, of_tenant=1, spares=1) as box:
        for tenant in ("a", "b", "a", "b", "c"):
            assert value(await box.run("return 1", tenant=tenant, limits=PATIENT)) == 1
        # Each change of the tenant costs a process.
        assert box.figures().replaced == 4
        assert box.figures().started >= 5


class Priorities:
    """What a process computes, and its priority, as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, may_rise: bool) -> None:
        self.computed = 0.0
        self.set: list[int] = []
        self._may_rise = may_rise
        monkeypatch.setattr(ChildProcess, "set_niceness", self._set)
        monkeypatch.setattr(confined_process, "_LOOK_SECONDS", 0.001)
        monkeypatch.setattr(confined_process, "_processor_seconds", self._tell)

    def _set(self, niceness: int) -> bool:
        is_raised = bool(self.set) and niceness < self.set[-1]
        self.set.append(niceness)
        return self._may_rise or not is_raised

    def _tell(self, _: int) -> float:
        self.computed += 0.03
        return self.computed


@pytest.mark.parametrize("may_rise", [True, False])
async def test_code_that_computes_for_long_goes_after_that_of_others(
    monkeypatch: pytest.MonkeyPatch, *, may_rise: bool
) -> None:
    """Where the service may not raise a priority, the process is replaced after the call."""
    gate, priorities = Gate(), Priorities(monkeypatch, may_rise=may_rise)
    async with sandbox(processes=1, of_tenant=1, spares=0) as box:
        first = asyncio.ensure_future(box.run(HOLDS, tenant="a", fetch=gate.fetch, limits=PATIENT))
        await until(lambda: niceness(5) in priorities.set)
        [pid] = box.pids
        gate.is_open.set()
        assert value(await first) == 1
        assert priorities.set[-1] == niceness()
        assert (pid in box.pids) == may_rise
        assert box.figures().replaced == (not may_rise)


async def test_processes_are_bounded_and_calls_wait() -> None:
    gate = Gate()
    async with sandbox(processes=2, of_tenant=2, spares=1) as box:
        calls = [
            asyncio.ensure_future(box.run(HOLDS, tenant="a", fetch=gate.fetch, limits=PATIENT))
            for _ in range(5)
        ]
        await until(lambda: gate.held == 2)
        await until(lambda: box.figures().spare == 1)
        figures = box.figures()
        assert (figures.busy, figures.waiting) == (2, 3)
        assert len(box.pids) == 3
        gate.is_open.set()
        assert [value(each) for each in await asyncio.gather(*calls)] == [1] * 5


async def test_a_tenant_with_many_calls_leaves_processes_to_others() -> None:
    gate = Gate()
    async with sandbox(processes=2, of_tenant=1, spares=1) as box:
        held = [
            asyncio.ensure_future(box.run(HOLDS, tenant="large", fetch=gate.fetch, limits=PATIENT))
            for _ in range(10)
        ]
        await until(lambda: gate.held == 1)
        assert value(await box.run("return 1", tenant="small", limits=PATIENT)) == 1
        gate.is_open.set()
        await asyncio.gather(*held)


async def test_tenants_take_turns() -> None:
    gate = Gate()
    ended: list[str] = []

    async def call(tenant: str, code: str = "return 1") -> None:
        await box.run(code, tenant=tenant, fetch=gate.fetch, limits=PATIENT)
        ended.append(tenant)

    async with sandbox(processes=1, of_tenant=1, spares=1, slice=0.0) as box:
        calls = [asyncio.ensure_future(call("large", HOLDS))]
        await until(lambda: gate.held == 1)
        calls += [asyncio.ensure_future(call("large")) for _ in range(10)]
        calls += [asyncio.ensure_future(call("small"))]
        await until(lambda: (box.figures().waiting, box.figures().spare) == (11, 1))
        gate.is_open.set()
        await asyncio.gather(*calls)
        # It came last, and is served when the process of the other has had its time.
        assert ended.index("small") <= 2


async def test_a_call_that_waits_has_no_copy_of_what_it_will_see() -> None:
    """Thousands may wait, each for a megabyte."""
    gate, made = Gate(), list[str]()

    def scope() -> dict[str, JSON]:
        made.append("ctx")
        return {"ctx": {"n": 7}}

    async with sandbox(processes=1, of_tenant=1, spares=0) as box:
        running = asyncio.ensure_future(
            box.run(HOLDS, tenant="a", limits=PATIENT, fetch=gate.fetch)
        )
        await until(lambda: gate.held == 1)
        waiting = asyncio.ensure_future(
            box.run("return ctx.n", tenant="a", limits=PATIENT, scope=scope)
        )
        await until(lambda: box.figures().waiting == 1)
        assert made == []
        gate.is_open.set()
        assert value(await waiting) == 7
        assert value(await running) == 1


async def test_a_call_whose_values_cannot_be_made_keeps_no_process() -> None:
    def scope() -> dict[str, JSON]:
        raise LookupError("nothing is there")

    async with sandbox(processes=1, of_tenant=1, spares=0) as box:
        with pytest.raises(LookupError):
            await box.run("return 1", tenant="a", limits=PATIENT, scope=scope)
        assert value(await box.run("return 2", tenant="a", limits=PATIENT)) == 2


async def test_a_cancelled_call_ends_its_process_and_one_that_waits_leaves_the_queue() -> None:
    async with sandbox(processes=1, of_tenant=1, spares=0) as box:
        running = asyncio.ensure_future(box.run("for (;;);", tenant="a", limits=PATIENT))
        await until(lambda: box.figures().busy == 1)
        [pid] = box.pids
        waiting = asyncio.ensure_future(box.run("return 2", tenant="a", limits=PATIENT))
        await until(lambda: box.figures().waiting == 1)
        waiting.cancel()
        running.cancel()
        await asyncio.gather(waiting, running, return_exceptions=True)
        assert box.figures().waiting == 0
        await until(lambda: not is_there(pid))
        assert value(await box.run("return 3", tenant="a", limits=PATIENT)) == 3


async def test_a_killed_process_fails_its_call_and_no_other() -> None:
    gate = Gate()
    async with sandbox() as box:
        held = asyncio.ensure_future(box.run(HOLDS, fetch=gate.fetch, limits=PATIENT))
        await until(lambda: gate.held == 1)
        killed = set(box.pids)
        for pid in killed:
            os.kill(pid, signal.SIGSEGV)
        found = failure(await held)
        assert (found.code, found.retryable) == ("PROCESS_DIED", True)
        assert found.message == "the process that ran the code has ended: signal SIGSEGV"
        await until(lambda: killed.isdisjoint(box.pids))
        assert value(await box.run("return 1", limits=PATIENT)) == 1


async def test_a_process_that_dies_while_idle_is_replaced() -> None:
    async with sandbox(spares=1) as box:
        await box.run("return 1", limits=PATIENT)
        for pid in box.pids:
            os.kill(pid, signal.SIGKILL)
            await until(lambda pid=pid: not is_there(pid))  # type: ignore[misc]
        assert value(await box.run("return 1", limits=PATIENT)) == 1


@pytest.mark.slow
async def test_a_process_is_replaced_after_so_many_calls() -> None:
    async with sandbox(calls=3, processes=1, of_tenant=1, spares=0) as box:
        for _ in range(7):
            assert value(await box.run("return 1", limits=PATIENT)) == 1
        assert box.figures().started == 3


async def test_a_service_with_thousands_of_descriptors_has_a_sandbox() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        async with sandbox() as box:
            assert value(await box.run("return 1", limits=PATIENT)) == 1
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_process_without_calls_is_ended_after_a_while() -> None:
    async with sandbox(idle=0.05, spares=0) as box:
        assert value(await box.run("return 1", limits=PATIENT)) == 1
        await until(lambda: box.pids == ())
        assert value(await box.run("return 2", limits=PATIENT)) == 2


async def test_processes_are_started_ahead() -> None:
    async with sandbox(spares=1) as box:
        box.start()
        await until(lambda: box.figures().spare == 1)
        assert box.figures().calls == 0


@pytest.mark.slow
async def test_processes_that_are_killed_in_the_midst_leave_nothing_behind() -> None:
    async with sandbox() as box:
        seen: set[int] = set()
        for _ in range(3):
            assert failure(await box.run("for (;;);", limits=SHORT)).code == "TIMEOUT"
            seen |= set(box.pids)
        current = set(box.pids)
        await until(lambda: not any(map(is_there, seen - current)))


_PARENT = """
import asyncio, sys
from tenuto.sandbox.sandbox import Sandbox

async def main():
    sandbox = Sandbox()
    call = asyncio.ensure_future(sandbox.run("for (;;);"))
    while not sandbox.figures().busy:
        await asyncio.sleep(0.01)
    print(*sandbox.pids, flush=True)
    await call

asyncio.run(main())
"""


@pytest.mark.slow
async def test_processes_die_with_their_parent_in_the_midst_of_a_call() -> None:
    parent = subprocess.Popen(  # noqa: ASYNC220 - it is killed below
        [sys.executable, "-c", _PARENT],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with parent:
        assert parent.stdout is not None
        pids = [int(each) for each in (await asyncio.to_thread(parent.stdout.readline)).split()]
        assert pids
        parent.kill()
    await until(lambda: not any(map(is_there, pids)))


async def test_the_engine_is_never_in_the_service() -> None:
    program = "import sys, tenuto.sandbox.sandbox; print('quickjs' in sys.modules)"
    said = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "False"


async def test_a_call_that_is_cancelled_as_its_turn_comes_takes_no_process_along() -> None:
    async with sandbox(processes=1, of_tenant=1, spares=0) as box:
        processes = box._pool
        process = await processes.lease("a")
        cancelled, waits = (asyncio.ensure_future(processes.lease("a")) for _ in range(2))
        await until(lambda: processes.waiting == 2)
        cancelled.cancel()
        processes.give_back(process, is_usable=True)
        async with asyncio.timeout(TOO_LONG):
            assert await waits is process
        assert cancelled.cancelled()
        processes.give_back(process, is_usable=True)
        assert (processes.busy, processes.idle, processes.waiting) == (0, 1, 0)


async def test_one_process_that_does_not_start_fails_no_call_while_others_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, failures = Gate(), 0

    def fails_once(confinement: Confinement) -> ChildProcess:
        nonlocal failures
        if gate.held and not failures:
            failures += 1
            raise ChildDied("no memory is left")
        return start_process(confinement)

    monkeypatch.setattr(pool, "start_process", fails_once)
    async with sandbox(processes=2, of_tenant=2, spares=0) as box:
        held = asyncio.ensure_future(box.run(HOLDS, tenant="a", fetch=gate.fetch, limits=PATIENT))
        await until(lambda: gate.held == 1)
        async with asyncio.timeout(TOO_LONG):
            assert value(await box.run("return 2", tenant="b", limits=PATIENT)) == 2
        assert failures == 1
        gate.is_open.set()
        assert value(await held) == 1
