"""An id that a tenant chooses may be another tenant's: then it has an instance of its own by it."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tenuto import Conflict, Tenuto
from tenuto.model.json import Object
from tenuto.store.parts.instances import Erasure, InstanceQuery
from tenuto.workspace.bulk.runner import BulkRunner
from tenuto.workspace.engine_workspace import EngineWorkspace

ENDS: Object = {
    "id": "ends",
    "steps": [{"stepId": "a", "type": "TERMINATE", "status": "COMPLETED", "output": 1}],
}


@pytest.mark.asyncio
async def test_a_start_is_not_made_twice_after_the_other_tenants_instance_was_erased() -> None:
    async with Tenuto() as app:
        spaces = [
            EngineWorkspace(app.engine, BulkRunner(app.engine), tenant=name, actor="a")
            for name in ("first", "second")
        ]
        first, second = spaces
        for space in spaces:
            await space.save(ENDS)
        chosen = str(uuid4())
        theirs = await first.start("ends", instance_id=chosen)
        mine = await second.start("ends", instance_id=chosen)
        await theirs.result(30)
        assert await mine.result(30) == 1
        store = app.engine.store
        erased = await store.instances.erase("first", [chosen], Erasure(with_debts=True))
        assert erased == [chosen]
        with pytest.raises(Conflict):
            await second.start("ends", instance_id=chosen)
        page = await store.instances.page(InstanceQuery(tenant="second"))
        assert len(page.items) == 1
