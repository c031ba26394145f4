"""What a process had begun beside its logs when it went: others finish it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.errors import StoreUnavailable
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import steps
from tests.kit.scripted_store import ScriptedStore
from tests.kit.turns import turns
from tests.kit.workload.drawing import document, node

PATIENCE = 20
FLOW = document(
    "flow",
    [
        node(
            "wait",
            "eventWait",
            eventPattern="word",
            eventCondition="event.payload.k === workflow.input.k",
            lookback="PT1H",
        )
    ],
    [],
)


class Slow(ScriptedStore):
    """Looks for past events only once it is let."""

    def __init__(self, disk: MemoryDisk) -> None:
        super().__init__(disk, shared=True)
        self.is_looking = asyncio.Event()
        self.may_look = asyncio.Event()

    async def on_inbox_past(self, call: Call) -> object:
        self.is_looking.set()
        await self.may_look.wait()
        return await call()


class Shaky(ScriptedStore):
    """Away at the moment at which unfinished look-backs are asked for, a few times."""

    def __init__(self, disk: MemoryDisk) -> None:
        super().__init__(disk, shared=True)
        self.away = 0

    async def on_waits_unlooked(self, call: Call) -> object:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("the store is away")
        return await call()


@pytest.mark.asyncio
async def test_a_wait_looks_back_before_its_process_stops() -> None:
    """Nobody would do it afterwards: who stops in good order leaves nothing to take over."""
    disk = MemoryDisk()
    store = Slow(disk)
    leaving = Tenuto(store)
    staying = Tenuto(MemoryStore(disk, shared=True), settings=Settings(watch_every=0.01))
    async with staying:
        await leaving.open()
        await staying.deploy(FLOW)
        await staying.publish("word", {"k": 7})
        instance = await leaving.start("flow", {"k": 7})
        await store.is_looking.wait()
        stopping = asyncio.create_task(leaving.close())
        await turns(20)
        store.may_look.set()
        await stopping
        await (await staying.instance(instance.id)).result(PATIENCE)


@pytest.mark.asyncio
async def test_a_take_over_that_broke_off_is_taken_up_again() -> None:
    disk = MemoryDisk()
    slow, shaky = Slow(disk), Shaky(disk)
    slow.beat_every, shaky.beat_every = timedelta(hours=1), timedelta(milliseconds=10)
    gone = Tenuto(slow)
    heir = Tenuto(shaky, settings=Settings(watch_every=0.01))
    is_working = asyncio.Event()

    @gone.task
    async def work() -> None:
        is_working.set()
        await asyncio.Event().wait()

    @heir.task(name="work")
    async def done() -> str:
        return "done"

    async with heir:
        await gone.open()
        await heir.deploy(FLOW)
        await heir.deploy(steps("only", id="other"))
        await heir.publish("word", {"k": 7})
        instances = [await gone.start("flow", {"k": 7}), await gone.start("other")]
        await slow.is_looking.wait()
        await is_working.wait()
        shaky.away = 2
        disk.declare_dead(gone.engine.process_id)
        for instance in instances:
            await (await heir.instance(instance.id)).result(PATIENCE)
    await gone.engine._end(clean=False)
