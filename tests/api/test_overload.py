"""Overload: starts are refused first, then expensive reads; what ends the load is always taken."""

from __future__ import annotations

import pytest

from tenuto import Tenuto
from tenuto.api.registry import OPERATIONS
from tenuto.api.shedding import NEEDED, READS, STARTS, shed_kinds
from tenuto.engine.settings import Settings
from tenuto.model.load import OverloadBounds
from tests.api.conftest import DOUBLE, WAIT, Caller, Serve, tasks
from tests.api.test_metrics import read, value

APPROVAL = {
    "id": "approval",
    "steps": [{"stepId": "ok", "type": "APPROVAL", "assignees": {"roles": ["admin"]}}],
}


def test_every_kind_of_start_and_every_list_may_be_refused_and_nothing_else() -> None:
    kinds = shed_kinds(OPERATIONS)
    names = {each.name for each in OPERATIONS}
    assert names >= STARTS | READS | NEEDED
    assert {name for name, kind in kinds.items() if kind == "starts"} == STARTS
    vital = {
        *("complete_execution", "fail_execution", "report_executions", "heartbeat_execution"),
        *("claim_executions", "release_executions", "task_callback", "cancel_instance"),
        *("decide_on_step", "publish_events", "event_callback", "schedule_callback", "start_bulk"),
        *("pause_instance", "resume_instance", "retry_instance", "get_instance", "get_graph"),
        *("explain_instance", "health", "ready", "metrics", "get_concurrency", "put_concurrency"),
        *("list_queue", "promote_queued", "hold_queued", "release_queued"),
    }
    assert names >= vital
    assert not vital & kinds.keys()
    lists = {each.name for each in OPERATIONS if each.name.startswith("list_")} - NEEDED
    assert {name for name in lists if kinds.get(name) != "reads"} == SHORT


SHORT = {"list_approvals", "list_calendar_days"}
"""Lists that are short, or needed for decisions."""


async def until_degraded(call: Caller, words: str) -> list[str]:
    """Wait until the service says so; a reading takes half a second."""
    while True:
        reply = await call.get("/health/ready")
        assert reply.status == 200
        found: list[str] = reply.json["degraded"]
        if words in " ".join(found) if words else not found:
            return found


@pytest.mark.slow
@pytest.mark.asyncio
async def test_under_load_starts_and_lists_are_refused_and_all_that_ends_it_is_taken(
    serve: Serve,
) -> None:
    settings = Settings(unknown_tasks="wait", overload=OverloadBounds(memory_percent=50))
    app = Tenuto(tasks=tasks(), settings=settings)
    async with serve(app=app) as call:
        for definition in (DOUBLE, WAIT, APPROVAL):
            assert (await call.post("/workflows", definition)).status == 201
        begun = await call.start("wait", {"orderId": 7})
        asked = await call.start("approval")
        while not app.engine.load.pressure.pressure.reason:
            await call.get("/health")  # until the first reading
        app.engine.load.memory = lambda: 100.0
        lines = await until_degraded(call, "shedding reads, 100 %")
        assert lines[0] == "shedding starts, 100 %: memory 100 % of 50 %"
        refused = await call.post("/workflows/double/start", {"input": {"number": 1}})
        assert (refused.status, refused.json["code"]) == (429, "TEN-2861")
        assert "memory 100 % of 50 %" in refused.json["detail"]
        assert int(refused.headers["retry-after"]) >= 1
        batch = {"items": [{"workflowId": "double", "input": {"number": 1}}]}
        assert (await call.post("/instances/batch", batch)).json["code"] == "TEN-2861"
        listed = await call.get("/instances")
        assert (listed.status, listed.json["code"]) == (429, "TEN-2862")
        assert (await call.get("/stats")).status == 429
        id = begun["instanceId"]
        assert (await call.get(f"/instances/{id}")).status == 200
        assert (await call.get("/queue")).status == 200
        assert (await call.post(f"/instances/{id}/cancel")).json["status"] == "CANCELLED"
        decided = f"/instances/{asked['instanceId']}/steps/ok/decision"
        assert (await call.post(decided, {"decision": "approved"})).status == 200
        event = {"pattern": "payment.received", "payload": {"orderId": 7}}
        assert (await call.post("/events", event)).status in (200, 201, 202)
        claim = {"workerId": "w", "taskIds": ["double"], "max": 1}
        assert (await call.post("/executions/claim", claim)).status != 429
        found = await read(call)
        assert value(found["tenuto_requests_shed"], kind="starts") == 2
        assert value(found["tenuto_requests_shed"], kind="reads") == 2
        assert value(found["tenuto_pressure"]) > 2
        assert value(found["workflow_instances_started"], workflow="double") == 0
        app.engine.load.memory = lambda: 10.0
        await until_degraded(call, "")
        assert (await call.start("double", {"number": 1}, "?wait=10"))["status"] == "COMPLETED"
        assert len((await call.get("/instances")).json["items"]) == 3


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_service_that_does_without_something_is_ready_and_says_so(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        engine = call.app.engine
        engine.load.memory = lambda: 90.0
        targets = {"loopLagMs": 600_000, "commitMs": 600_000, "memoryPercent": 50}
        adaptive = {"enabled": True, "min": 5, "max": 40, "targets": targets}
        assert (await call("PUT", "/concurrency", {"resourceBasedLimits": adaptive})).status == 200
        lines = await until_degraded(call, "memory 90 % of 50 %")
        assert lines == ["adaptive limit: 5 of 40; this process: at its least: memory 90 % of 50 %"]
        await call("PUT", "/concurrency", {})
        await until_degraded(call, "")
        monkeypatch.setattr(type(engine.store), "has_hints", False)
        engine.membership.is_catching_up = True
        assert [line.partition(":")[0] for line in await until_degraded(call, "catching")] == [
            "listener down",
            "catching up",
        ]
