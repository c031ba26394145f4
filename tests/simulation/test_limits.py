"""Limits hold at every instant, whatever goes wrong, and no slot is left when all is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

from tenuto.store.parts.slots import _Pass
from tenuto.testing.fault_plan import AtWrite, Fault, NoFaults
from tests.kit.breadth import breadth
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Job, Scenario, limited
from tests.kit.simulator.verdict import (
    assert_kept,
    counts_of,
    run_scenario,
    violations_of,
)
from tests.kit.workload import Cancel, plan_behaviours
from tests.kit.workload.drawing import document, edges, node, task

SEEDS = breadth(6, 400)
STEP = breadth(4, 1)
"""One in so many writes meets a fault of each kind."""


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_no_limit_is_exceeded_and_no_slot_is_lost(engines: int) -> None:
    """ "At no instant exceeded (rebuilt from the log by the independent checker), zero slots held
    at rest, also after kills".
    """
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        place = InMemory(shared=True) if engines > 1 else None
        finished = run_scenario(limited(seed, engines=engines), place)
        assert_kept(finished, f"limits on seed {seed} with {engines} engines")
        counts += counts_of(finished)
    crashes = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST)
    assert all(counts[str(each)] for each in crashes), f"vacuous: {counts}"
    ends = ("CANCELLED", "COMPLETED", "PAUSE_REQUESTED")
    assert all(counts[each] for each in ends), f"vacuous: {counts}"


def printing() -> Scenario:
    """Three instances that compete for one slot and one mutex; one is cancelled while it waits."""
    shape = {
        **document(
            "printing",
            [task("a"), node("w", "delay", duration="PT5S"), task("b", mutex="printer")],
            edges("a > w > b"),
        ),
        "workflowOptions": {"concurrency": {"limit": 1}},
    }
    steady = plan_behaviours(shape, "steady", failing_percent=0, calm=True)
    jobs = [Job(shape, {"k": n}, steady, [], f"key {n}") for n in range(3)]
    jobs[2].actions = [Cancel(50, "not needed")]
    return Scenario("printing", jobs, NoFaults())


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST])
def test_a_crash_around_any_write_loses_no_slot(fault: Fault) -> None:
    """C8, "Concurrency permit lost when a waiting item was killed", C2 and C4: a process that dies
    between a release and the next grant, or between a grant and what it is for.
    """
    calm = printing()
    assert_kept(run_scenario(calm), "calm")
    assert isinstance(calm.fault_plan, NoFaults)
    writes = calm.fault_plan.writes
    assert writes > 20, "vacuous"
    first = list(Fault).index(fault) % STEP
    for number in range(1 + first, writes + 1, STEP):
        scenario = printing()
        scenario.fault_plan = AtWrite({number: fault})
        assert_kept(run_scenario(scenario), f"{fault} at write {number}")


def limits_are_not_compared() -> AbstractContextManager[Any]:
    return patch.object(_Pass, "_is_full", lambda *_: False)


def instances_begin_without_a_slot() -> AbstractContextManager[Any]:
    return patch("tenuto.core.flow._is_held_up", lambda _d: False)


def rest_gives_nothing_back() -> AbstractContextManager[Any]:
    """Of one that waits, the log says that it has given its slot back, and the store does not."""
    return patch("tenuto.engine.turns.obligations.Obligations.release_slot", lambda *_: None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "invariants"),
    [
        (limits_are_not_compared, {"I31"}),
        (instances_begin_without_a_slot, {"I31"}),
        (rest_gives_nothing_back, {"I45", "I25"}),
    ],
)
def test_the_checker_sees_slots_that_are_wrong(
    bug: Callable[[], AbstractContextManager[Any]], invariants: set[str]
) -> None:
    found: set[str] = set()
    for seed in range(6):
        with bug():
            finished = run_scenario(limited(seed))
        found |= {each.invariant for each in violations_of(finished)}
        if found & invariants:
            break
    assert found & invariants, f"only {found}"
