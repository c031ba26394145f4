"""The product's own decisions: the checker finds nothing, and the oracle comes to the same end."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest

from tests.checker.core_driver import CoreDriver
from tests.kit.breadth import breadth
from tests.kit.checker import Run, check, counted
from tests.kit.checker.graph import read
from tests.kit.checker.picture import Picture
from tests.kit.checker.record import row_of
from tests.kit.oracle import agrees, certain
from tests.kit.workload import (
    Action,
    Behaviour,
    Document,
    Seeded,
    Taste,
    approval_shapes,
    deep,
    loop_shapes,
    make_input,
    plan_actions,
    plan_behaviours,
    random_document,
    topologies,
    topologies_in_steps_form,
    wide,
)
from tests.kit.workload.business import business_shapes, with_working_time


class Work(NamedTuple):
    document: Document
    input: Document
    behaviours: dict[tuple[str, int], Behaviour]
    actions: list[Action]


def work(seed: int, taste: Taste | None = None) -> Work:
    document, given = random_document(seed, taste), make_input(Seeded(f"input {seed}"))
    actions = plan_actions(document, given, seed)
    return Work(document, given, plan_behaviours(document, seed), actions)


def driven(made: Work, losing_percent: int = 0) -> Run:
    driver = CoreDriver(made.document, made.input, made.behaviours, losing_percent=losing_percent)
    return driver.run(made.actions)


def end_of(run: Run, document: Document) -> tuple[str, object, dict[str, str]]:
    """Status, output and nodes, by the log."""
    [instance] = run.instances
    picture = Picture(instance.id, read(document))
    for item in instance.history:
        picture.apply(row_of(item))
    nodes = {life.name: min(life.statuses) for life in picture.lives.values()}
    output = (instance.row or {}).get("output")
    return picture.status if picture.is_final else "OPEN", output, nodes


def assert_nothing_broken(run: Run, seed: object) -> None:
    found = check(run)
    assert not found, f"seed {seed}\n" + "\n".join(map(str, found))


@pytest.mark.slow
@pytest.mark.parametrize("losing_percent", [0, 15])
def test_the_checker_finds_nothing_in_random_work(losing_percent: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(100):
        run = driven(work(seed), losing_percent)
        assert_nothing_broken(run, seed)
        counts += counted(run)
    for name in (
        "COMPLETED", "FAILED", "CANCELLED", "join", "skipped when", "skipped dead-path",
        "skipped cancelled", "region called off", "event taken", "TIMER_FIRED", "RETRY_SCHEDULED",
        "PAUSE_REQUESTED", "NODE_CANCEL_REQUESTED", "iteration success", "iteration error",
        "iteration cancelled", "decision approved", "decision rejected", "fired reminder",
        "fired escalation",
    ):  # fmt: skip
        assert counts[name] > 0, name
    assert (counts["LOST"] > 0) == (losing_percent > 0)


def test_a_node_that_is_always_lost_is_poison() -> None:
    document = topologies()["error-path"]
    run = CoreDriver(document, {"k": 1}, plan_behaviours(document, 1), losing_percent=100).run()
    assert_nothing_broken(run, "poison")
    assert counted(run)["POISON"] >= 1


SHAPES = topologies() | loop_shapes() | approval_shapes() | business_shapes()


@pytest.mark.parametrize("id", SHAPES)
@pytest.mark.parametrize("failing_percent", [0, 100])
def test_every_topology_ends_as_the_oracle_says(id: str, failing_percent: int) -> None:
    document, given = SHAPES[id], {"k": 5, "flag": True}
    sure = 0
    for seed in range(6):
        behaviours = plan_behaviours(document, seed, failing_percent=failing_percent)
        made = Work(document, given, behaviours, plan_actions(document, given, seed))
        run = driven(made)
        assert_nothing_broken(run, seed)
        expected = certain(*made)
        if expected is not None:
            sure += 1
            assert agrees(expected, *end_of(run, document)), (expected, end_of(run, document))
    assert sure >= 2


@pytest.mark.parametrize("id", topologies_in_steps_form())
def test_a_topology_in_steps_form_ends_as_in_graph_form(id: str) -> None:
    drawn, said, given = topologies()[id], topologies_in_steps_form()[id], {"k": 5, "flag": True}
    behaviours = plan_behaviours(drawn, id)
    one = driven(Work(drawn, given, behaviours, []))
    other = driven(Work(said, given, behaviours, []))
    assert_nothing_broken(other, id)
    assert end_of(one, drawn) == end_of(other, said)


@pytest.mark.slow
def test_random_work_ends_as_the_oracle_says() -> None:
    sure = in_loops = 0
    for seed in range(80):
        made = work(seed, Taste(races=seed % 2 == 0))
        expected = certain(*made)
        if expected is None:
            continue
        sure += 1
        in_loops += any("[" in name for name in expected.nodes)
        found = end_of(driven(made), made.document)
        assert agrees(expected, *found), (seed, expected, found)
    assert sure >= 60, "an oracle that is never sure says nothing"
    assert in_loops >= 5, "vacuous: hardly any loops"


@pytest.mark.slow
def test_work_in_working_time_is_judged_and_ends_as_the_oracle_says() -> None:
    """Business timers and SLAs, by a calendar that the checker and the oracle count by hand."""
    sure, counts = 0, Counter[str]()
    for seed in range(breadth(60, 600)):
        made = work(seed)
        made = made._replace(document=with_working_time(made.document, seed))
        run = driven(made, 10 if seed % 3 == 0 else 0)
        assert_nothing_broken(run, seed)
        counts += counted(run)
        expected = certain(*made) if seed % 3 else None
        if expected is not None:
            sure += 1
            found = end_of(run, made.document)
            assert agrees(expected, *found), (seed, expected, found)
    assert sure >= 20, "an oracle that is never sure says nothing"
    for name in ("SLA_SET", "SLA_FIRED", "TIMER_SET", "RETRY_SCHEDULED", "fired reminder"):
        assert counts[name] > 0, name


@pytest.mark.parametrize("document", [wide(300), deep(300)], ids=lambda made: made["id"])
def test_large_shapes_end(document: Document) -> None:
    behaviours = plan_behaviours(document, 1, failing_percent=0)
    run = driven(Work(document, {"k": 1}, behaviours, []))
    assert_nothing_broken(run, document["id"])
    assert end_of(run, document)[0] == "COMPLETED"
