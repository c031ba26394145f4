"""Several processes on one PostgreSQL start against limits: none is exceeded, no slot is left."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tenuto import Tenuto
from tenuto.model.json import Object
from tests.kit.breadth import breadth
from tests.kit.postgres_database import fresh_database

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

ENGINES = breadth(2, 10)
STARTS = breadth(30, 2_000)
WORK: Object = {
    "id": "work",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "busy", "input": "{{ctx.input.k}}"},
        {
            "stepId": "b",
            "type": "TASK",
            "taskId": "alone",
            "input": "{{ctx.input.k}}",
            "mutex": "one",
        },
    ],
    "options": {"concurrency": {"limit": 2, "key": "{{ctx.input.k}}"}},
}
WORK["steps"][0]["transitions"] = {"default": "b"}  # type: ignore[index, call-overload]


async def test_processes_that_start_at_once_exceed_no_limit_and_leave_no_slot() -> None:
    """ "Ten processes starting thousands against limits of every kind: at no instant exceeded, zero
    slots held at rest".
    """
    url = await fresh_database()
    running: list[int] = []
    alone: list[int] = []
    most = 0
    async with AsyncExitStack() as stack:
        apps = [await stack.enter_async_context(Tenuto(url)) for _ in range(ENGINES)]
        for app in apps:

            @app.task
            async def busy(k: int) -> int:
                nonlocal most
                running.append(k)
                most = max(most, len(running))
                assert running.count(k) <= 2
                await asyncio.sleep(0)
                running.remove(k)
                return k

            @app.task(name="alone")
            async def alone_(k: int) -> int:
                assert not alone
                alone.append(k)
                await asyncio.sleep(0)
                alone.remove(k)
                return k

        await apps[0].deploy(WORK)
        await apps[0].limits.set({"globalMaxConcurrent": 5, "workflowTypeLimits": {"*": 4}})
        for app in apps:
            await app.engine.limits.look()
        begun = await asyncio.gather(
            *(apps[n % ENGINES].start("work", {"k": n % 5}) for n in range(STARTS))
        )
        await asyncio.gather(*(each.result(timeout=300) for each in begun))
        assert most <= 4
        while not (await apps[0].engine.store.slots.admit(apps[0].engine.clock.now())).is_done:
            pass
        keys = ["global", "tenant:default", "type:default/work", "mutex:default/one"]
        assert await apps[0].engine.store.slots.counts(keys) == {}
        assert await apps[0].engine.store.slots.held("default") == []
