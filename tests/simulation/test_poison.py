"""A decision that kills its process every time: two processes at most, and nothing else suffers."""

from __future__ import annotations

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault, NoFaults
from tests.kit.memory_tables import cold_tables
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.poison import Poison
from tests.kit.simulator.scenario import Job, Scenario
from tests.kit.simulator.verdict import assert_kept, run_scenario
from tests.kit.workload import Document, loop_shapes, plan_behaviours, topologies

SHAPES = ("linear", "fan-in", "delay", "nested-loops")


def job_of(document: Document, key: str) -> Job:
    steady = plan_behaviours(document, key, failing_percent=0, calm=True)
    return Job(document, {"k": 5, "flag": True}, steady, [], key)


def runs(
    shape: str, *, is_hang: bool, engines: int = 1, faults: dict[int, Fault] | None = None
) -> tuple[int, int]:
    """Run one poisonous instance beside two others; how many processes it cost, and the writes."""
    shapes = topologies() | loop_shapes()
    deadly: Document = {**shapes[shape], "id": "deadly"}
    jobs = [job_of(deadly, "deadly"), *(job_of(shapes[each], each) for each in SHAPES[:2])]
    poison = Poison("deadly", is_hang=is_hang)
    fault_plan = AtWrite(faults) if faults else NoFaults()
    scenario = Scenario(f"poison: {shape}", jobs, fault_plan, engines=engines, poison=poison)
    finished = run_scenario(scenario, InMemory(shared=engines > 1))
    assert_kept(finished, f"runs({shape!r}, {is_hang=}, {engines=}, {faults=})")
    assert poison.is_mended, "vacuous: it was never quarantined"
    return poison.losses, fault_plan.writes


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_poison_is_quarantined_after_two_processes_and_others_end(shape: str, engines: int) -> None:
    assert runs(shape, is_hang=False, engines=engines)[0] == 2


@pytest.mark.parametrize("engines", [1, 2])
def test_a_hang_costs_the_process_that_the_watchdog_kills(engines: int) -> None:
    assert runs("linear", is_hang=True, engines=engines)[0] == 1


@pytest.mark.parametrize(("engines", "later"), [(1, 4), (2, 6)])
def test_an_instance_is_not_quarantined_because_processes_died_by_chance(
    engines: int, later: int
) -> None:
    """Killed in a decision, and again in a later one: what was decided on in between is cleared."""
    poison, place = Poison("deadly", only_at={1, later}), InMemory(shared=engines > 1)
    deadly: Document = {**topologies()["linear"], "id": "deadly"}
    job = job_of(deadly, "deadly")
    scenario = Scenario("by chance", [job], NoFaults(), engines=engines, poison=poison)
    assert_kept(run_scenario(scenario, place), "killed by chance")
    assert (poison.losses, poison.is_mended) == (2, False)
    if engines == 1:
        assert "quarantine" not in cold_tables(place.disk)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.UNAVAILABLE])
def test_poison_costs_no_more_whatever_else_goes_wrong(mode: Fault) -> None:
    _, writes = runs("linear", is_hang=False)
    for number in range(5, writes + 1):
        losses, _ = runs("linear", is_hang=False, faults={number: mode})
        assert losses == 2
