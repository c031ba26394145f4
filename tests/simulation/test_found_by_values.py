"""Instances that rest are found by the values that they have, wherever a process was lost."""

from __future__ import annotations

import pytest

from tenuto.model.json import Object
from tenuto.model.search_terms import SearchTerm, term_of
from tenuto.store.memory.disk import unpack
from tenuto.store.parts.turns import Searchable
from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.checker import Instance
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Job, Scenario
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import assert_kept, run_scenario
from tests.kit.workload import Publish, loop_shapes, plan_behaviours, topologies
from tests.simulation.test_crash_at_every_write import MODES

SHAPES = ("linear", "event-wait", "error-path", "items-may-fail")
EVENT = Publish(4_000, "e", "evt.wait", {"k": 5}, "matching")


def values_of(instance: Instance) -> Object:
    """What its log says that it has."""
    state = instance.state
    assert state is not None
    return {**state["variables"], "input": state["input"]}


def ran(shape: str, faults: dict[int, Fault]) -> int:
    """Run a shape in which every variable is searchable; how many durable writes it made."""
    document = dict((topologies() | loop_shapes())[shape])
    names = {str(each["config"].get("outputVariable", each["id"])) for each in document["nodes"]}
    document["options"] = document.get("options", {}) | {"searchable": sorted({*names, "input"})}
    steady = plan_behaviours(document, shape, failing_percent=0, calm=True)
    fault_plan, place = AtWrite(faults), InMemory()
    job = Job(document, {"k": 5, "flag": True}, steady, [EVENT], "the key")
    finished = run_scenario(Scenario(f"found: {shape}", [job], fault_plan), place)
    assert_kept(finished, f"ran({shape!r}, {faults!r})")
    for instance in finished.run.instances:
        assert instance.owner is None
        values = values_of(instance)
        expected = [
            term_of(name, value) for name, value in values.items() if name in names | {"input"}
        ]
        assert len(expected) > 1, "vacuous: nothing but its input"
        assert found_by(place, instance.id) == set(expected)
    return fault_plan.writes


def found_by(place: InMemory, id: str) -> set[SearchTerm]:
    return set(unpack(Searchable, place.disk.searchable[id]).terms)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:3], ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", SHAPES)
def test_what_rests_is_found_by_what_it_has_wherever_a_process_was_lost(
    shape: str, mode: Fault
) -> None:
    for number in some_of(ran(shape, {}), mode):
        ran(shape, {number: mode})
