"""Tests that large documents are read beside the loop, one at a time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.model.errors import Overloaded


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
            if refused == 10:
                enough.set()

    reading = [asyncio.ensure_future(read()) for _ in range(30)]
    needed = asyncio.ensure_future(documents.read(LARGE, work, may_refuse=False))
    await enough.wait()
    all_asked.set()
    await asyncio.gather(*reading, needed)
    assert (most, refused) == (1, 10)


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
