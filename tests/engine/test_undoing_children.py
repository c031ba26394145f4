"""A parent and the children that it has undone: asked by letter, once more if need be, answered."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import pytest

from tenuto import Conflict, Context, InstanceRef, TaskError, Tenuto, WorkflowFailed
from tenuto.core import Decision, InstanceState, Plan, decide
from tenuto.engine.engine import Engine
from tenuto.model.inputs import Input, UndoAsked
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Policies
from tests.engine.situations import until

pytestmark = pytest.mark.asyncio

ONCE: Object = {"maxAttempts": 1}
INNER: Object = {
    "id": "inner",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "work", "transitions": {"default": "b"}},
        {"stepId": "b", "type": "TASK", "taskId": "work"},
    ],
    "compensationSteps": [
        {"stepId": "undo_a", "compensationFor": "a", "taskId": "undo", "retry": ONCE},
        {"stepId": "undo_b", "compensationFor": "b", "taskId": "undo", "retry": ONCE},
    ],
}
OUTER: Object = {
    "id": "outer",
    "steps": [
        {
            "stepId": "call",
            "type": "SUB_WORKFLOW",
            "workflowId": "inner",
            "transitions": {"default": "last"},
        },
        {"stepId": "last", "type": "TASK", "taskId": "fail"},
    ],
}


class Undoing:
    """An app with the tasks of both, and what was undone."""

    def __init__(self, app: Tenuto) -> None:
        self.app = app
        self.is_broken = True
        self.undone: list[str] = []

        @app.task
        async def work(input: JSON) -> str:
            return "done"

        @app.task
        async def fail(input: JSON) -> None:
            raise TaskError("NO", "never", retryable=False)

        @app.task
        async def undo(ctx: Context, input: JSON) -> None:
            if self.is_broken:
                raise TaskError("BROKEN", "out of order")
            self.undone.append(ctx.step_id)

    async def failed_parent(self) -> InstanceRef:
        await self.app.deploy(INNER)
        await self.app.deploy(OUTER)
        parent = await self.app.start("outer", {})
        with pytest.raises(WorkflowFailed):
            await parent.result(timeout=20)
        return parent


async def undoing_of(parent: InstanceRef) -> Any:  # noqa: ANN401
    return (await parent.details())["compensationState"]


async def test_a_parent_that_tries_again_reaches_its_child() -> None:
    async with Tenuto() as app:
        there = Undoing(app)
        parent = await there.failed_parent()
        assert (await undoing_of(parent))["status"] == "COMPLETED_WITH_ERRORS"
        there.is_broken = False
        await parent.retry_compensation("call")

        async def is_whole() -> bool:
            return bool((await undoing_of(parent))["status"] == "COMPLETED")

        await until(app, is_whole)
        assert there.undone == ["undo_b", "undo_a"]


async def test_what_was_kept_for_people_goes_when_it_is_undone_after_all() -> None:
    async with Tenuto() as app:
        there = Undoing(app)
        parent = await there.failed_parent()
        kept = {each.node for each in await app.engine.store.dead_letters.page("default", 10)}
        assert kept == {"last", "call", "undo_a", "undo_b"}
        there.is_broken = False
        await parent.retry_compensation("call")

        async def is_whole() -> bool:
            return bool((await undoing_of(parent))["status"] == "COMPLETED")

        await until(app, is_whole)
        left = [each.node for each in await app.engine.store.dead_letters.page("default", 10)]
        assert left == ["last"]


async def test_a_parent_follows_a_child_that_is_undone_by_hand() -> None:
    """What is undone already is not undone twice, and the parent hears that it is."""
    async with Tenuto() as app:
        there = Undoing(app)
        parent = await there.failed_parent()
        there.is_broken = False
        letters = await app.engine.store.dead_letters.page("default", 10)
        [child_id] = {each.instance_id for each in letters} - {parent.id}
        child = await app.instance(child_id)

        for step in ("undo_a", "undo_b"):

            async def is_undone(step: str = step) -> bool:
                return step in (await undoing_of(child))["completed"]

            assert (await undoing_of(parent))["status"] == "COMPLETED_WITH_ERRORS"
            await child.retry_compensation(step)
            await until(app, is_undone)

        async def is_whole() -> bool:
            return bool((await undoing_of(parent))["status"] == "COMPLETED")

        await until(app, is_whole)
        assert there.undone == ["undo_a", "undo_b"]
        assert (await undoing_of(parent))["completed"] == ["call"]
        assert await parent.status() == "FAILED"
        with pytest.raises(Conflict):
            await parent.retry_compensation("call")
        left = [each.node for each in await app.engine.store.dead_letters.page("default", 10)]
        assert left == ["last"]


async def test_a_child_that_cannot_even_be_asked_answers_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A decision that raises leaves a child that has ended as it is, and its parent not waiting."""

    def raising(
        plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
    ) -> Decision:
        if isinstance(input, UndoAsked):
            raise ZeroDivisionError("by zero")
        return decide(plan, state, input, now, policies)

    monkeypatch.setattr("tenuto.engine.engine.Engine", partial(Engine, decide=raising))
    async with Tenuto() as app:
        parent = await Undoing(app).failed_parent()
        [failed] = (await undoing_of(parent))["failed"]
        assert failed["stepId"] == "call"
        [child] = await app.instances(workflow="inner")
        assert child.status == "COMPLETED"
