"""Two engines on one store: what the log says is kept by the gate alone."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random

import pytest

from tenuto.engine.engine import Engine
from tenuto.engine.requests import Request
from tenuto.model.inputs import PauseAsked, ResumeAsked, Started, TimerDue, TimerKey, TimerKind
from tenuto.tasks.registry import Registry
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.checker.picture import FINAL
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import scenario_of
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario, status_of
from tests.kit.simulator.world import Finished
from tests.kit.workload.drawing import document, node


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 240, 60))
def test_the_gate_alone_keeps_every_promise(first: int) -> None:
    """ "Two engines on one store with owner checks off, fed the same results: the gate alone keeps
    every invariant." Each report goes to both; clients ask now one, now the other.
    """
    counts: Counter[str] = Counter()
    for seed in range(first, first + 60):
        scenario = scenario_of(seed)
        scenario.engines = 2
        finished = _without_owners(run_scenario(scenario, InMemory(shared=True)))
        assert_kept(finished, f"two engines on seed {seed}")
        counts += counts_of(finished)
    assert counts["lost to the other engine"] > 60, "vacuous: the gate was hardly ever shut"


def test_an_old_picture_clears_no_timer() -> None:
    """One process at a time never has an old picture; several on one store will."""
    loop, place = VirtualLoop(Random(1)), InMemory(shared=True)
    clock, ids = VirtualClock(loop, Wall()), SeededIds(Random(1))

    async def main() -> None:
        first, second = (
            Engine(place.store(), registry=Registry(), clock=clock, ids=ids) for _ in range(2)
        )
        await first.open()
        await second.open()
        waiting = document("w", [node("a", "eventWait", eventPattern="evt.wait")], [])
        deployed = await first.plans.save("default", waiting)
        started = Started(definition_id="w", definition_version=1, input={})
        id = (await first.start(deployed.plan, started)).instance_id
        assert (await second.ask(id, ResumeAsked(by="second"))).rejection is not None
        until = clock.now() + timedelta(minutes=1)
        await first.ask(id, PauseAsked(by="first", until=until))
        due = TimerDue(key=TimerKey(TimerKind.RESUME), due=until)
        second._report(Request(id, due))
        await clock.sleep(1.0)
        timers, _ = await first.store.due_timers(until, 10)
        assert [timer.key.kind for timer in timers] == [TimerKind.RESUME]

    try:
        loop.run_until_complete(main())
    finally:
        loop.bury()


def _without_owners(finished: Finished) -> Finished:
    """Owner checks are off: who owns an instance is not the gate's to keep."""
    for run in (*finished.rests, finished.run):
        for instance in run.instances:
            instance.owner = None if status_of(instance) in FINAL else instance.owner
    return finished
