"""What can be written runs: nothing of a valid definition is for a later version."""

from __future__ import annotations

import pytest

from tenuto.definition import compile_definition, unavailable
from tests.definition.node_examples import ALTERNATIVES, OWN, as_steps
from tests.definition.values import Value

TASK = {"taskId": "t"}
UNDO = {"stepId": "u", "compensationFor": "it", "taskId": "t"}


def found(document: Value) -> list[tuple[str, str]]:
    problems = unavailable(compile_definition(document))
    assert all(each.message.startswith("NOT_AVAILABLE: ") for each in problems)
    return [(each.code, each.path) for each in problems]


@pytest.mark.parametrize(
    "kind",
    [
        "start",
        "end",
        "condition",
        "terminate",
        "emit",
        "set",
        "approval",
        "dataQuery",
        "http",
        "javascript",
    ],
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
    assert found(as_steps("task", {**TASK, "mutex": "m"})) == []
    limits = {"options": {"concurrency": {"limit": 1}, "encrypt": True}}
    assert found({**as_steps("task", TASK), **limits}) == []
    assert found(as_steps("delay", {"until": "{{ctx.input.at}}"})) == []
