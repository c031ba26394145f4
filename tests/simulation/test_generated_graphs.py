"""Graphs that Hypothesis makes, hundreds of instances at once, in a calm world and in a storm."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tenuto.testing.fault_plan import NoFaults
from tests.kit.breadth import breadth
from tests.kit.checker.graph import read
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.scenario import Knobs, Scenario, job_of
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario
from tests.kit.simulator.world import Finished
from tests.kit.workload import Document, Taste, loop_shapes, topologies
from tests.kit.workload.strategies import documents

OF_EACH = breadth(25, 200)
UNHURRIED = settings(
    max_examples=breadth(12, 100),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.slow
@UNHURRIED
@given(document=documents(Taste(largest=14)), seed=st.integers(0, 2**32))
def test_every_instance_of_a_generated_graph_ends(document: Document, seed: int) -> None:
    """ "generated graphs (Hypothesis): every instance ends, each node completes once, each join
    fires exactly once, no dead path hangs".
    """
    random = Random(seed)
    jobs = [job_of(f"{seed}-{number}", document, random) for number in range(5)]
    finished = run_scenario(Scenario(seed, jobs, RandomFaults(random, faults=8, rate=0.1)))
    assert_kept(finished, f"{document!r} with seed {seed}")
    _each_node_completes_once(finished)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_hundreds_of_instances_at_once_all_end(part: int) -> None:
    """ "Seed 002's twelve topologies …, hundreds of instances at once: every instance ends"."""
    shapes = sorted(topologies())[part::3]
    random = Random(f"{shapes}")
    jobs = [
        job_of(f"{shape}-{number}", topologies()[shape], random)
        for shape in shapes
        for number in range(OF_EACH)
    ]
    assert len(jobs) >= 100
    scenario = Scenario(f"{shapes}", jobs, NoFaults(), knobs=Knobs(most_rows=200, page=50))
    finished = run_scenario(scenario)
    assert_kept(finished, f"{OF_EACH} instances of each of {shapes}")
    _each_node_completes_once(finished)
    first = [each.history[0]["payload"] for each in finished.run.instances]
    assert sum("rerunOf" not in each for each in first) == len(jobs)


@pytest.mark.slow
def test_loops_of_many_instances_at_once_all_end() -> None:
    """Every kind of loop, many instances of each beside each other, under faults."""
    random = Random("loops")
    jobs = [
        job_of(f"{shape}-{number}", document, random)
        for shape, document in loop_shapes().items()
        for number in range(10)
    ]
    fault_plan = RandomFaults(Random("weather of loops"), faults=40, rate=0.05)
    finished = run_scenario(Scenario("loops", jobs, fault_plan, knobs=Knobs(snapshot_every=4)))
    assert_kept(finished, "10 instances of each loop")
    _each_node_completes_once(finished)
    counts = counts_of(finished)
    assert counts["completed loop"] > 50
    assert counts["ITERATION_ENDED"] > 150


def _each_node_completes_once(finished: Finished) -> None:
    for instance in finished.run.instances:
        completed = Counter(
            (row["nodeId"], row["iteration"])
            for row in instance.history
            if row["eventType"] == "NODE_COMPLETED"
        )
        assert all(number == 1 for number in completed.values()), (instance.id, completed)
        assert {node for node, _ in completed} <= read(instance.document).nodes.keys()
