"""Several processes on one PostgreSQL run a task with limits: none is exceeded, nothing is left."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from time import monotonic

import pytest

from tenuto import TaskLimits, Tenuto
from tenuto.model.json import Object
from tests.kit.breadth import breadth
from tests.kit.postgres_database import fresh_database

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

ENGINES = breadth(2, 6)
STARTS = breadth(40, 2_000)
LIMIT = 3
WORK: Object = {"id": "work", "steps": [{"stepId": "a", "type": "TASK", "taskId": "busy"}]}


async def test_attempts_of_all_processes_together_keep_to_the_limit() -> None:
    """ "`limits` of a task hold for pulled, pushed and in-process attempts alike, over all
    processes".

    `limits` of a task hold for pulled, pushed and in-process attempts alike, over all
    processes.
    """
    url = await fresh_database()
    running = most = 0
    by: set[Tenuto] = set()
    full = asyncio.Event()

    def register(app: Tenuto) -> None:
        @app.task(limits=TaskLimits(concurrency=LIMIT), at_most=2)
        async def busy() -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            by.add(app)
            if running == LIMIT:
                full.set()
            await full.wait()
            running -= 1

    async with AsyncExitStack() as stack:
        apps = [await stack.enter_async_context(Tenuto(url)) for _ in range(ENGINES)]
        for app in apps:
            register(app)
        await apps[0].deploy(WORK)
        begun = await asyncio.gather(*(apps[n % ENGINES].start("work") for n in range(STARTS)))
        await asyncio.gather(*(each.result(timeout=300) for each in begun))
        assert most == LIMIT
        assert len(by) > 1, "no process can run as many alone"
        use = await apps[0].engine.store.jobs.use_of("default", "busy")
        assert (use.held, use.holders) == (0, ())
        assert await apps[0].engine.store.jobs.limited_tasks() == []


async def test_no_more_begin_in_a_second_than_the_rate_of_all_processes() -> None:
    url = await fresh_database()
    began: list[float] = []
    rate = 20
    async with AsyncExitStack() as stack:
        apps = [await stack.enter_async_context(Tenuto(url)) for _ in range(2)]
        for app in apps:

            @app.task(limits=TaskLimits(rate_per_second=rate))
            async def busy() -> None:
                began.append(monotonic())

        await apps[0].deploy(WORK)
        before = monotonic()
        begun = await asyncio.gather(*(apps[n % 2].start("work") for n in range(40)))
        await asyncio.gather(*(each.result(timeout=300) for each in begun))
    # 20 after a rest, then one each 50 ms, by the clock of the server: however late the first is.
    assert max(began) - before >= (40 - rate) / rate - 0.01
