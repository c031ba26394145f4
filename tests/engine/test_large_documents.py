"""Tests that large documents are read beside the loop, one at a time."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import suppress
from functools import partial

import pytest

from tenuto import Tenuto
from tenuto.engine.definitions import start_checks
from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.engine.events import event_intake
from tenuto.model.errors import Overloaded, Problem
from tenuto.model.json import Object


@pytest.mark.asyncio
async def test_the_loop_goes_on_while_a_large_document_is_read() -> None:
    asked, done = threading.Event(), threading.Event()
    documents = LargeDocuments()

    def work() -> str:
        asked.set()
        # Only the loop ends this: were the work done in the loop, it would never end.
        assert done.wait(60)
        return "read"

    reading = asyncio.ensure_future(documents.read(LARGE, work))
    assert await asyncio.to_thread(asked.wait, 60)
    done.set()
    assert await reading == "read"


@pytest.mark.asyncio
async def test_small_documents_are_read_at_once() -> None:
    assert await LargeDocuments().read(LARGE - 1, threading.get_ident) == threading.get_ident()
    assert await LargeDocuments().read(LARGE, threading.get_ident) != threading.get_ident()


@pytest.mark.asyncio
async def test_large_documents_wait_for_each_other_and_too_many_are_refused() -> None:
    busy, most, refused = 0, 0, 0
    documents, all_asked, enough = LargeDocuments(), threading.Event(), asyncio.Event()

    def work() -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        assert all_asked.wait(60)
        busy -= 1

    async def read() -> None:
        nonlocal refused
        try:
            await documents.read(LARGE, work)
        except Overloaded:
            refused += 1
            if refused == 9:
                enough.set()

    reading = [asyncio.ensure_future(read()) for _ in range(30)]
    needed = asyncio.ensure_future(documents.read(LARGE, work, may_refuse=False))
    await enough.wait()
    all_asked.set()
    await asyncio.gather(*reading, needed)
    assert (most, refused) == (1, 9)


@pytest.mark.asyncio
async def test_a_document_that_is_not_waited_for_keeps_its_turn_and_no_process() -> None:
    """Its thread cannot be stopped: a second one at a time would slow the loop further."""
    documents, threads = LargeDocuments(), list[threading.Thread]()
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        threads.append(threading.current_thread())
        begun.set()
        assert go_on.wait(60)

    first = asyncio.ensure_future(documents.read(LARGE, work))
    assert await asyncio.to_thread(begun.wait, 60)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.ensure_future(documents.read(LARGE, work))
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(threads) == 1
    go_on.set()
    await second
    assert [thread.daemon for thread in threads] == [True, True]


@pytest.mark.parametrize(
    "value", ["x" * LARGE, [0] * LARGE, {"a": [["x" * 9] * LARGE]}, {"k" * LARGE: None}]
)
@pytest.mark.asyncio
async def test_large_values_are_checked_beside_the_loop(value: object) -> None:
    assert await LargeDocuments().check(value, threading.get_ident) != threading.get_ident()


@pytest.mark.parametrize("value", [None, 7, "x", {"a": [1, {"b": "c"}]}, object()])
@pytest.mark.asyncio
async def test_small_values_are_checked_at_once(value: object) -> None:
    assert await LargeDocuments().check(value, threading.get_ident) == threading.get_ident()


@pytest.mark.asyncio
async def test_inputs_and_payloads_from_outside_are_checked_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: set[int] = set()

    def seen(value: object, *_: object) -> list[Problem]:
        threads.add(threading.get_ident())
        return []

    monkeypatch.setattr(start_checks, "json_problems", seen)
    monkeypatch.setattr(event_intake, "json_problems", seen)
    large: Object = {"text": "x" * LARGE}
    async with Tenuto() as app:
        await app.deploy({"id": "w", "steps": [{"stepId": "a", "type": "DELAY", "duration": 0}]})
        await app.start("w", large)
        await app.publish("a.b", large)
        await app.publish_all([{"pattern": "a.b", "payload": large}])
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.asyncio
async def test_tenants_take_turns_and_the_bound_is_each_ones_own() -> None:
    documents, begin, done = LargeDocuments(), threading.Event(), list[str]()

    def work(tenant: str) -> None:
        assert begin.wait(60)
        done.append(tenant)

    async def read(tenant: str) -> None:
        with suppress(Overloaded):
            await documents.read(LARGE, partial(work, tenant), tenant=tenant)

    reading = [asyncio.ensure_future(read("large")) for _ in range(40)]
    await asyncio.sleep(0)
    small = asyncio.ensure_future(read("small"))
    value = asyncio.ensure_future(
        documents.check("x" * LARGE, partial(work, "large"), tenant="large")
    )
    await asyncio.sleep(0)
    begin.set()
    await asyncio.gather(*reading, small, value)
    assert done.index("small") <= 2
    assert done.count("large") == 1 + 20 + 1, "the value is not refused"


@pytest.mark.asyncio
async def test_a_turn_that_is_given_up_goes_to_the_next() -> None:
    documents, begin = LargeDocuments(), threading.Event()
    first = asyncio.ensure_future(documents.read(LARGE, lambda: begin.wait(60)))
    await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(documents.read(LARGE, lambda: True)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    waiting[0].cancel()
    await asyncio.sleep(0)
    begin.set()
    assert await asyncio.gather(*waiting[1:]) == [True, True]


@pytest.mark.asyncio
async def test_the_interpreter_is_switched_as_before_once_no_thread_is_at_work() -> None:
    usual, begin = sys.getswitchinterval(), threading.Event()
    one, other = LargeDocuments(), LargeDocuments()
    first = asyncio.ensure_future(one.read(LARGE, lambda: begin.wait(60)))
    assert await other.read(LARGE, sys.getswitchinterval) < usual
    begin.set()
    await first
    assert sys.getswitchinterval() == pytest.approx(usual)
