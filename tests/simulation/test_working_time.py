"""Business timers and SLAs: a fault at each write, faults at random, several engines."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.breadth import breadth
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.outside import Ear
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Scenario, job_of
from tests.kit.simulator.thinning import few_of
from tests.kit.simulator.verdict import assert_kept, run_scenario
from tests.kit.workload import random_document
from tests.kit.workload.business import business_shapes, with_working_time
from tests.kit.workload.draft import Taste

MODES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST, Fault.UNAVAILABLE)
SHAPES = business_shapes()


def runs_with(name: str, faults: dict[int, Fault]) -> int:
    """Run a shape with these faults; returns how many durable writes it made."""
    job = job_of(f"2-{name}", SHAPES[name], Random(name), interrupts=False)
    plan = AtWrite(faults)
    finished = run_scenario(Scenario(f"{name} 2", [job], plan))
    assert_kept(finished, f"runs_with({name!r}, {faults!r})")
    [instance] = finished.run.instances
    kinds = {(row["payload"] or {}).get("kind") for row in instance.history}
    assert {"sla", "sla-warning"} <= kinds, "vacuous: nothing was missed"
    return plan.writes


@cache
def writes_of(name: str) -> int:
    return runs_with(name, {})


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_fault_at_each_write_moves_no_moment_and_tells_nothing_twice(name: str) -> None:
    for mode in MODES:
        for number in few_of(writes_of(name), mode):
            runs_with(name, {number: mode})


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_faults_at_random(engines: int) -> None:
    for seed in range(breadth(3, 200)):
        name = f"working-{engines}-{seed}"
        document = with_working_time(random_document(name, Taste(largest=10)), name)
        jobs = [job_of(f"{name}-{place}", document, Random(f"{name}{place}")) for place in (1, 2)]
        weather = RandomFaults(random=Random(f"weather {name}"), faults=8, rate=0.1)
        scenario = Scenario(name, jobs, weather, engines=engines)
        finished = run_scenario(scenario, InMemory(shared=engines > 1))
        assert_kept(finished, f"faults at random, {name}")


def test_listeners_hear_of_an_sla_once_each() -> None:
    job = job_of("2-promised", SHAPES["promised"], Random("told"), interrupts=False)
    ears = [Ear("slas", ("workflow.sla.*",)), Ear("everything", ("**",))]
    scenario = Scenario("told", [job], AtWrite({9: Fault.CRASH_AFTER}), ears=ears)
    finished = run_scenario(scenario)
    assert_kept(finished, "listeners hear of an SLA")
    heard = {each["id"]: each for each in finished.run.heard or () if each["listener"] == "slas"}
    assert len(heard) >= 4, "vacuous: hardly anything was missed"
