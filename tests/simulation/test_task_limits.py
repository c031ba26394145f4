"""Limits of a task hold at every instant, whatever goes wrong, and nothing waits for ever."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import pytest

from tenuto.model.task_definition import TaskLimits
from tenuto.store.memory.jobs import MemoryJobs
from tenuto.testing.fault_plan import Fault
from tests.kit.breadth import breadth
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Job, Scenario, scenario_of
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario
from tests.kit.simulator.world import Finished
from tests.kit.workload import TASKS, plan_behaviours
from tests.kit.workload.drawing import document, edges, node

SEEDS = breadth(4, 400)
LIMIT = 2
FLOW = document(
    "limited",
    [node(name, "task", taskId=TASKS[0]) for name in "abcd"],
    edges("a > b", "a > c", "a > d"),
)


def limited(seed: int, engines: int) -> Scenario:
    """Instances that have more attempts of one task than may run at once."""
    scenario = scenario_of(seed)
    scenario.jumps, scenario.burials = [], []
    scenario.engines = engines
    scenario.task_limits = TaskLimits(concurrency=LIMIT)
    steady = plan_behaviours(FLOW, f"steady {seed}", failing_percent=20, calm=True)
    scenario.jobs = [Job(FLOW, {"n": n}, steady, [], f"key {n}") for n in range(5)]
    return scenario


def ran(seed: int, engines: int) -> Finished:
    return run_scenario(limited(seed, engines), InMemory(shared=True) if engines > 1 else None)


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_no_more_attempts_run_than_the_limit_of_their_task(engines: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        finished = ran(seed, engines)
        assert_kept(finished, f"limits of tasks on seed {seed} with {engines} engines")
        assert finished.ledgers.most_running <= LIMIT, f"seed {seed} with {engines} engines"
        counts += counts_of(finished)
        counts["full"] += finished.ledgers.most_running == LIMIT
    crashes = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
    assert all(counts[str(each)] for each in crashes), f"vacuous: {counts}"
    assert counts["full"], f"vacuous: {counts}"


def test_leases_that_are_not_counted_are_seen() -> None:
    with patch.object(MemoryJobs, "_held", lambda *_: []):
        assert any(ran(seed, 2).ledgers.most_running > LIMIT for seed in range(6))
