"""How much goes on in a tenant."""

from __future__ import annotations

import pytest

from tests.api.conftest import DOUBLE, REFUSE, WAIT, Serve
from tests.api.test_pipeline import KEYS, bearing


@pytest.mark.asyncio
async def test_instances_are_counted_and_test_runs_are_not(serve: Serve) -> None:
    """Test runs … do not count in metrics."""
    async with serve(authentication=KEYS) as call:
        for workflow in (DOUBLE, REFUSE, WAIT):
            await call.app.deploy(workflow)
        for name, input in (("double", {"number": 1}), ("refuse", {}), ("wait", {"orderId": 1})):
            instance = await call.app.start(name, input)
            if name != "wait":
                await call.app.engine.final_state(instance.id)
        headers = bearing("ann")
        steps = {"steps": [{"stepId": "a", "type": "TASK", "taskId": "x"}]}
        run = await call("POST", "/workflows/test", steps, headers=headers)
        await call.app.engine.final_state(run.json["instanceId"])
        stats = (await call("GET", "/stats?hours=1", headers=headers)).json
        assert (stats["total"], stats["isComplete"]) == (3, True)
        assert stats["byStatus"]["COMPLETED"] == stats["byStatus"]["FAILED"] == 1
        assert {each["workflowId"]: each["total"] for each in stats["byWorkflow"]} == {
            "double": 1,
            "refuse": 1,
            "wait": 1,
        }
        assert len(stats["perMinute"]) == 60
        happened = ("started", "completed", "failed", "cancelled")
        sums = [sum(each[name] for each in stats["perMinute"]) for name in happened]
        assert sums == [3, 1, 1, 0]
        assert stats["jobs"] == stats["webhooks"] == {"count": 0, "oldest": None}
        theirs = (await call("GET", "/stats", headers=bearing("bob"))).json
        assert (theirs["total"], theirs["byWorkflow"]) == (0, [])
        assert (await call("GET", "/stats?hours=0", headers=headers)).status == 422
