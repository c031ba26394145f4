"""Where work is done: whole, in order, and to its end."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from tenuto.store.sqlite import DedicatedThread
from tenuto.store.sqlite.workers import SWITCH_INTERVAL


@pytest.mark.asyncio
async def test_work_is_done_in_one_thread_in_the_order_it_came() -> None:
    worker = DedicatedThread("worker")
    seen: list[tuple[int, str]] = []

    def job(number: int) -> int:
        seen.append((number, threading.current_thread().name))
        return number

    results = await asyncio.gather(
        *[worker.run(lambda number=number: job(number)) for number in range(100)]  # type: ignore[misc]
    )
    assert results == list(range(100))
    assert seen == [(number, "worker") for number in range(100)]
    worker.stop()
    worker.stop()


@pytest.mark.asyncio
async def test_what_a_job_raises_is_raised_where_it_is_awaited() -> None:
    worker = DedicatedThread("worker")

    def fail() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        await worker.run(fail)
    assert await worker.run(lambda: 1) == 1
    worker.stop()


@pytest.mark.asyncio
async def test_a_job_is_done_even_if_nobody_waits_any_more() -> None:
    worker = DedicatedThread("worker")
    may_go, done = threading.Event(), threading.Event()

    def job() -> None:
        may_go.wait()
        done.set()

    def failing_job() -> None:
        raise LookupError

    waiting = asyncio.create_task(worker.run(job))
    also_waiting = asyncio.create_task(worker.run(failing_job))
    await asyncio.wait([waiting], timeout=0)
    waiting.cancel()
    also_waiting.cancel()
    may_go.set()
    worker.stop()
    assert done.is_set()
    outcomes = await asyncio.gather(waiting, also_waiting, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in outcomes)


def test_a_loop_that_is_closed_does_not_stop_the_thread() -> None:
    worker = DedicatedThread("worker")
    may_go = threading.Event()
    loop = asyncio.new_event_loop()
    pending = loop.create_task(worker.run(may_go.wait))
    loop.run_until_complete(asyncio.wait([pending], timeout=0))
    pending.cancel()
    loop.run_until_complete(asyncio.gather(pending, return_exceptions=True))
    loop.close()
    may_go.set()
    assert asyncio.run(worker.run(lambda: 2)) == 2
    worker.stop()


@pytest.mark.asyncio
async def test_threads_switch_quickly_while_there_are_workers_and_as_before_afterwards() -> None:
    before = sys.getswitchinterval()
    first, second = DedicatedThread("first"), DedicatedThread("second")
    await first.run(lambda: None)
    await second.run(lambda: None)
    assert sys.getswitchinterval() == pytest.approx(min(before, SWITCH_INTERVAL))
    first.stop()
    assert sys.getswitchinterval() == pytest.approx(min(before, SWITCH_INTERVAL))
    second.stop()
    assert sys.getswitchinterval() == before


@pytest.mark.asyncio
async def test_a_switch_interval_that_the_program_sets_meanwhile_is_kept() -> None:
    before = sys.getswitchinterval()
    worker = DedicatedThread("worker")
    try:
        await worker.run(lambda: None)
        sys.setswitchinterval(0.02)
        worker.stop()
        assert sys.getswitchinterval() == pytest.approx(0.02)
    finally:
        sys.setswitchinterval(before)


@pytest.mark.asyncio
async def test_a_worker_whose_thread_could_not_start_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = DedicatedThread("worker")

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            await worker.run(lambda: None)
    assert await worker.run(lambda: 1) == 1
    worker.stop()
