"""The suites of the simulator on a real PostgreSQL: what holds in memory holds there."""

from __future__ import annotations

from itertools import cycle
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.breadth import EVERY_WRITE, breadth
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import Knobs, Scenario, job_of
from tests.kit.simulator.verdict import assert_kept, run_scenario
from tests.kit.workload import Document, Taste, loop_shapes, topologies
from tests.kit.workload.strategies import documents
from tests.simulation.test_crash_at_every_write import MODES, jobs_for

INSTANCES = breadth(1, 5)
SHAPES = ["event-wait", "delay", "quorum", "for-each"] if EVERY_WRITE else ["event-wait"]


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [topologies(), loop_shapes()], ids=["topologies", "loops"])
def test_every_shape_ends_under_faults(shapes: dict[str, Document]) -> None:
    random = Random("on PostgreSQL")
    jobs = [
        job_of(f"{shape}-{number}", document, random)
        for shape, document in shapes.items()
        for number in range(INSTANCES)
    ]
    fault_plan = RandomFaults(random, faults=30, rate=0.05)
    scenario = Scenario("on PostgreSQL", jobs, fault_plan, knobs=Knobs(most_rows=200, page=50))
    finished = run_scenario(scenario, InPostgres())
    assert_kept(finished, f"{INSTANCES} instances of each of {sorted(shapes)} on PostgreSQL")
    assert len(list(finished.run.instances)) >= len(jobs)


@pytest.mark.slow
@settings(
    max_examples=breadth(3, 8),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(document=documents(Taste(largest=14)), seed=st.integers(0, 2**32))
def test_every_instance_of_a_generated_graph_ends(document: Document, seed: int) -> None:
    random = Random(seed)
    jobs = [job_of(f"{seed}-{number}", document, random) for number in range(3)]
    fault_plan = RandomFaults(random, faults=8, rate=0.1)
    finished = run_scenario(Scenario(seed, jobs, fault_plan), InPostgres())
    assert_kept(finished, f"{document!r} with seed {seed} on PostgreSQL")


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_lost_at_any_write(shape: str) -> None:
    """R3, with a real server behind it: one of the faults at a write, in turn."""
    modes = cycle(MODES)
    writes = _writes(shape, {})
    assert writes >= 4
    for number in range(1, writes + 1, breadth(8, 1)):
        _writes(shape, {number: next(modes)})


def _writes(shape: str, faults: dict[int, Fault]) -> int:
    fault_plan = AtWrite(faults)
    finished = run_scenario(Scenario(shape, jobs_for(shape), fault_plan), InPostgres())
    assert_kept(finished, f"{shape} with {faults!r} on PostgreSQL")
    return fault_plan.writes
