"""Large definitions compile, larger ones are refused, and neither takes long."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tenuto.definition import check, to_graph_form, to_steps_form
from tests.definition.values import Value


def chain(length: int) -> dict[str, Any]:
    steps: Value = [
        {
            "stepId": f"s{number}",
            "type": "TASK",
            "taskId": "t",
            "input": {"n": "{{ctx.input.n}}"},
            "transitions": {"default": f"s{number + 1}"},
        }
        for number in range(length)
    ]
    del steps[-1]["transitions"]
    return {"steps": steps}


def seconds(document: dict[str, Any]) -> float:
    start = time.process_time()
    check(document)
    return time.process_time() - start


def test_a_thousand_nodes_compile_in_less_than_a_second() -> None:
    assert min(seconds(chain(1000)) for _ in range(3)) < 1


@pytest.mark.slow
def test_a_chain_of_twenty_thousand_steps_compiles() -> None:
    checked = check(chain(20_000))
    assert checked.problems == ()
    assert checked.definition is not None
    assert len(to_graph_form(checked.definition)["nodes"]) == 20_000  # type: ignore[arg-type]
    assert len(to_steps_form(checked.definition)["steps"]) == 20_000  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_circle_of_twenty_thousand_steps_is_one_readable_problem() -> None:
    document = chain(20_000)
    document["steps"][-1]["transitions"] = {"default": "s0"}
    [problem] = check(document).problems
    assert problem.code == "TEN-1042"
    assert len(problem.message) < 1000


@pytest.mark.slow
def test_loops_nested_thousands_deep_compile() -> None:
    depth = 3000
    nodes: list[Any] = [
        {"id": f"l{number}", "type": "loop", "config": {"source": []}} for number in range(depth)
    ]
    edges: Value = [
        {"source": f"l{number}", "target": f"l{number + 1}", "sourceHandle": "loop"}
        for number in range(depth - 1)
    ]
    edges += [
        {"source": f"l{number + 1}", "target": f"l{number}", "sourceHandle": "done"}
        for number in range(depth - 1)
    ]
    document: Value = {"nodes": list(reversed(nodes)), "edges": edges}
    start = time.process_time()
    check(document)
    assert time.process_time() - start < 20
    nodes.insert(0, {"id": "s", "type": "start"})
    edges.append({"source": "s", "target": "l0", "sourceHandle": "default"})
    assert check({"nodes": nodes, "edges": edges}).problems == ()


@pytest.mark.slow
def test_wide_joins_compile() -> None:
    names = [f"w{number}" for number in range(19_998)]
    steps: Value = [
        {"stepId": "s", "type": "TASK", "taskId": "t", "transitions": {"default": names}}
    ]
    steps += [
        {"stepId": name, "type": "TASK", "taskId": "t", "transitions": {"default": "j"}}
        for name in names
    ]
    steps.append(
        {"stepId": "j", "type": "TASK", "taskId": "t", "joinMode": {"atLeast": len(names)}}
    )
    assert check({"steps": steps}).problems == ()


def test_more_nodes_than_the_limit_are_refused() -> None:
    assert [each.code for each in check(chain(20_001)).problems] == ["TEN-1004"]


def test_more_bytes_than_the_limit_are_refused() -> None:
    document = {**chain(1), "description": "x" * 16_000_001}
    assert [each.code for each in check(document).problems] == ["TEN-1004"]


@pytest.mark.parametrize("deep", [101, 100_000])
def test_values_nested_too_deeply_are_refused(deep: int) -> None:
    value: Value = 1
    for _ in range(deep):
        value = [value]
    problems = check({"steps": [{"stepId": "a", "type": "TASK", "input": value}]}).problems
    assert [each.code for each in problems] == ["TEN-1005"]


def test_a_document_full_of_faults_is_answered_soon_and_in_bounds() -> None:
    document = {**chain(1), **{f"unknown{number}": 1 for number in range(100_000)}}
    start = time.process_time()
    problems = check(document).problems
    assert len(problems) == 1000
    assert time.process_time() - start < 20


def test_unknown_targets_by_the_thousand_are_answered_soon() -> None:
    document = chain(5000)
    for step in document["steps"]:
        step["transitions"] = {"default": step["stepId"] + "x"}
    start = time.process_time()
    assert len(check(document).problems) == 1000
    assert time.process_time() - start < 20


@pytest.mark.slow
def test_a_large_literal_is_walked_in_place() -> None:
    document = chain(1)
    document["steps"][0]["input"] = [[1, "x"]] * 500_000
    start = time.process_time()
    assert check(document).problems == ()
    assert time.process_time() - start < 20
