"""Secrets in definitions: where they may stand, in which form, and where they are named."""

from __future__ import annotations

import pytest

from tenuto.definition import check, compile_definition
from tenuto.definition.secret_places import secret_places, secret_problems
from tenuto.model.json import JSON, Object
from tests.definition.node_examples import as_steps

TASK: Object = {"taskId": "t"}
UNDO: Object = {"stepId": "u", "compensationFor": "it", "taskId": "t"}


def codes(document: JSON) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in check(document).problems]


@pytest.mark.parametrize(
    "text", ["{{secrets.KEY}}", "Bearer {{ secrets.KEY }}", "{{secrets.A}}:{{secrets.B}}"]
)
def test_a_secret_stands_alone_or_within_text(text: str) -> None:
    """A secret is written `{{secrets.NAME}}`, alone or within text; in an operator, a function or a
    condition it is refused at save.
    """
    assert codes(as_steps("task", {**TASK, "input": {"a": [text]}})) == []
    assert codes(as_steps("javascript", {"code": "return 1", "input": {"a": text}})) == []
    assert codes(as_steps("dataQuery", {"dataQueryID": "q", "args": {"a": text}})) == []
    http: Object = {"url": "https://example.com", "headers": {"a": text}, "body": text}
    assert codes(as_steps("http", http)) == []
    undo: Object = {**UNDO, "input": {"a": text}}
    assert codes({**as_steps("task", TASK), "compensationSteps": [undo]}) == []


@pytest.mark.parametrize(
    "expression",
    [
        "secrets",
        "secrets.KEY.length",
        "secrets['KEY']",
        "secrets.KEY + 'x'",
        "secrets.KEY ? 1 : 2",
        "[secrets.KEY]",
        "ctx.input.includes(secrets.KEY)",
        "secrets.my - 1",
    ],
)
def test_no_expression_sees_a_secret(expression: str) -> None:
    document = as_steps("task", {**TASK, "input": {"a": f"{{{{{expression}}}}}"}})
    assert codes(document) == [("TEN-1660", "$.steps[1].input.a")]
    undo: Object = {**UNDO, "input": expression}
    document = {**as_steps("task", TASK), "compensationSteps": [undo]}
    assert codes(document) == [("TEN-1660", "$.compensationSteps[0].input")]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("task", {**TASK, "when": "secrets.KEY"}),
        ("set", {"values": {"a": "{{secrets.KEY}}"}}),
        ("subWorkflow", {"workflowId": "w", "input": {"a": "{{secrets.KEY}}"}}),
        ("emit", {"pattern": "a.b", "payload": {"a": "{{secrets.KEY}}"}}),
        ("delay", {"duration": "{{secrets.KEY}}"}),
        ("http", {"url": "https://example.com", "method": "{{secrets.KEY}}"}),
    ],
)
def test_a_secret_elsewhere_is_refused(kind: str, fields: Object) -> None:
    assert [code for code, _ in codes(as_steps(kind, fields))] == ["TEN-1032"]


def test_the_first_place_of_each_secret_is_found_and_held_against_what_there_is() -> None:
    document = as_steps(
        "task", {**TASK, "input": {"a": "x {{secrets.KEY}}", "b": "{{secrets.KEY}}"}}
    )
    undo: Object = {**UNDO, "input": {"c": ["{{secrets.OTHER}}"]}}
    places = secret_places(compile_definition({**document, "compensationSteps": [undo]}))
    assert [(each.name, each.path, each.is_sent) for each in places] == [
        ("KEY", "$.steps[1].input.a", False),
        ("OTHER", "$.compensationSteps[0].input.c[0]", False),
    ]
    assert secret_problems(places, {"KEY": None, "OTHER": None}) == []
    [unknown] = secret_problems(places, {"KEY": None, "OTHERS": None})
    assert (unknown.code, unknown.severity) == ("TEN-1661", "warning")
    assert "OTHERS" in unknown.advice
    [bound] = secret_problems(places, {"KEY": ["api.example.com"], "OTHER": None})
    assert (bound.code, bound.path) == ("TEN-1662", "$.steps[1].input.a")
    http: Object = {
        "url": "https://{{secrets.HOST}}/x",
        "auth": {"type": "bearer", "value": "{{secrets.KEY}}"},
    }
    places = secret_places(compile_definition(as_steps("http", http)))
    assert [(each.name, each.path, each.is_sent) for each in places] == [
        ("HOST", "$.steps[1].url", True),
        ("KEY", "$.steps[1].auth.value", True),
    ]
    assert secret_problems(places, {"HOST": None, "KEY": ["api.example.com"]}) == []
