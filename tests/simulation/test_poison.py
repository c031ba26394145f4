"""A decision that kills its process every time: two processes at most, and nothing else suffers."""

from __future__ import annotations

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault, NoFaults
from tests.kit.memory_tables import cold_tables
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.poison import Poison
from tests.kit.simulator.scenario import Job, Scenario
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import assert_kept, run_scenario
from tests.kit.workload import Document, loop_shapes, plan_behaviours, topologies
from tests.kit.workload.families import families

SHAPES = ("linear", "fan-in", "delay", "nested-loops")
MODES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST, Fault.UNAVAILABLE)


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


def killed_at(shape: str, engines: int, first: int, later: int) -> Poison:
    """A run in which processes die by chance, at two decisions on one instance."""
    poison = Poison("deadly", only_at={first, later})
    deadly: Document = {**topologies()[shape], "id": "deadly"}
    job = job_of(deadly, "deadly")
    scenario = Scenario("by chance", [job], NoFaults(), engines=engines, poison=poison)
    finished = run_scenario(scenario, InMemory(shared=engines > 1))
    assert_kept(finished, f"killed_at({shape!r}, {engines}, {first}, {later})")
    return poison


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("shape", ["fan-in", "quorum"])
def test_two_deaths_at_different_decisions_quarantine_no_instance(shape: str, engines: int) -> None:
    """Where it can be told: recovery from the first death may be deadly for the same reason."""
    told = 0
    for first in range(1, 4):
        for later in range(first + 1, first + 6):
            poison = killed_at(shape, engines, first, later)
            if len(set(poison.places)) == 2 and not poison.places[1].startswith("AttemptLost"):
                assert not poison.is_mended, (first, later, poison.places)
                told += 1
    assert told, "vacuous: all deaths were at the same place"


@pytest.mark.parametrize(("is_hang", "losses"), [(False, 2), (True, 1)])
@pytest.mark.parametrize("engines", [1, 2])
def test_a_child_whose_start_is_deadly_fails_its_parent_after_two_processes(
    engines: int, is_hang: bool, losses: int
) -> None:
    """Its start is refused, since there is no instance that could be released."""
    family = families()["one-child"]
    [child] = family.children
    poison, place = (
        Poison(str(child["id"]), is_hang=is_hang, at_start=True),
        InMemory(shared=engines > 1),
    )
    job = job_of(family.parent, "parent")
    job.children = list(family.children)
    scenario = Scenario("deadly start", [job], NoFaults(), engines=engines, poison=poison)
    assert_kept(run_scenario(scenario, place), f"deadly start, {engines=}, {is_hang=}")
    assert (poison.losses, poison.is_mended) == (losses, False)
    if engines == 1:
        assert "quarantine" not in cold_tables(place.disk)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_poison_costs_no_more_whatever_else_goes_wrong(mode: Fault) -> None:
    _, writes = runs("linear", is_hang=False)
    for number in some_of(writes, mode, MODES):
        if number >= 5:
            losses, _ = runs("linear", is_hang=False, faults={number: mode})
            assert losses == 2
