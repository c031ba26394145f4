"""A parent is cancelled while the start of its child is in the hands of a process that hangs."""

from __future__ import annotations

import asyncio

from tenuto.core import Plan
from tenuto.model.inputs import CancelAsked, Started
from tenuto.store.parts.turns import Turn, TurnResult
from tests.engine.test_jobs import Stage
from tests.kit.workload.drawing import document, node

CHILD = document("kid", [node("b", "task", taskId="near")], [])
PARENT = document("w", [node("c", "subWorkflow", workflowId="kid")], [])


def test_a_child_whose_start_another_process_has_in_hand_is_cancelled_all_the_same() -> None:
    async def story(stage: Stage) -> None:
        hanging, other = stage.engine("hanging", "near"), stage.engine("other", "near")
        await hanging.open()
        await other.open()
        await hanging.plans.save("default", CHILD)
        plan: Plan = (await hanging.plans.save("default", PARENT)).plan
        commit = hanging.store.turns.commit

        async def hangs(turn: Turn, lane: int = 0) -> TurnResult:
            if any(write.create is not None and write.create.parent_id for write in turn.writes):
                await asyncio.Event().wait()
            return await commit(turn, lane)

        hanging.store.turns.commit = hangs  # type: ignore[method-assign]
        started = Started(definition_id="w", definition_version=1, input={})
        parent = (await hanging.start(plan, started)).instance_id
        await stage.clock.sleep(1)
        await other.ask(parent, CancelAsked(by="test", reason="enough", source="API"))
        await stage.clock.sleep(30)
        stage.disk.declare_dead(hanging.process_id)
        await stage.clock.sleep(60)
        assert stage.ran == []
        states = [(await other.state_of(id)).state.status for id in stage.disk.instances]
        assert states == ["CANCELLED"]  # the child never began
        assert stage.disk.mail_numbers == {}

    Stage().play(story)
