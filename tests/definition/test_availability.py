"""What this version cannot run is named, one by one, and valid all the same."""

from __future__ import annotations

import pytest

from tenuto.definition import compile_definition, unavailable
from tests.definition.node_examples import ALTERNATIVES, OWN, as_graph, as_steps
from tests.definition.values import Value

TASK = {"taskId": "t"}
UNDO = {"stepId": "u", "compensationFor": "it", "taskId": "t"}


def found(document: Value) -> list[tuple[str, str]]:
    problems = unavailable(compile_definition(document))
    assert all(each.message.startswith("NOT_AVAILABLE: ") for each in problems)
    return [(each.code, each.path) for each in problems]


@pytest.mark.parametrize(
    ("kind", "fields", "code", "at"),
    [
        ("task", {**TASK, "mutex": "m"}, "TEN-1909", "mutex"),
    ],
)
def test_settings_of_later_versions_are_named(kind: str, fields: Value, code: str, at: str) -> None:
    assert found(as_graph(kind, fields)) == [(code, f"$.nodes[3].config.{at}")]
    assert found(as_steps(kind, fields)) == [(code, f"$.steps[1].{at}")]


@pytest.mark.parametrize(
    ("fields", "code", "at"),
    [
        ({"options": {"concurrency": {"limit": 1}}}, "TEN-1914", "options.concurrency"),
    ],
)
def test_surroundings_of_later_versions_are_named(fields: Value, code: str, at: str) -> None:
    assert found({**as_steps("task", TASK), **fields}) == [(code, f"$.{at}")]


@pytest.mark.parametrize(
    "kind", ["start", "end", "condition", "terminate", "emit", "set", "approval", "dataQuery"]
)
def test_what_runs_is_not_named(kind: str) -> None:
    assert found(as_steps(kind, OWN[kind])) == []


def test_plain_tasks_waits_and_delays_run() -> None:
    options = {"retention": "P90D", "timeout": "P1D", "retry": {"maxAttempts": 2}}
    task = {**TASK, "input": {"a": "{{ctx.input}}"}, "retry": {"maxAttempts": 5}}
    assert found({**as_steps("task", task), "options": options}) == []
    secret = {**TASK, "input": ["{{secrets.x}}"]}
    assert found(as_steps("task", secret)) == []
    undo = {"compensationSteps": [{**UNDO, "input": "steps.it.output"}]}
    assert found({**as_steps("task", task), **undo}) == []
    assert found(as_steps("eventWait", OWN["eventWait"])) == []
    assert found(as_steps("eventWait", ALTERNATIVES["eventWait"])) == []
    events = [{"eventPattern": "e"}]
    both = {"cancellationTriggers": events, "triggers": events}
    assert found({**as_steps("task", TASK), **both}) == []
    assert found(as_steps("delay", {"until": "{{ctx.input.at}}"})) == []


def test_everything_is_named_at_once() -> None:
    document = as_steps("task", {**TASK, "mutex": "m", "input": "{{secrets.x}}"})
    document |= {"options": {"concurrency": {"limit": 1}}}
    assert [code for code, _ in found(document)] == ["TEN-1909", "TEN-1914"]
