"""Waits for other processes end, and say what they waited for."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tests.kit.patience import Overdue, patience, until
from tests.kit.stacks import stacks_of_tasks

pytestmark = pytest.mark.asyncio


async def test_a_wait_that_lasts_too_long_says_what_it_waited_for() -> None:
    with pytest.raises(Overdue, match=r"^the end of worker-1: not within 0 s$"):
        async with patience("the end of worker-1", 0):
            await asyncio.Event().wait()


async def test_a_time_out_inside_a_wait_stays_what_it_is() -> None:
    with pytest.raises(TimeoutError, match="its own"):
        async with patience("the end of worker-1"):
            raise TimeoutError("its own")


async def test_what_was_found_is_returned() -> None:
    found = iter([0, 0, 3])

    async def next_of(values: object) -> int:
        assert values is found
        return next(found)

    assert await until(partial(next_of, found), every=0) == 3


async def test_stacks_show_what_is_awaited() -> None:
    async def inner(event: asyncio.Event) -> None:
        await event.wait()

    async def outer(event: asyncio.Event) -> None:
        await inner(event)

    event = asyncio.Event()
    waiting = asyncio.create_task(outer(event), name="waiting")
    await asyncio.sleep(0)
    [line] = [line for line in stacks_of_tasks().splitlines() if line.startswith("task waiting: ")]
    assert line.index("outer") < line.index("inner") < line.index("Event.wait")
    event.set()
    await waiting
