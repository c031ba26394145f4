"""`deploy` logs the warnings about a definition, and saves it."""

from __future__ import annotations

import logging

import pytest

from tenuto import Tenuto
from tenuto.model.json import Object


@pytest.mark.asyncio
async def test_warnings_about_a_saved_definition_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    step: Object = {"stepId": "a", "type": "TASK", "taskId": "t"}
    step["input"] = "{{ctx.order}}"
    async with Tenuto("memory://") as app:
        with caplog.at_level(logging.WARNING, logger="tenuto.definitions"):
            assert await app.deploy({"id": "warned", "steps": [step]}) == 1
    [first] = (record.getMessage() for record in caplog.records)
    assert "definition warned@1: TEN-1058 $.steps[0].input: no step sets" in first
