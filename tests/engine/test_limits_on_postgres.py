"""Several engines on one PostgreSQL start against limits: none is exceeded, no slot is left.

Real processes, which are killed, are in `tests/crash/postgres/test_limits.py`.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tests.kit.postgres_database import fresh_database

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

ENGINES = 2
STARTS = 30
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


NAME = "{{ctx.input.name}}"
ALONE: Object = {
    "id": "alone",
    "steps": [
        {
            "stepId": "begin",
            "type": "TASK",
            "taskId": "stay",
            "input": "first",
            "transitions": {"default": ["a", "b"]},
        },
        {"stepId": "a", "type": "TASK", "taskId": "print", "input": NAME, "mutex": "printer"},
        {"stepId": "b", "type": "TASK", "taskId": "stay", "input": NAME},
    ],
}
"""The second one stays with its process while it waits, since another step of it is at work."""
ONE: Object = {
    "id": "one",
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "print", "input": NAME}],
    "options": {"concurrency": {"limit": 1}},
}


@pytest.mark.parametrize("document", [ALONE, ONE])
async def test_a_slot_that_one_process_releases_is_granted_to_a_waiter_of_another_at_once(
    document: Object,
) -> None:
    """ "A released slot wakes the next waiter at once, across processes, without polling"."""
    url = await fresh_database()
    begun: asyncio.Queue[str] = asyncio.Queue()
    is_printed = {"first": asyncio.Event(), "second": asyncio.Event()}
    # No mailbox is polled, and no heartbeat starts a pass: only hints are left.
    settings = Settings(mail_every=3600, watch_every=0.05)
    async with AsyncExitStack() as stack:
        apps = {
            name: await stack.enter_async_context(Tenuto(url, settings=settings))
            for name in is_printed
        }
        for app in apps.values():
            app.engine.limits.has_work = lambda: None

            @app.task(name="print")
            async def print_(name: str) -> None:
                begun.put_nowait(name)
                await is_printed[name].wait()

            @app.task
            async def stay(name: str) -> None:
                if name == "second":
                    await is_printed["second"].wait()

        id = str(document["id"])
        await apps["first"].deploy(document)
        first = await apps["first"].start(id, {"name": "first"})
        assert await begun.get() == "first"
        second = await apps["second"].start(id, {"name": "second"})
        slots = apps["second"].engine.store.slots
        while not [each for each in await slots.of("default", second.id) if each.blocked_on]:
            pass
        is_printed["first"].set()
        assert await asyncio.wait_for(begun.get(), 60) == "second"
        is_printed["second"].set()
        await asyncio.gather(first.result(60), second.result(60))
