"""An expression can name what exists at its place, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.definition import check
from tests.definition.values import Value


def found(step: dict[str, Any], **top: Value) -> list[tuple[str, str]]:
    document = {"steps": [{"stepId": "a", **step}], **top}
    return [(each.code, each.path) for each in check(document).problems]


@pytest.mark.parametrize(
    "step",
    [
        {"type": "TASK", "taskId": "t", "input": "{{secrets.k}}"},
        {"type": "HTTP", "url": "{{secrets.k}}", "headers": {"a": "{{secrets.k}}"}},
        {
            "type": "HTTP",
            "url": "http://u",
            "query": {"a": "{{secrets.k}}"},
            "body": "{{secrets.k}}",
        },
        {"type": "DATA_QUERY", "dataQueryID": "q", "args": {"a": "{{secrets.k}}"}},
        {"type": "JAVASCRIPT", "code": "1", "input": {"a": "{{secrets.k}}"}},
        {"type": "EVENT_WAIT", "eventPattern": "e", "eventPayloadMapping": {"x": "{{event.id}}"}},
        {"type": "EVENT_WAIT", "eventPattern": "e", "eventCondition": "event.payload.a === 1"},
    ],
)
def test_what_exists_can_be_named(step: dict[str, Any]) -> None:
    assert found(step) == []


@pytest.mark.parametrize(
    ("step", "at"),
    [
        ({"type": "TASK", "taskId": "t", "when": "secrets.k"}, "when"),
        ({"type": "TASK", "taskId": "t", "mutex": "{{secrets.k}}"}, "mutex"),
        ({"type": "TASK", "taskId": "t", "input": {"x": ["{{event.id}}"]}}, "input.x[0]"),
        ({"type": "TASK", "taskId": "t", "input": "{{item}} {{index}}"}, "input"),
        ({"type": "DELAY", "until": "{{secrets.k}}"}, "until"),
        ({"type": "DELAY", "duration": "{{event.x}}"}, "duration"),
        ({"type": "EMIT", "pattern": "p", "payload": "{{secrets.k}}"}, "payload"),
        ({"type": "SUB_WORKFLOW", "workflowId": "w", "input": "{{secrets.k}}"}, "input"),
        ({"type": "END", "outputParameters": "{{secrets.k}}"}, "outputParameters"),
        ({"type": "TERMINATE", "reason": "{{event.x}}"}, "reason"),
        (
            {"type": "CONDITION", "branches": [{"id": "b", "when": "event.x"}]},
            "branches[0].when",
        ),
        (
            {"type": "EVENT_WAIT", "eventPattern": "e", "eventCondition": "secrets.k === event.x"},
            "eventCondition",
        ),
        (
            {"type": "EVENT_WAIT", "eventPattern": "e", "correlationId": "{{event.x}}"},
            "correlationId",
        ),
    ],
)
def test_what_does_not_exist_cannot(step: dict[str, Any], at: str) -> None:
    assert set(found(step)) == {("TEN-1032", f"$.steps[0].{at}")}


def test_something_that_never_exists_is_no_expression() -> None:
    assert found({"type": "TASK", "taskId": "t", "when": "process.env"}) == [
        ("TEN-1030", "$.steps[0].when")
    ]


def test_compensation_sees_the_instance_and_secrets() -> None:
    undo = {"stepId": "u", "compensationFor": "a", "taskId": "t"}
    step = {"type": "TASK", "taskId": "t"}
    good = [
        {**undo, "input": "workflow.instance.state.steps.a.output"},
        {**undo, "input": {"id": "steps.a.output.id", "key": "{{secrets.k}}", "n": 3}},
        {**undo, "input": "{{ctx.input.x}}", "condition": "steps.a.status === 'COMPLETED'"},
    ]
    for each in good:
        assert found(step, compensationSteps=[each]) == []
    assert found(step, compensationSteps=[{**undo, "input": "1 +"}]) == [
        ("TEN-1030", "$.compensationSteps[0].input")
    ]
    assert found(step, compensationSteps=[{**undo, "input": 3}]) == [
        ("TEN-1010", "$.compensationSteps[0].input")
    ]


def test_one_compensation_step_for_one_step() -> None:
    """One compensation step per step."""
    undo = {"compensationFor": "a", "taskId": "t"}
    step = {"type": "TASK", "taskId": "t"}
    both = [{"stepId": "u", **undo}, {"stepId": "v", **undo}, {"stepId": "a", **undo}]
    assert found(step, compensationSteps=both) == [
        ("TEN-1062", "$.compensationSteps[1].compensationFor"),
        ("TEN-1021", "$.compensationSteps[2].stepId"),
        ("TEN-1062", "$.compensationSteps[2].compensationFor"),
    ]
