"""The store says how often a process has to be heard, and the engine keeps to it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

from tenuto.engine.engine import Engine
from tenuto.model.errors import StoreUnavailable
from tenuto.tasks.registry import Registry
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call
from tests.kit.scripted_store import ScriptedStore


class Hearing(ScriptedStore):
    """Knows when each beat came, and does not hear some of them."""

    def __init__(self, *, unheard: set[int]) -> None:
        super().__init__(shared=True)
        self.beaten_at: list[float] = []
        self._unheard = unheard

    async def on_members_beat(self, call: Call) -> object:
        self.beaten_at.append(round(asyncio.get_running_loop().time(), 6))
        if len(self.beaten_at) in self._unheard:
            raise StoreUnavailable("nobody hears it")
        return await call()


def beaten(store: Hearing, until: float) -> list[float]:
    """When an engine on this store has beaten."""
    loop = VirtualLoop(Random(1))
    clock = VirtualClock(loop, Wall())
    engine = Engine(store, registry=Registry(), clock=clock, ids=SeededIds(Random(1)))

    async def live() -> None:
        await engine.open()
        await clock.sleep(until - clock.ticks())
        await engine.close()

    loop.run_until_complete(live())
    loop.close()
    return store.beaten_at


def test_a_process_beats_as_often_as_its_store_says() -> None:
    store = Hearing(unheard=set())
    store.beat_every = timedelta(seconds=7)
    assert beaten(store, 30) == [7, 14, 21, 28]


def test_a_beat_that_was_not_heard_is_followed_by_another_soon() -> None:
    store = Hearing(unheard={2, 3})
    assert beaten(store, 13) == [3, 6, 7, 8, 11]
