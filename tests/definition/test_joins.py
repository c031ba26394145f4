"""Handles, joins and error targets fit the nodes they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.definition import check
from tests.definition.values import Value


def task(name: str, **fields: Value) -> dict[str, Any]:
    return {"stepId": name, "type": "TASK", "taskId": "t", **fields}


def fork(select: str, **transitions: Value) -> dict[str, Any]:
    branches = [{"id": "x", "when": "1"}, {"id": "y", "when": "1"}]
    return {
        "stepId": "fork",
        "type": "CONDITION",
        "branches": branches,
        "select": select,
        "transitions": transitions,
    }


def found(*steps: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in check({"steps": list(steps)}).problems]


EVERY = (
    *("default", "own", "else", "timeout", "loop", "done", "approved", "rejected", "error"),
    *("nonsense", "when_1", "onError_1"),
)

HANDLES: dict[str, tuple[Value, set[str]]] = {
    "START": ({}, {"default"}),
    "END": ({}, set()),
    "TASK": ({"taskId": "t", "handles": ["own"]}, {"default", "own"}),
    "EVENT_WAIT": ({"eventPattern": "e"}, {"default", "timeout"}),
    "CONDITION": ({"branches": [{"id": "own", "when": "1"}]}, {"own", "else"}),
    "DELAY": ({"duration": 1}, {"default"}),
    "LOOP": ({"source": [], "result": 1}, {"loop", "done"}),
    "JAVASCRIPT": ({"code": "1"}, {"default"}),
    "DATA_QUERY": ({"dataQueryID": "q"}, {"default"}),
    "HTTP": ({"url": "http://u"}, {"default"}),
    "SUB_WORKFLOW": ({"workflowId": "w"}, {"default"}),
    "EMIT": ({"pattern": "p"}, {"default"}),
    "SET": ({"values": {"a": 1}}, {"default"}),
    "TERMINATE": ({}, set()),
    "APPROVAL": ({"assignees": {"users": ["u"]}}, {"approved", "rejected", "timeout"}),
}


@pytest.mark.parametrize("kind", HANDLES)
def test_a_type_has_its_documented_handles_and_error(kind: str) -> None:
    fields, handles = HANDLES[kind]
    accepted = {
        handle
        for handle in EVERY
        if found({"stepId": "a", "type": kind, **fields, "transitions": {handle: "b"}}, task("b"))
        == []
    }
    assert accepted == handles | {"error"}


def test_the_arms_of_a_wait_are_handles_instead_of_default() -> None:
    arms = [{"id": "paid", "eventPattern": "e"}]
    wait = {"stepId": "w", "type": "EVENT_WAIT", "arms": arms}
    assert found({**wait, "transitions": {"paid": "b", "timeout": "b"}}, task("b")) == []
    assert found({**wait, "transitions": {"default": "b"}}, task("b")) == [
        ("TEN-1044", "$.steps[0].transitions.default")
    ]


def test_a_node_that_may_be_passed_over_has_default() -> None:
    passed = {**fork("first", default="b"), "when": "ctx.input.x"}
    assert found(passed, task("b")) == []


@pytest.mark.parametrize(
    ("select", "leads", "least", "fires"),
    [
        ("first", {"x": "j", "y": "j"}, 2, False),
        ("all", {"x": "j", "y": "j"}, 2, True),
        ("all", {"x": "j", "else": "j"}, 2, False),
        ("first", {"x": "j", "y": "j"}, 1, True),
        ("first", {"x": "j", "error": "j"}, 2, False),
    ],
)
def test_exclusive_handles_of_one_node_count_once(
    select: str, leads: dict[str, str], least: int, fires: bool
) -> None:
    problems = found(fork(select, **leads), task("j", joinMode={"atLeast": least}))
    assert problems == ([] if fires else [("TEN-1048", "$.steps[1].joinMode")])


def test_success_and_failure_of_one_task_exclude_each_other() -> None:
    transitions = {"default": "j", "onError": [{"codes": ["E"], "to": "j"}]}
    problems = found(task("a", transitions=transitions), task("j", joinMode={"atLeast": 2}))
    assert problems == [("TEN-1048", "$.steps[1].joinMode")]


@pytest.mark.parametrize(
    "transitions", [{"error": "b"}, {"onError": [{"codes": ["E"], "to": "b"}]}]
)
def test_an_error_is_either_handled_or_fails_the_workflow(transitions: Value) -> None:
    step = task("a", errorHandling="fail_workflow", transitions=transitions)
    assert found(step, task("b")) == [("TEN-1046", "$.steps[0].errorHandling")]


def test_conditions_that_are_never_read_are_warned_about() -> None:
    step = fork("first", x="b", conditions=[{"when": "1", "to": "b"}])
    assert found(step, task("b")) == [("TEN-1053", "$.steps[0].transitions.conditions")]


def test_one_handle_is_refused_once_however_many_targets_it_has() -> None:
    step = task("a", transitions={"bogus": ["b", "c"]})
    assert found(step, task("b"), task("c")) == [("TEN-1044", "$.steps[0].transitions.bogus[0]")]


def test_a_handle_that_is_not_there_is_refused_even_without_targets() -> None:
    assert found(task("a", transitions={"bogus": []})) == [
        ("TEN-1044", "$.steps[0].transitions.bogus")
    ]
    assert found(task("a", transitions={"error": []})) == []
