"""With the rhythm that everybody has, on a virtual clock: who goes on after whom, and how soon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

import pytest

from tenuto.engine.engine import Engine
from tenuto.model.errors import StoreUnavailable
from tenuto.model.inputs import Started
from tenuto.model.status import Status
from tenuto.store.memory import MemoryDisk
from tenuto.store.parts.members import BEAT_EVERY
from tenuto.store.postgres.rhythm import DEAD_AFTER, Rhythm
from tenuto.store.protocol import Store
from tenuto.tasks.registry import Registry
from tenuto.testing.fault_plan import Fault, NoFaults
from tenuto.testing.faulty_store import FaultyStore
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import steps
from tests.kit.scripted_store import ScriptedStore

INSTANCES = 20
PROMISED = 15.0
"""Seconds from the last word of a process until what it had in hand moves again."""
SOON = 15.0
"""Seconds after an outage within which everything goes on."""

RHYTHM = Rhythm(BEAT_EVERY, DEAD_AFTER).parameters("anybody")
SILENCE = DEAD_AFTER.total_seconds()
LONGEST_GAP = float(str(RHYTHM["longest_gap"])) / 1000


@dataclass
class Heard:
    """When a process was heard of last, and since when without a gap."""

    last: float
    steady_since: float


class Beating(ScriptedStore):
    """Takes others for dead as a database does: after their silence, if it was steady itself."""

    def __init__(self, world: World) -> None:
        super().__init__(world.disk, shared=True)
        self._heard = world.heard
        self._clock = world.clock

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        self._name = process_id
        self._heard[process_id] = Heard(self._clock.ticks(), self._clock.ticks())
        return await super().open(process_id, now, is_guest=is_guest)

    async def on_members_beat(self, call: Call) -> object:
        now, me = self._clock.ticks(), self._heard[self._name]
        if now - me.last > LONGEST_GAP:
            me.steady_since = now
        me.last = now
        if now - me.steady_since >= SILENCE:
            silent = {id for id, each in self._heard.items() if each.last < now - SILENCE}
            self.disk.live -= silent
        return await call()


@dataclass
class World:
    """One disk, one clock, and what is known of the processes that share them."""

    loop: VirtualLoop
    disk: MemoryDisk = field(default_factory=MemoryDisk)
    heard: dict[str, Heard] = field(default_factory=dict)
    began: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.clock = VirtualClock(self.loop, Wall())
        self.ids = SeededIds(Random(1))

    def engine(
        self, name: str, seconds: float, by: Callable[[Beating], Store] = lambda store: store
    ) -> Engine:
        """A process whose steps take so long; its settings are those that everybody has."""
        registry = Registry()

        @registry.task
        async def work() -> None:
            self.began[name] += 1
            await self.clock.sleep(seconds)

        return Engine(by(Beating(self)), registry=registry, clock=self.clock, ids=self.ids)

    async def passed(self, condition: Callable[[], Awaitable[bool]]) -> float:
        """Seconds until it holds."""
        since = self.clock.ticks()
        while not await condition():
            await self.clock.sleep(0.05)
        return self.clock.ticks() - since


async def started(engine: Engine, *names: str) -> list[str]:
    deployed = await engine.plans.save("default", steps(*names))
    asked = Started(definition_id="flow", definition_version=1, input={})
    return [(await engine.start(deployed.plan, asked)).instance_id for _ in range(INSTANCES)]


def in_virtual_time(main: Callable[[World], Awaitable[None]]) -> None:
    loop = VirtualLoop(Random(1))

    async def run() -> None:
        await main(World(loop))

    try:
        loop.run_until_complete(run())
    finally:
        loop.discard_tasks()


@pytest.mark.parametrize("apart", [0.0, 0.4, 1.1, 1.8, 2.5, 2.9])
@pytest.mark.parametrize("after_beat", [0.1, 1.5, 2.9])
def test_what_the_dead_had_in_hand_moves_again_within_15_seconds_of_their_last_word(
    apart: float, after_beat: float
) -> None:
    """Wherever in its rhythm the one dies, and the other is."""

    async def main(world: World) -> None:
        gone = world.engine("gone", 3600)
        await gone.open()
        await world.clock.sleep(apart)
        heir = world.engine("heir", 3600)
        await heir.open()
        await started(gone, "only")
        await world.clock.sleep(4 * SILENCE)
        beats = world.heard[gone.process_id]
        word = beats.last

        async def has_beaten() -> bool:
            return beats.last > word

        await world.passed(has_beaten)
        await world.clock.sleep(after_beat)
        assert (world.began["gone"], world.began["heir"]) == (INSTANCES, 0)
        await gone.shared.loops.stop()
        gone.runner.abandon()

        async def all_move() -> bool:
            return world.began["heir"] == INSTANCES

        took = await world.passed(all_move) + after_beat
        assert SILENCE < took <= PROMISED
        await heir._end(clean=False)

    in_virtual_time(main)


class Outage(NoFaults):
    """A store that nobody can reach for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.refusals = 0

    def on_write(self, verb: str) -> Fault | None:
        self.refusals += self.is_away
        return Fault.UNAVAILABLE if self.is_away else super().on_write(verb)

    def on_read(self) -> Fault | None:
        self.refusals += self.is_away
        return Fault.READ_UNAVAILABLE if self.is_away else None


def test_after_an_outage_of_a_minute_everything_goes_on_by_itself() -> None:
    """What ended meanwhile is written, what is next begins, and nobody was presumed dead."""

    async def main(world: World) -> None:
        outage = Outage()
        first, second = (
            world.engine(name, 30, lambda store: FaultyStore(store, world.loop, outage))
            for name in ("first", "second")
        )
        await first.open()
        await second.open()
        names = (first.process_id, second.process_id)
        ids = [*await started(first, "a", "b"), *await started(second, "a", "b")]
        await world.clock.sleep(15)
        outage.is_away = True
        await world.clock.sleep(60)
        assert outage.refusals > 60, "vacuous: hardly anybody noticed"
        with pytest.raises(StoreUnavailable):
            await started(first, "a")
        assert world.began == {"first": INSTANCES, "second": INSTANCES}
        outage.is_away = False

        async def all_began() -> bool:
            return world.began.total() == 2 * len(ids)

        assert await world.passed(all_began) <= SOON
        for id in ids:
            assert (await second.final_state(id)).state.status is Status.COMPLETED
        assert world.began.total() == 2 * len(ids), "each step ran once"
        assert (first.process_id, second.process_id) == names
        await first.close()
        await second.close()

    in_virtual_time(main)
