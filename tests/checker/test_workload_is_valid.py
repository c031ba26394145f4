"""Everything that the workload makes is a definition that can be saved and started."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from tenuto.definition import check
from tests.kit.checker.graph import read
from tests.kit.workload import (
    Decide,
    Document,
    Publish,
    Taste,
    approval_shapes,
    behaviour_of,
    deep,
    loop_shapes,
    make_input,
    plan_actions,
    plan_behaviours,
    random_document,
    to_steps,
    topologies,
    topologies_in_steps_form,
    wide,
)
from tests.kit.workload.choices import Seeded
from tests.kit.workload.strategies import documents, inputs


def problems(document: Document) -> list[object]:
    # A workload also asks for values that are not there (TEN-1058).
    return [each for each in check(document).problems if each.code != "TEN-1058"]


def test_there_are_twelve_topologies_and_all_are_valid() -> None:
    assert len(topologies()) == 12
    assert [found for document in topologies().values() for found in problems(document)] == []


@pytest.mark.parametrize("id", topologies_in_steps_form())
def test_a_topology_means_the_same_in_steps_form(id: str) -> None:
    steps = topologies_in_steps_form()[id]
    assert problems(steps) == []
    drawn, said = read(topologies()[id]), read(steps)
    assert drawn.roots == said.roots
    assert {name: len(node.incoming) for name, node in drawn.nodes.items()} == {
        name: len(node.incoming) for name, node in said.nodes.items()
    }


@pytest.mark.parametrize("document", [wide(1_000), deep(1_000)], ids=lambda made: made["id"])
def test_large_shapes_are_valid(document: Document) -> None:
    assert problems(document) == []
    assert len(document["nodes"]) >= 1_000


@pytest.mark.slow
def test_documents_of_seeds_are_valid_in_both_forms() -> None:
    for seed in range(150):
        document = random_document(seed)
        assert problems(document) == [], seed
        steps = to_steps(document)
        assert steps is None or problems(steps) == [], seed


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=documents(), given_input=inputs())
def test_drawn_documents_are_valid(document: Document, given_input: Document) -> None:
    assert problems(document) == []
    assert set(given_input) == {"k", "flag", "items"}


def test_documents_have_everything_that_this_part_of_the_product_does() -> None:
    types: set[str] = set()
    settings_seen: set[str] = set()
    for seed in range(200):
        for node in random_document(seed)["nodes"]:
            types.add(node["type"])
            settings_seen |= node["config"].keys()
    assert types == {
        "start", "end", "task", "condition", "delay", "eventWait", "terminate", "loop", "approval",
        "set", "javascript", "http", "dataQuery",
    }  # fmt: skip
    assert settings_seen >= {
        "joinMode", "cancelRest", "cancels", "when", "conditions", "onError", "retry", "handles",
        "timeout", "errorHandling", "eventTimeout", "lookback", "outputVariable", "select",
    }  # fmt: skip


def test_loops_are_of_every_kind() -> None:
    seen: set[str] = set()
    bodies: set[str] = set()
    for seed in range(300):
        graph = read(random_document(seed))
        for node in graph.nodes.values():
            if node.loop is not None:
                bodies |= {node.type, *node.config} | (
                    {"join"} if len(node.incoming) > 1 else set()
                )
                bodies |= {f"{edge.handle} edge" for edge in node.outgoing}
                bodies |= (
                    {"back"} if node.handles - {edge.handle for edge in node.outgoing} else set()
                )
            if node.type == "loop":
                seen |= {*node.config, f"enough {type(node.config.get('enough')).__name__}"}
                seen |= {f"{node.config.get('mode')} {node.config.get('onItemError')}"}
                seen |= {f"{handle} edge" for handle in node.handles}
                seen |= {"nested"} if node.loop is not None else set()
    assert seen >= {
        "source", "while", "concurrency", "maxIterations", "enough int", "enough str", "cancelRest",
        "result", "timeout", "nested", "done edge", "error edge", "parallel continue",
        "parallel fail", "sequential continue", "None None",
    }  # fmt: skip
    assert bodies >= {
        "task", "condition", "delay", "eventWait", "terminate", "loop", "join", "joinMode",
        "cancelRest", "cancels", "when", "error edge", "timeout edge", "back",
    }  # fmt: skip


def test_loop_and_approval_shapes_are_valid_in_both_forms() -> None:
    for document in (*loop_shapes().values(), *approval_shapes().values()):
        assert problems(document) == []
        steps = to_steps(document)
        assert steps is None or problems(steps) == []


def test_a_taste_without_races_has_none() -> None:
    for seed in range(100):
        for node in random_document(seed, Taste(races=False))["nodes"]:
            assert not node["config"].keys() & {"joinMode", "cancelRest", "cancels"}
            assert node["type"] != "terminate"


def test_a_seed_always_gives_the_same_work() -> None:
    def work(seed: int) -> str:
        document = random_document(seed)
        given_input = make_input(Seeded(seed))
        table = plan_behaviours(document, seed)
        actions = plan_actions(document, given_input, seed)
        return json.dumps([document, given_input, repr(table), repr(actions)])

    assert [work(seed) for seed in range(20)] == [work(seed) for seed in range(20)]
    assert work(1) != work(2)


def test_tasks_go_on_as_they_were_last_told() -> None:
    table = plan_behaviours(topologies()["error-path"], 3, failing_percent=100)
    assert behaviour_of(table, "risky", 0) == table["risky", 1]
    assert behaviour_of(table, "risky", 99) == table["risky", 4]


def test_clients_repeat_themselves_and_nearly_miss() -> None:
    kinds: set[str] = set()
    for seed in range(200):
        for action in plan_actions(random_document(seed), {"k": 1, "flag": True}, seed):
            if isinstance(action, Publish | Decide):
                kinds.add(action.why)
            else:
                kinds.add(type(action).__name__)
    assert kinds == {
        "matching", "near miss", "duplicate", "early", "late", "finishing", "Cancel", "Pause",
        "Resume", "Retry", "may", "may not", "twice",
    }  # fmt: skip
