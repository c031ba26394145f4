"""Large definitions compile, larger ones are refused, and the work grows as the document does.

Work is counted in calls, of Python and of C, so that no busy machine makes a test fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenuto.definition import check, to_graph_form, to_steps_form
from tenuto.definition.flow import MOST_LOOPS
from tests.definition.values import Value
from tests.kit.calls import calls_of


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


def calls_to_check(document: Value) -> int:
    return calls_of(lambda: check(document))


def assert_linear(made: Callable[[int], Value], size: int) -> None:
    """Four times the size is not much more than four times the work."""
    check(made(4))  # what is done once in a process is not counted
    few, many = calls_to_check(made(size)), calls_to_check(made(4 * size))
    assert few > size
    assert many < 5 * few


def full_of_unknown_fields(count: int) -> Value:
    return {**chain(1), **{f"unknown{number}": 1 for number in range(count)}}


def with_unknown_targets(count: int) -> Value:
    document = chain(count)
    for step in document["steps"]:
        step["transitions"] = {"default": step["stepId"] + "x"}
    return document


def with_large_literal(count: int) -> Value:
    document = chain(1)
    document["steps"][0]["input"] = [[1, "x"]] * count
    return document


def nested_loops(depth: int) -> Value:
    nodes: list[Any] = [{"id": "s", "type": "start"}]
    nodes += [
        {"id": f"l{number}", "type": "loop", "config": {"source": [], "result": 1}}
        for number in range(depth)
    ]
    edges: Value = [{"source": "s", "target": "l0", "sourceHandle": "default"}]
    for number in range(depth - 1):
        inner, outer = f"l{number + 1}", f"l{number}"
        edges.append({"source": outer, "target": inner, "sourceHandle": "loop"})
        edges.append({"source": inner, "target": outer, "sourceHandle": "done"})
    return {"nodes": nodes, "edges": edges}


def wide_join(width: int) -> Value:
    names = [f"w{number}" for number in range(width)]
    steps: Value = [
        {"stepId": "s", "type": "TASK", "taskId": "t", "transitions": {"default": names}}
    ]
    steps += [
        {"stepId": name, "type": "TASK", "taskId": "t", "transitions": {"default": "j"}}
        for name in names
    ]
    steps.append({"stepId": "j", "type": "TASK", "taskId": "t", "joinMode": {"atLeast": width}})
    return {"steps": steps}


@pytest.mark.parametrize(
    ("made", "size"),
    [
        (chain, 200),
        (wide_join, 200),
        (with_large_literal, 2000),
        (full_of_unknown_fields, 2000),
        (nested_loops, 100),
    ],
)
def test_work_grows_as_the_document_does(made: Callable[[int], Value], size: int) -> None:
    assert_linear(made, size)


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
def test_loops_nested_thousands_deep_are_refused_by_the_first_that_is_too_deep() -> None:
    document = nested_loops(3000)
    [problem] = check(document).problems
    assert (problem.code, problem.path) == ("TEN-1054", "$.nodes[17]")
    start, *loops = document["nodes"]
    [problem] = check({**document, "nodes": [*reversed(loops), start]}).problems
    assert (problem.code, problem.path) == ("TEN-1054", "$.nodes[2983]")


def test_loops_as_deep_as_may_be_compile() -> None:
    assert check(nested_loops(MOST_LOOPS)).problems == ()


@pytest.mark.slow
def test_wide_joins_compile() -> None:
    assert check(wide_join(19_998)).problems == ()


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "document",
    [full_of_unknown_fields(100_000), with_unknown_targets(5000)],
    ids=["fields", "targets"],
)
def test_a_thousand_problems_are_enough(document: Value) -> None:
    assert len(check(document).problems) == 1000


def test_a_large_literal_compiles() -> None:
    assert check(with_large_literal(100_000)).problems == ()
