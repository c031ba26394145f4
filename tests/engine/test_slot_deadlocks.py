"""A limited workflow that starts itself as a child ends with a clear failure."""

from __future__ import annotations

import pytest

from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.testing import Engine


def nested(limit: int, between: str | None = None) -> Object:
    """A workflow that starts itself, three deep."""
    down: Object = {
        "stepId": "child",
        "type": "SUB_WORKFLOW",
        "workflowId": between or "nested",
        "input": {"depth": "{{ctx.input.depth + 1}}"},
        "when": "ctx.input.depth < 3",
    }
    return {"id": "nested", "steps": [down], "options": {"concurrency": {"limit": limit}}}


BETWEEN: Object = {
    "id": "between",
    "steps": [
        {
            "stepId": "down",
            "type": "SUB_WORKFLOW",
            "workflowId": "nested",
            "input": "{{ctx.input}}",
        }
    ],
}


@pytest.mark.parametrize("between", [None, "between"])
def test_a_child_that_waits_for_its_parents_slot_fails_with_a_clear_code(
    between: str | None,
) -> None:
    with Engine() as engine:
        engine.deploy(nested(2, between))
        engine.deploy(BETWEEN)
        run = engine.start("nested", {"depth": 1}).finished(within="PT1M")
        assert run.status is Status.FAILED
        texts = [str(entry) for each in engine.instances for entry in each.history]
        assert any("SLOT_DEADLOCK" in text for text in texts)
        assert any("'DEADLOCK'" in text for text in texts)


def test_a_limit_that_has_room_for_the_nesting_is_no_deadlock() -> None:
    with Engine() as engine:
        engine.deploy(nested(3))
        run = engine.start("nested", {"depth": 1}).finished(within="PT1M")
        assert run.status is Status.COMPLETED
