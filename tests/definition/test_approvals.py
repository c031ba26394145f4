"""What an approval has to say, and how it is told what it does not."""

from __future__ import annotations

import pytest

from tenuto.definition import check, compile_definition, to_graph_form, to_steps_form
from tenuto.model.durations import parse_duration
from tenuto.model.graph import Approval, Escalation
from tests.definition.values import Value

ANN = {"users": ["ann"]}


def document(**fields: Value) -> Value:
    return {"id": "w", "steps": [{"stepId": "ok", "type": "APPROVAL", **fields}]}


def problems(**fields: Value) -> list[tuple[str, str]]:
    found = check(document(**fields)).problems
    assert all(each.message and each.advice for each in found)
    return [(each.code, each.path.removeprefix("$.steps[0]")) for each in found]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, [("TEN-1011", "")]),
        ({"assignees": {}}, [("TEN-1018", ".assignees")]),
        ({"assignees": ["ann"]}, [("TEN-1010", ".assignees")]),
        ({"assignees": {"users": []}}, [("TEN-1017", ".assignees.users")]),
        ({"assignees": {"users": "ann"}}, [("TEN-1010", ".assignees.users")]),
        ({"assignees": {"users": [7, ""]}}, [
            ("TEN-1010", ".assignees.users[0]"), ("TEN-1017", ".assignees.users[1]"),
        ]),
        ({"assignees": {**ANN, "groups": ["x"]}}, [("TEN-1012", ".assignees.groups")]),
        ({"assignees": {"roles": ["{{ctx.}}"]}}, [("TEN-1031", ".assignees.roles[0]")]),
        ({"assignees": ANN, "deadline": "PT0S"}, [("TEN-1015", ".deadline")]),
        ({"assignees": ANN, "reminders": ["P1D", 0, "soon"]}, [
            ("TEN-1015", ".reminders[1]"), ("TEN-1015", ".reminders[2]"),
        ]),
        ({"assignees": ANN, "escalate": {"after": "P1D"}}, [("TEN-1011", ".escalate")]),
        ({"assignees": ANN, "escalate": {"after": "P1D", "assignees": {}}}, [
            ("TEN-1018", ".escalate.assignees"),
        ]),
        ({"assignees": ANN, "formSchema": {"type": "objekt"}}, [("TEN-1060", ".formSchema.type")]),
        ({"assignees": ANN, "formSchema": 7}, [("TEN-1010", ".formSchema")]),
        ({"assignees": ANN, "retry": {"maxAttempts": 2}}, [("TEN-1012", ".retry")]),
        ({"assignees": ANN, "transitions": {"yes": "ok"}}, [("TEN-1044", ".transitions.yes")]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_where_it_is(
    fields: dict[str, Value], found: list[tuple[str, str]]
) -> None:
    assert set(found) <= set(problems(**fields))


def test_an_approval_is_read_and_written_back_in_both_forms() -> None:
    fields: Value = {
        "assignees": {"users": ["{{ctx.input.boss}}"], "roles": ["board"]},
        "formSchema": {"type": "object"},
        "deadline": "P3D",
        "reminders": ["P1D", 7_200_000],
        "escalate": {"after": "P2D", "assignees": {"roles": ["board"]}},
    }
    definition = compile_definition(document(**fields))
    config = definition.graph.nodes[0].config
    assert isinstance(config, Approval)
    assert config.escalate == Escalation(
        after=parse_duration("P2D"), assignees={"roles": ["board"]}
    )
    assert config.reminders == (parse_duration("P1D"), parse_duration("PT2H"))
    for written in (to_steps_form(definition), to_graph_form(definition)):
        assert compile_definition(written).graph.nodes[0].config == config


def test_in_the_dependency_form_an_approval_is_refused_since_it_answers_with_handles() -> None:
    steps: Value = [
        {"stepId": "ok", "type": "APPROVAL", "assignees": ANN},
        {"stepId": "a", "type": "TASK", "taskId": "t", "dependsOn": ["ok"]},
    ]
    assert "TEN-1052" in [each.code for each in check({"steps": steps}).problems]
