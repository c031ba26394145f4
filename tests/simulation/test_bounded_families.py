"""Workflows that multiply: one instance leads to so many at most, with crashes and two engines."""

from __future__ import annotations

from random import Random

import pytest

from tests.kit.breadth import breadth
from tests.kit.checker import Instance, Run, check
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Job, Knobs, Scenario, job_of
from tests.kit.simulator.verdict import assert_kept, run_scenario, without_owners
from tests.kit.workload import Document
from tests.kit.workload.drawing import document, edges, node, task
from tests.kit.workload.families import call

MOST = 12
TENFOLD: Document = document("tenfold", [call(f"c{n}", "tenfold") for n in range(10)], [])
DOUBLING: Document = document(
    "doubling",
    [node("a", "emit", pattern="told"), node("b", "emit", pattern="told"), task("rest")],
    edges("a > b > rest"),
) | {"triggers": [{"eventPattern": "told", "inputMapping": {"k": "{{1}}"}}]}


def scenario(seed: int, multiplying: Document, *, engines: int = 1) -> Scenario:
    random = Random(f"multiplying {seed}")
    job: Job = job_of(f"{seed}-0", multiplying, random, interrupts=False)
    quiet = job_of(f"{seed}-1", document("quiet", [task("only")], []), random, interrupts=False)
    plan = RandomFaults(Random(f"faults {seed}"), faults=4, rate=0.02)
    knobs = Knobs(descendants=MOST, mail_every=5.0)
    return Scenario(seed, [job, quiet], plan, knobs=knobs, engines=engines)


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("multiplying", [TENFOLD, DOUBLING], ids=lambda each: str(each["id"]))
def test_one_instance_leads_to_so_many_at_most(multiplying: Document, engines: int) -> None:
    for seed in range(breadth(1, 5)):
        place = InMemory(shared=engines > 1)
        finished = run_scenario(scenario(seed, multiplying, engines=engines), place)
        assert_kept(
            without_owners(finished), f"scenario({seed}, {multiplying['id']}, engines={engines})"
        )
        assert finished.run.most_descendants == MOST * engines + 10
        assert len(list(finished.run.instances)) > MOST // 2, "vacuous: it did not multiply"


def test_the_checker_sees_a_family_that_is_too_large() -> None:
    def born(id: str, **more: str) -> Instance:
        at = "2026-01-01T00:00:00.000Z"
        made = {"input": None, "definitionId": "d", "definitionVersion": 1, **more}
        row = {"seq": 1, "eventType": "INPUT_SET", "at": at, "payload": made}
        return Instance(id=id, document=document("d", [task("t")], []), history=[row])

    family = [born("root"), *(born(f"i{number}", origin="root") for number in range(3))]
    for most, is_broken in ((3, False), (2, True)):
        broken = check(Run(instances=family, at_rest=False, most_descendants=most))
        assert any("has led to 3 at once" in str(each) for each in broken) is is_broken
