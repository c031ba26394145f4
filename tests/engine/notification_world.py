"""A world in which instances are told of: a disk, a receiver and time, which outlive processes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

from tenuto import Settings, Tenuto
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.testing.fault_plan import Fault, NoFaults
from tenuto.testing.faulty_store import FaultyStore
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.hooks import Pretended, Received
from tests.kit.simulator.places import Place

T = TypeVar("T")

DAY = 86_400.0
QUIET = Settings(
    mail_every=DAY,
    project_every=DAY,
    jobs_every=DAY,
    prune_every=DAY,
    outbox_every=DAY,
    longest_nap=DAY,
)


class Planned(NoFaults):
    """One fault, at one of the writes that notify listeners."""

    def __init__(self, strike_at: int = 0, fault: Fault = Fault.CRASH_BEFORE) -> None:
        super().__init__()
        self.told = 0
        self._strike_at = strike_at
        self._fault = fault

    def on_write(self, verb: str) -> Fault | None:
        if verb in ("turns.commit", "outbox.drain", "outbox.settle"):
            self.told += 1
            if self.told == self._strike_at:
                return self._fault
        return None


class World:
    """A disk, a receiver and time, which outlive processes."""

    def __init__(self, seed: int = 1, place: Place | None = None) -> None:
        """Without a place for data they are in memory, on `disk`."""
        self.disk = MemoryDisk()
        self._place = place
        self.hook = Pretended()
        self.wall = Wall()
        self.ids = SeededIds(Random(seed))
        self.passed = 0.0
        self.fault_plan = Planned()

    def life(
        self, work: Callable[[Tenuto], Coroutine[Any, Any, T]], settings: Settings = QUIET
    ) -> T:
        """One process, from its beginning to its end; Crashed when it does not reach that."""
        loop = VirtualLoop(started_at=self.passed)
        inner = MemoryStore(self.disk) if self._place is None else self._place.store()
        store = FaultyStore(inner, loop, self.fault_plan)
        clock = VirtualClock(loop, self.wall)
        app = Tenuto(store, settings=settings, clock=clock, ids=self.ids, sender=self.hook)

        @app.task(name="work")
        async def _work(input: object) -> object:
            return input

        async def live() -> T:
            await app.engine.open()
            result = await work(app)
            await app.engine.close()
            return result

        try:
            return loop.run_until_complete(live())
        finally:
            self.passed = loop.time()
            store.kill()
            loop.discard_tasks()
            loop.close()


async def quiet(app: Tenuto, seconds: float = 60.0) -> None:
    """Let time pass until there is nothing to tell any more."""
    await app.engine.clock.sleep(seconds)


def in_order(received: list[Received]) -> dict[str, list[int]]:
    """Of each instance the entries that were told, each when it came for the first time."""
    told: dict[str, list[int]] = {}
    for each in received:
        instance, _, seq = each.id.rpartition(":")
        seqs = told.setdefault(instance, [])
        if int(seq) not in seqs:
            seqs.append(int(seq))
    return told
