"""Two engines on one store: what the log says is kept by the gate alone."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random

import pytest

from tenuto.engine.engine import Engine
from tenuto.engine.turns.requests import Request
from tenuto.model.inputs import PauseAsked, ResumeAsked, Started, TimerDue, TimerKey, TimerKind
from tenuto.tasks.registry import Registry
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.breadth import breadth
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import two_engines
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario
from tests.kit.workload.drawing import document, node

SEEDS = breadth(4, 120)


@pytest.mark.slow
def test_every_promise_is_kept_by_two_that_hear_the_same() -> None:
    """ "Two engines on one store, fed the same results": each report goes to both; clients ask now
    one, now the other.
    """
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        finished = run_scenario(two_engines(seed), InMemory(shared=True))
        assert_kept(finished, f"two engines on seed {seed}")
        counts += counts_of(finished)
    assert counts["lost to the other engine"] > 2 * SEEDS, "vacuous: the gate was hardly ever shut"
    assert counts["presumed dead"] > SEEDS // 3, "vacuous: hardly anybody was presumed dead"


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
        second.turns.report(Request(id, due))
        await clock.sleep(1.0)
        timers, _ = await first.store.timers.due(until, 10)
        assert [timer.key.kind for timer in timers] == [TimerKind.RESUME]

    try:
        loop.run_until_complete(main())
    finally:
        loop.discard_tasks()
