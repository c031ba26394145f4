"""What `explain` says of those that hold the slots of a full limit."""

from __future__ import annotations

import pytest

from tenuto import Tenuto
from tenuto.model.json import Object
from tenuto.workspace.engine_workspace import EngineWorkspace

pytestmark = pytest.mark.asyncio

STEP: Object = {"stepId": "go", "type": "EVENT_WAIT", "eventPattern": "go.on"}
HELD: Object = {
    "id": "held",
    "steps": [STEP],
    "options": {"concurrency": {"limit": 100, "holdWhileWaiting": True}},
}


async def explained(place: EngineWorkspace, id: str) -> str:
    return str((await (await place.instance(id)).explain())["summary"])


async def test_slots_that_other_tenants_hold_are_said_to_be_theirs_and_no_name_is_told() -> None:
    async with Tenuto() as app:
        await app.limits.set({"globalMaxConcurrent": 4})
        here, there = (
            EngineWorkspace(app.engine, app.bulk_runner, tenant=name) for name in ("here", "there")
        )
        for each in (here, there):
            await each.deploy(HELD)
        theirs = [(await there.start("held", {})).id for _ in range(3)]
        mine = (await here.start("held", {})).id
        waiting = (await here.start("held", {})).id
        third = EngineWorkspace(app.engine, app.bulk_runner, tenant="third")
        await third.deploy(HELD)
        alone = (await third.start("held", {})).id
        await app.engine.admissions.run_once()
        full = "position 1 of 1; limit global 4 of 4, held by"
        said = await explained(here, waiting)
        assert said == f"{full} {mine} and 3 of other tenants"
        assert await explained(third, alone) == f"{full} instances of other tenants"
        assert not [id for id in theirs if id in said]


async def test_holders_that_are_not_named_are_counted() -> None:
    async with Tenuto() as app:
        await app.limits.set({"workflowTypeLimits": {"held": 12}})
        await app.deploy(HELD)
        holders = [(await app.start("held", {})).id for _ in range(12)]
        waiting = await app.start("held", {})
        await app.engine.admissions.run_once()
        said = str((await waiting.explain())["summary"])
        named = ", ".join(holders[:5])
        assert said == (
            f"position 1 of 1; limit type:default/held 12 of 12, held by {named} and 7 more"
        )
