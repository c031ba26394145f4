"""Each node type has exactly the documented fields, in every form."""

from __future__ import annotations

import pytest

from tenuto.definition import check
from tenuto.definition.nodes import TYPES
from tests.definition.node_examples import (
    COMMON,
    EVERY,
    EXECUTES,
    EXECUTING,
    OWN,
    STEP_NAMES,
    Settings,
    as_graph,
    as_steps,
    settings,
)

KINDS = pytest.mark.parametrize(("kind", "own"), EVERY)


def errors(document: Settings) -> list[tuple[str, str]]:
    problems = check(document).problems
    return [(each.code, each.path) for each in problems if each.severity == "error"]


def test_the_examples_cover_every_type() -> None:
    assert {(row.tag, row.step) for row in TYPES} == set(STEP_NAMES.items())
    assert set(OWN) == set(STEP_NAMES)


@pytest.mark.parametrize("row", TYPES, ids=lambda row: row.tag)
def test_the_examples_cover_every_field(row: object) -> None:
    tag, fields = row.tag, row.fields  # type: ignore[attr-defined]
    shown = {name for kind, own in EVERY if kind == tag for name in own}
    assert shown == set(fields.by_name)


@KINDS
def test_every_field_is_accepted_in_the_graph_form(kind: str, own: Settings) -> None:
    routes: Settings = {"onError": [{"codes": ["A", "B"], "handle": "onError_1"}]}
    if kind != "loop":  # it ends at `done`, and never reads them
        routes |= {"conditions": [{"when": "ctx.result", "handle": "when_1"}]}
    assert errors(as_graph(kind, {**settings(kind, own), **routes})) == []


@KINDS
def test_every_field_is_accepted_in_the_steps_form(kind: str, own: Settings) -> None:
    assert errors(as_steps(kind, settings(kind, own))) == []


@KINDS
def test_an_unknown_field_is_refused_by_name(kind: str, own: Settings) -> None:
    document = as_graph(kind, {**own, "tiemout": "PT1S"})
    index = next(i for i, node in enumerate(document["nodes"]) if node["id"] == "it")
    problems = [each for each in check(document).problems if each.code == "TEN-1012"]
    assert [each.path for each in problems] == [f"$.nodes[{index}].config.tiemout"]
    assert "Did you mean `timeout`?" in problems[0].advice


@pytest.mark.parametrize("kind", OWN)
def test_fields_of_other_types_are_refused(kind: str) -> None:
    foreign = {name: value for other in OWN for name, value in OWN[other].items()}
    foreign |= {} if kind in EXECUTES else EXECUTING
    known = {name for each, own in EVERY if each == kind for name in own} | set(COMMON)
    unknown = {name: value for name, value in foreign.items() if name not in known}
    document = as_steps(kind, {**OWN[kind], **unknown})
    refused = {path.rpartition(".")[2] for code, path in errors(document) if code == "TEN-1012"}
    assert refused == set(unknown)


@pytest.mark.parametrize("name", ["conditions", "onError"])
def test_routes_are_transitions_in_the_steps_form(name: str) -> None:
    document = as_steps("task", {"taskId": "t", name: []})
    assert errors(document) == [("TEN-1012", f"$.steps[1].{name}")]


@pytest.mark.parametrize(
    ("kind", "own", "code"),
    [
        ("task", {}, "TEN-1011"),
        ("task", {"taskId": ""}, "TEN-1017"),
        ("task", {"taskId": 7}, "TEN-1010"),
        ("task", {"taskId": "t", "handles": ["default"]}, "TEN-1024"),
        ("task", {"taskId": "t", "handles": ["when_1"]}, "TEN-1024"),
        ("task", {"taskId": "t", "heartbeatTimeout": 0}, "TEN-1015"),
        ("eventWait", {}, "TEN-1018"),
        ("eventWait", {"eventPattern": "a..b"}, "TEN-1034"),
        ("eventWait", {"eventPattern": "a.b*"}, "TEN-1034"),
        ("eventWait", {"eventPattern": "a", "arms": []}, "TEN-1018"),
        ("eventWait", {"arms": []}, "TEN-1017"),
        ("eventWait", {"arms": [{"id": "timeout", "eventPattern": "a"}]}, "TEN-1024"),
        ("eventWait", {"arms": [{"id": "a", "eventPattern": "a"}] * 2}, "TEN-1021"),
        ("eventWait", {"eventPattern": "a", "eventTimeout": "P3D"}, "TEN-1010"),
        ("eventWait", {"eventPattern": "a", "eventTimeout": {}}, "TEN-1011"),
        ("eventWait", {"eventPattern": "a", "lookback": "soon"}, "TEN-1015"),
        ("eventWait", {"eventPattern": "a", "eventPayloadMapping": {"x": "a..b"}}, "TEN-1033"),
        ("eventWait", {"eventPattern": "a", "eventPayloadMapping": {"x": 1}}, "TEN-1010"),
        ("eventWait", {"eventPattern": "a", "eventPayloadMapping": {"input": "a"}}, "TEN-1023"),
        ("condition", {"branches": []}, "TEN-1017"),
        ("condition", {"branches": [{"id": "else", "when": "1"}]}, "TEN-1024"),
        ("condition", {"branches": [{"id": "a", "when": "1"}] * 2}, "TEN-1021"),
        ("condition", {"branches": [{"id": "a", "when": "1"}], "select": "some"}, "TEN-1013"),
        ("delay", {}, "TEN-1018"),
        ("delay", {"duration": "PT1S", "until": "2026-01-01T00:00:00Z"}, "TEN-1018"),
        ("delay", {"duration": -1}, "TEN-1015"),
        ("delay", {"until": "2026-01-01T00:00:00"}, "TEN-1016"),
        ("loop", {}, "TEN-1018"),
        ("loop", {"source": "abc"}, "TEN-1010"),
        ("loop", {"while": "1", "mode": "parallel"}, "TEN-1018"),
        ("loop", {"source": [], "concurrency": 0}, "TEN-1014"),
        ("loop", {"source": [], "enough": 0}, "TEN-1014"),
        ("loop", {"source": [], "more": {"eventPattern": "e"}}, "TEN-1018"),
        ("loop", {"while": "1", "more": {"eventPattern": "e"}}, "TEN-1018"),
        ("loop", {"source": [], "mode": "parallel", "more": {}}, "TEN-1011"),
        ("loop", {"source": "arrivals", "mode": "sequential"}, "TEN-1018"),
        ("loop", {"source": "arrivals", "joinMode": "all"}, "TEN-1018"),
        ("loop", {"source": "arrivals", "more": {"eventPattern": "e"}}, "TEN-1018"),
        ("http", {"url": "x", "successCodes": [99]}, "TEN-1014"),
        ("subWorkflow", {"workflowId": "w", "version": 1.5}, "TEN-1010"),
        ("emit", {"pattern": "a.*"}, "TEN-1034"),
        ("terminate", {"status": "CANCELLED"}, "TEN-1013"),
        ("approval", {"assignees": {}}, "TEN-1018"),
        ("approval", {"assignees": {"users": []}}, "TEN-1017"),
        ("approval", {"assignees": {"users": ["a"]}, "formSchema": {"type": 1}}, "TEN-1060"),
    ],
)
def test_values_that_make_no_sense_are_refused(kind: str, own: Settings, code: str) -> None:
    assert code in {each for each, _ in errors(as_steps(kind, own))}


@pytest.mark.parametrize(
    ("fields", "code", "at"),
    [
        ({"retry": {"maxAttempts": 0}}, "TEN-1014", "retry.maxAttempts"),
        ({"retry": {"multiplier": 0.5}}, "TEN-1014", "retry.multiplier"),
        ({"retry": {"initialDelay": "-PT1S"}}, "TEN-1015", "retry.initialDelay"),
        ({"retry": {"maxDelay": -5}}, "TEN-1015", "retry.maxDelay"),
        ({"retry": {"onLost": "again"}}, "TEN-1013", "retry.onLost"),
        ({"retry": 3}, "TEN-1010", "retry"),
        ({"timeout": "P1M"}, "TEN-1015", "timeout"),
        ({"timeout": True}, "TEN-1015", "timeout"),
        ({"joinMode": "some"}, "TEN-1013", "joinMode"),
        ({"joinMode": {"atLeast": 0}}, "TEN-1014", "joinMode.atLeast"),
        ({"joinMode": {"atLeast": 5}}, "TEN-1047", "joinMode"),
        ({"errorHandling": "ignore"}, "TEN-1013", "errorHandling"),
        ({"outputVariable": "__x"}, "TEN-1023", "outputVariable"),
        ({"outputVariable": "last"}, "TEN-1023", "outputVariable"),
        ({"cancels": ["it"]}, "TEN-1049", "cancels[0]"),
        ({"cancels": ["nobody"]}, "TEN-1049", "cancels[0]"),
        ({"cancelRest": "yes"}, "TEN-1010", "cancelRest"),
        ({"when": "1 +"}, "TEN-1030", "when"),
        ({"mutex": ""}, "TEN-1017", "mutex"),
        ({"name": 5}, "TEN-1010", "name"),
    ],
)
def test_common_settings_are_bounded(fields: Settings, code: str, at: str) -> None:
    assert errors(as_steps("task", {"taskId": "t", **fields})) == [(code, f"$.steps[1].{at}")]
