"""Whoever waits for an end hears of it, whichever process sees it."""

from __future__ import annotations

import asyncio

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.store.memory import MemoryDisk, MemoryStore
from tests.kit.turns import turns
from tests.kit.workload.drawing import document, edges, node, task

PATIENCE = 20
FLOW = document(
    "flow",
    [
        task("work"),
        node(
            "wait",
            "eventWait",
            eventPattern="word",
            eventCondition="event.payload.k === workflow.input.k",
        ),
    ],
    edges("work > wait"),
)


@pytest.mark.asyncio
async def test_an_instance_that_came_to_rest_here_may_end_elsewhere() -> None:
    """Its waiter came while it was run here: that it is another's since then is found out."""
    disk = MemoryDisk()
    settings = Settings(mail_every=3600, watch_every=0.01)
    here = Tenuto(MemoryStore(disk, shared=True), settings=settings)
    there = Tenuto(MemoryStore(disk, shared=True), settings=settings)
    is_working = asyncio.Event()
    go_on = asyncio.Event()

    @here.task
    async def work() -> None:
        is_working.set()
        await go_on.wait()

    there.task(work)
    async with here, there:
        await here.deploy(FLOW)
        instance = await here.start("flow", {"k": 7})
        await is_working.wait()
        waiting = asyncio.create_task(instance.result(PATIENCE))
        await turns(1)
        go_on.set()
        while not await there.engine.store.waits.of(instance.id):
            await turns(1)
        await there.publish("word", {"k": 7})
        await waiting
