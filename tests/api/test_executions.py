"""Workers over HTTP: claims, heartbeats, reports, and what they are refused."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tenuto import Settings, Tenuto
from tenuto.api.operation import API
from tenuto.model.durations import iso, parse_moment
from tenuto.model.policy import Limits
from tests.api.conftest import Caller, Serve, until

pytestmark = pytest.mark.asyncio

SHIP = {
    "id": "ship",
    "steps": [
        {
            "stepId": "send",
            "type": "TASK",
            "taskId": "send-parcel",
            "handles": ["late"],
            "transitions": {"late": "sorry"},
        },
        {"stepId": "sorry", "type": "TASK", "taskId": "say-sorry"},
    ],
}
CLAIM = {"workerId": "w1", "taskIds": ["send-parcel", "say-sorry"], "max": 10, "lease": 30}


async def started(call: Caller, input: object = None) -> str:
    await call.post("/workflows", SHIP)
    return str((await call.start("ship", input))["instanceId"])


async def claimed(call: Caller) -> dict[str, Any]:
    reply = await call.post("/executions/claim", CLAIM)
    [task] = reply.json["tasks"]
    assert isinstance(task, dict)
    return task


async def test_a_task_is_claimed_kept_and_completed(serve: Serve) -> None:
    """Workers: a repeat of the report that was accepted, with the same token, answers 200 and
    changes nothing; a different one 409. `nextHandle` stands beside `output`, never inside it.
    """
    async with serve() as call:
        id = await started(call, {"parcel": 7})
        task = await claimed(call)
        assert (task["instanceId"], task["stepId"], task["input"]) == (id, "send", {"parcel": 7})
        assert (task["iteration"], task["attempt"]) == ("", 1)
        assert task["context"] == {"workflowDefinitionId": "ship", "retryCount": 0}
        path = f"/executions/{task['executionId']}"
        said = {"leaseToken": task["leaseToken"]}
        beat = await call.post(f"{path}/heartbeat", {**said, "details": {"page": 3}})
        assert beat.status == 200
        assert beat.json["cancelled"] is False
        done = await call.post(f"{path}/complete", {**said, "output": 1, "nextHandle": "late"})
        assert done.json == {"executionId": task["executionId"], "status": 200}
        # A repeat of what was accepted changes nothing; another report is refused.
        again = await call.post(f"{path}/complete", {**said, "output": 1, "nextHandle": "late"})
        assert again.json == done.json
        other = await call.post(f"{path}/complete", {**said, "output": 2})
        assert (other.status, other.json["code"]) == (409, "TEN-3012")
        assert (await claimed(call))["stepId"] == "sorry"


async def test_how_long_a_task_took_is_kept_with_its_outcome(serve: Serve) -> None:
    """`executionTime` of a response is kept with the outcome. A step shows as `executionTime` how
    many milliseconds its newest attempt ran, and as `queueTime` how long it was queued before that,
    where both are known.
    """
    async with serve() as call:
        id = await started(call)
        task = await claimed(call)
        assert "executionTime" in task["reports"]
        path = f"/executions/{task['executionId']}"
        said = {"leaseToken": task["leaseToken"], "executionTime": 12.4}
        assert (await call.post(f"{path}/complete", {**said, "executionTime": -1})).status == 422
        assert (await call.post(f"{path}/complete", said)).status == 200
        await call.app.engine.final_state(id)
        step = (await call.get(f"/instances/{id}")).json["state"]["steps"]["send"]
        assert step["executionTime"] == 12
        assert step["queueTime"] >= 0
        items = (await call.get(f"/instances/{id}/history")).json["items"]
        [ended] = [each for each in items if each["eventType"] == "NODE_COMPLETED"]
        assert ended["payload"]["executionTime"] == 12


async def test_an_attempt_names_the_worker_that_ran_it(serve: Serve) -> None:
    async with serve() as call:
        for said, shown in (({"workerId": "box-7"}, "box-7"), ({}, "unnamed worker")):
            id = await started(call)
            task = await claimed(call)
            assert "workerId" in task["reports"]
            path = f"/executions/{task['executionId']}/complete"
            report = {"leaseToken": task["leaseToken"], **said}
            assert (await call.post(path, {**report, "workerId": ""})).status == 422
            assert (await call.post(path, report)).status == 200
            await call.app.engine.final_state(id)
            step = (await call.get(f"/instances/{id}")).json["state"]["steps"]["send"]
            assert step["worker"] == shown
            items = (await call.get(f"/instances/{id}/history")).json["items"]
            [ended] = [each for each in items if each["eventType"] == "NODE_COMPLETED"]
            assert ended["payload"]["worker"] == shown


@pytest.mark.parametrize("name", ["delay", "queueDelay"])
async def test_a_report_may_ask_for_a_delay_and_may_be_repeated_meanwhile(
    serve: Serve, name: str
) -> None:
    async with serve() as call:
        id = await started(call)
        task = await claimed(call)
        path = f"/executions/{task['executionId']}/complete"
        said = {"leaseToken": task["leaseToken"], "output": 1, "nextHandle": "late"}
        wrong = await call.post(path, {**said, name: "soon"})
        assert (wrong.status, wrong.json["problems"][0]["path"]) == (422, "$.delay")
        assert (await call.post(path, {**said, name: "PT1H"})).status == 200
        assert (await call.post(path, {**said, name: "PT1H"})).status == 200
        assert (await call.post(path, {**said, "output": 2})).status == 409
        step = (await call.get(f"/instances/{id}")).json["state"]["steps"]["send"]
        assert (step["status"], step["output"]) == ("WAITING", None)
        explained = (await call.get(f"/instances/{id}/explain")).json
        assert "delayed" in explained["causes"][0]["message"]
        assert (await call.post("/executions/claim", CLAIM)).json["tasks"] == []
        await call.post(f"/instances/{id}/cancel", {})
        await call.app.engine.final_state(id)
        step = (await call.get(f"/instances/{id}")).json["state"]["steps"]["send"]
        assert (step["status"], step["output"]) == ("COMPLETED", 1)


@pytest.mark.parametrize(
    ("ahead", "allowed", "sooner"), [(60, "PT30M", "timeout"), (30, "PT1H", "deadline")]
)
async def test_a_claim_says_until_when_its_result_counts(
    serve: Serve, ahead: int, allowed: str, sooner: str
) -> None:
    """`deadline` in claims and pushes is the earlier of the attempt's time-out and the instance's
    deadline.
    """
    step = {"stepId": "send", "type": "TASK", "taskId": "send-parcel", "timeout": allowed}
    async with serve() as call:
        assert (await call.post("/workflows", {"id": "timed", "steps": [step]})).status == 201
        begun = call.app.engine.clock.now()
        asked = {"deadline": iso(begun + timedelta(minutes=ahead))}
        instance = await call.post("/workflows/timed/start", asked)
        task = await claimed(call)
        shown = (await call.get(f"/instances/{instance.json['instanceId']}")).json["deadline"]
        if sooner == "deadline":
            assert task["deadline"] == shown
        else:
            assert task["deadline"] < shown
            assert parse_moment(task["deadline"]) >= begun + timedelta(minutes=30, milliseconds=-1)


async def test_a_failure_is_reported_with_its_code(serve: Serve) -> None:
    async with serve() as call:
        id = await started(call)
        task = await claimed(call)
        error = {"code": "NO_PAPER", "message": "none left", "retryable": False}
        body = {"leaseToken": task["leaseToken"], "error": error}
        reply = await call.post(f"/executions/{task['executionId']}/fail", body)
        assert reply.status == 200
        await call.app.engine.final_state(id)
        instance = (await call.get(f"/instances/{id}")).json
        assert (instance["status"], instance["lastError"]["code"]) == ("FAILED", "NO_PAPER")


async def test_a_result_over_the_limit_fails_its_attempt_by_whichever_door_it_comes(
    serve: Serve,
) -> None:
    """A result over the limit is recorded as a `TOO_LARGE` failure and answers 200; one with NUL
    answers 422 and leaves the lease.
    """
    limits = Limits(input_bytes=1_000, event_bytes=1_000, output_bytes=1_000)
    app = Tenuto(settings=Settings(limits=limits, unknown_tasks="wait"))
    async with serve(app=app) as call:
        for size in (2_000, 200_000):
            id = await started(call)
            task = await claimed(call)
            path = f"/executions/{task['executionId']}/complete"
            said = {"leaseToken": task["leaseToken"]}
            assert (await call.post(path, {**said, "output": "a\0b"})).status == 422
            assert (await call.post(path, {**said, "output": "x" * size})).status == 200
            held = await call.app.engine.final_state(id)
            assert held.state.last_error is not None
            assert held.state.last_error.code == "TOO_LARGE"


async def test_an_output_may_be_larger_than_an_input(serve: Serve) -> None:
    limits = Limits(input_bytes=1_000, event_bytes=1_000, output_bytes=200_000)
    app = Tenuto(settings=Settings(limits=limits, unknown_tasks="wait"))
    async with serve(app=app) as call:
        id = await started(call)
        task = await claimed(call)
        body = {"leaseToken": task["leaseToken"], "output": "x" * 190_000}
        reply = await call.post(f"/executions/{task['executionId']}/complete", body)
        assert reply.status == 200
        assert (await call.app.engine.final_state(id)).state.last_error is None
        # What was pushed may be told as late as this, and no larger.
        assert call.pipeline.service.sizes["outcome"] > limits.output_bytes


async def test_many_reports_have_a_result_each_in_their_order(serve: Serve) -> None:
    """`POST /executions/report`: `results: [{executionId, leaseToken, output | error}]` answers
    `[{executionId, status, error?}]` in order.
    """
    async with serve() as call:
        for _ in range(3):
            await started(call)
        tasks = (await call.post("/executions/claim", CLAIM)).json["tasks"]
        results = [
            {"executionId": task["executionId"], "leaseToken": task["leaseToken"], "output": n}
            for n, task in enumerate(tasks)
        ]
        results[1]["leaseToken"] = "1.0"
        results[2]["output"] = "a\0b"
        reply = await call.post("/executions/report", {"results": results})
        assert [each["executionId"] for each in reply.json] == [t["executionId"] for t in tasks]
        assert [each["status"] for each in reply.json] == [200, 409, 422]
        assert "error" not in reply.json[0]
        assert reply.json[1]["error"]["code"] == "TEN-3012"
        assert reply.json[2]["error"]["problems"][0]["path"] == "$.output"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"max": 0}, "$.max"),
        ({"max": 1_001}, "$.max"),
        ({"wait": -1}, "$.wait"),
        ({"wait": 61}, "$.wait"),
        ({"lease": 0.5}, "$.lease"),
        ({"lease": 3_601}, "$.lease"),
        ({"taskIds": []}, "$.taskIds"),
        ({"workerId": ""}, "$.workerId"),
        ({"tenant": "other"}, "$.tenant"),
    ],
)
async def test_claims_have_bounds(serve: Serve, change: dict[str, Any], path: str) -> None:
    async with serve() as call:
        reply = await call.post("/executions/claim", {**CLAIM, **change})
        assert reply.status == 422
        assert [each["path"] for each in reply.json["problems"]] == [path]


async def test_what_is_not_there_is_404(serve: Serve) -> None:
    async with serve() as call:
        for verb in ("heartbeat", "complete"):
            reply = await call.post(f"/executions/nobody/{verb}", {"leaseToken": "1.0"})
            assert reply.status == 404


async def test_a_claim_waits_for_the_first_task(serve: Serve) -> None:
    async with serve() as call:
        waiting = asyncio.create_task(call.post("/executions/claim", {**CLAIM, "wait": 60}))
        id = await started(call)
        [task] = (await waiting).json["tasks"]
        assert task["instanceId"] == id


async def test_a_claim_that_waits_ends_when_the_service_stops(serve: Serve) -> None:
    async with serve() as call:
        waiting = asyncio.create_task(call.post("/executions/claim", {**CLAIM, "wait": 60}))
        await until(lambda: _has_line(call))
        await call.pipeline.service.stop()
        assert (await waiting).json == {"tasks": []}


async def test_a_worker_that_hangs_up_takes_nothing_along(serve: Serve) -> None:
    """What is granted to nobody would come back as lost, and five of those are poison."""
    async with serve() as call:
        url = f"{call.url}{API}/executions/claim"
        asking = asyncio.create_task(call.session.post(url, json={**CLAIM, "wait": 60}))
        await until(lambda: _has_line(call))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: _has_no_line(call))
        id = await started(call)
        task = await claimed(call)
        assert (task["instanceId"], task["attempt"]) == (id, 1)


async def _has_line(call: Caller) -> bool:
    await call.get("/health")
    return call.pipeline.service.broker.waiting > 0


async def _has_no_line(call: Caller) -> bool:
    return not await _has_line(call)


async def test_what_a_worker_gives_back_is_there_for_others_at_once(serve: Serve) -> None:
    async with serve() as call:
        await started(call)
        attempts = []
        for has_begun in (False, True, True):
            task = await claimed(call)
            attempts.append(task["attempt"])
            given = {name: task[name] for name in ("executionId", "leaseToken")}
            back = {"tasks": [{**given, "hasBegun": has_begun}, {**given, "leaseToken": "1.0"}]}
            done, refused = (await call.post("/executions/release", back)).json["results"]
            assert done == {"executionId": task["executionId"], "status": 200}
            assert (refused["status"], refused["error"]["code"]) == (409, "TEN-3012")
        assert attempts == [1, 1, 2]
        assert (await claimed(call))["attempt"] == 3
