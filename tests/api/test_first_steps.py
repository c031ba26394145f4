"""From a definition to its result, over HTTP."""

from __future__ import annotations

import pytest

from tests.api.conftest import DOUBLE, WAIT, Serve


@pytest.mark.asyncio
async def test_a_workflow_is_saved_started_and_followed_to_its_end(serve: Serve) -> None:
    async with serve() as call:
        saved = await call.post("/workflows", DOUBLE)
        assert (saved.status, saved.json) == (
            201,
            {"id": "double", "version": 1, "problems": []},
        )
        started = await call.post("/workflows/double/start?wait=30", {"input": {"number": 21}})
        assert (started.status, started.json["status"]) == (201, "COMPLETED")
        assert started.json["output"] == 42
        id = started.json["instanceId"]
        instance = (await call.get(f"/instances/{id}")).json
        assert (instance["id"], instance["output"]) == (id, 42)
        assert instance["state"]["steps"]["twice"]["status"] == "COMPLETED"
        listed = (await call.get("/instances?status=COMPLETED&workflowId=double")).json
        assert [each["id"] for each in listed["items"]] == [id]
        assert listed["nextCursor"] is None


@pytest.mark.asyncio
async def test_a_wait_that_runs_out_answers_202_and_the_instance_goes_on(serve: Serve) -> None:
    """`start` takes `version?`; `?wait` that runs out answers 202."""
    async with serve() as call:
        await call.post("/workflows", WAIT)
        started = await call.post("/workflows/wait/start?wait=0.01", {"input": {"orderId": 7}})
        assert started.status == 202
        assert started.json["status"] in ("RUNNING", "WAITING_FOR_EVENT")
        assert "output" not in started.json


@pytest.mark.asyncio
async def test_the_service_says_that_it_lives_and_can_work(serve: Serve) -> None:
    async with serve() as call:
        lives, ready = await call.get("/health"), await call.get("/health/ready")
    assert (lives.status, lives.json) == (200, {"status": "ok"})
    assert (ready.status, ready.json) == (200, {"status": "ok", "degraded": []})
