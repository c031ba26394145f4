"""Secrets in the test kit: given to tasks, kept over crashes, and in no record."""

from __future__ import annotations

import json

from tenuto import Retry
from tenuto.model.json import JSON, Object
from tenuto.testing import Engine, Instance, crash_test
from tenuto.testing.mishaps import Kind
from tests.kit.breadth import breadth

KINDS = tuple(Kind)[: breadth(2, 99)]
VALUE = "sk-live-51Hxyz"
FLOW: Object = {
    "id": "pay",
    "steps": [
        {
            "stepId": "a",
            "type": "TASK",
            "taskId": "pay",
            "input": {"key": "Bearer {{secrets.KEY}}"},
            "transitions": {"default": "b"},
        },
        {"stepId": "b", "type": "TASK", "taskId": "fail", "input": ["{{secrets.KEY}}"]},
    ],
    "compensationSteps": [
        {"stepId": "u", "compensationFor": "a", "taskId": "pay", "input": {"k": "{{secrets.KEY}}"}}
    ],
}


def test_whatever_crashes_values_are_filled_in_again_and_recorded_nowhere() -> None:
    seen: list[JSON] = []

    def hidden(run: Instance) -> bool:
        return VALUE not in json.dumps(run.history)

    with Engine() as engine:

        @engine.task
        async def pay(given: Object) -> JSON:
            seen.append(given)
            return {"echo": given}

        @engine.task(retry=Retry(attempts=1))
        async def fail(given: list[JSON]) -> JSON:
            seen.append(given)
            raise ValueError(f"refused {given}")

        engine.secret("KEY", VALUE)
        engine.deploy(FLOW)
        crash_test("pay", hidden, input={}, engine=engine, kinds=KINDS, runs=1, expect="FAILED")
    assert {json.dumps(each) for each in seen} == {
        json.dumps({"key": f"Bearer {VALUE}"}),
        json.dumps({"k": VALUE}),
        json.dumps([VALUE]),
    }
