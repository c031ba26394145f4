"""Tests that a task's costly schema fails its step, whatever version of the program saved it."""

from __future__ import annotations

import msgspec
import pytest

from tenuto import Tenuto
from tenuto.model.errors import WorkflowFailed
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tenuto.workspace import task_definitions
from tests.bombs.schemas import SCHEMAS

pytestmark = pytest.mark.asyncio

[BOMB] = [bomb for bomb in SCHEMAS if bomb.name == "anyOf-40"]
FLOW: Object = {
    "id": "w",
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "t", "input": {"n": 1}}],
}


@pytest.mark.parametrize("field", ["input_schema", "output_schema"])
async def test_a_costly_schema_that_was_declared_before_fails_the_step(
    monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setattr(task_definitions, "_problems", lambda *_, **__: [])
    async with Tenuto() as app:

        @app.task
        def t() -> int:
            return 1

        declared = TaskDefinition(id="t", kind="pull")
        declared = msgspec.structs.replace(declared, **{field: BOMB.make().schema})
        await app.task_definitions.add(declared)
        await app.deploy(FLOW)
        instance = await app.start("w")
        with pytest.raises(WorkflowFailed, match="cannot be checked"):
            await instance.result(30)
        assert "TEN-2114" in str(await instance.history())
