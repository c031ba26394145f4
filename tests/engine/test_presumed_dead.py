"""A process that others take for dead at an awkward moment goes on under another name."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import steps
from tests.kit.scripted_store import ScriptedStore

PATIENCE = 20


class StandsStill(ScriptedStore):
    """A process that is buried after its beat, or its opening, and before it takes over."""

    def __init__(self, disk: MemoryDisk, *, at_claim: int) -> None:
        super().__init__(disk, shared=True)
        self._at_claim = at_claim
        self.names: list[str] = []

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        self.names.append(process_id)
        return await super().open(process_id, now, is_guest=is_guest)

    async def on_members_enter(self, call: Call) -> None:
        process_id = call.args[0]
        self.names.append(process_id)
        await call()

    async def on_members_claim_orphans(self, call: Call) -> object:
        self._at_claim -= 1
        if self._at_claim == 0:
            self.disk.declare_dead(self.names[-1])
        return await call()


@pytest.mark.asyncio
@pytest.mark.parametrize("at_claim", [1, 2], ids=["while it opens", "while it takes over"])
async def test_a_process_buried_before_it_takes_over_does_so_under_another_name(
    at_claim: int,
) -> None:
    disk = MemoryDisk()
    is_working = asyncio.Event()
    gone = Tenuto(MemoryStore(disk, shared=True))

    @gone.task
    async def work() -> None:
        is_working.set()
        await asyncio.Event().wait()

    await gone.open()
    await gone.deploy(steps("only"))
    instance = await gone.start("flow")
    await is_working.wait()

    store = StandsStill(disk, at_claim=at_claim)
    store.beat_every = timedelta(milliseconds=10)
    heir = Tenuto(store, settings=Settings(watch_every=0.01))

    @heir.task(name="work")
    async def done() -> str:
        return "done"

    if at_claim == 1:
        disk.declare_dead(gone.engine.process_id)
    async with heir:
        disk.declare_dead(gone.engine.process_id)
        await (await heir.instance(instance.id)).result(PATIENCE)
        assert len(store.names) == 2
        assert heir.engine.process_id == store.names[-1]
        assert heir.engine.fault is None
    await gone.engine._end(clean=False)
