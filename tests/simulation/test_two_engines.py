"""Two engines on one store: what the log says is kept by the gate alone."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.kit.checker import Run
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import scenario_of
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario
from tests.kit.simulator.world import Finished


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 240, 60))
def test_the_gate_alone_keeps_every_promise(first: int) -> None:
    """ "Two engines on one store with owner checks off, fed the same results: the gate alone keeps
    every invariant." Each report goes to both; clients ask now one, now the other.
    """
    counts: Counter[str] = Counter()
    for seed in range(first, first + 60):
        counts += counts_of(_two_engines_on(seed))
    assert counts["lost to the other engine"] > 60, "vacuous: the gate was hardly ever shut"


def _two_engines_on(seed: int) -> Finished:
    scenario = scenario_of(seed)
    scenario.engines = 2
    finished = run_scenario(scenario, InMemory(shared=True))
    assert_kept(_by_the_log(finished), f"two engines on seed {seed}")
    return finished


def _by_the_log(finished: Finished) -> Finished:
    """Without the rows that follow from the log: those are their writer's view, not the gate's."""
    for run in (*finished.rests, finished.run):
        _strip(run)
    return finished


def _strip(run: Run) -> None:
    for instance in run.instances:
        kept = ("definitionId", "definitionVersion", "deadline", "key")
        instance.row = {name: (instance.row or {})[name] for name in kept}
        instance.owner = instance.timers = None
