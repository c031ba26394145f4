"""Instances over HTTP: looked at, and told what to do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenuto.model.json import Object
from tests.api.conftest import DOUBLE, REFUSE, WAIT, Caller, Serve, until
from tests.api.test_pipeline import Notes
from tests.kit.turns import turns

APPROVE: Object = {
    "id": "approve",
    "steps": [
        {
            "stepId": "ask",
            "type": "APPROVAL",
            "assignees": {"users": ["ann"], "roles": ["operator"]},
            "formSchema": {"type": "object", "required": ["note"]},
        }
    ],
}
UNDO: Object = {
    "id": "undo",
    "steps": [
        {
            "stepId": "first",
            "type": "TASK",
            "taskId": "double",
            "outputVariable": "made",
            "transitions": {"default": "paid"},
        },
        {"stepId": "paid", "type": "EVENT_WAIT", "eventPattern": "payment.received"},
    ],
    "compensationSteps": [
        {
            "stepId": "unmake",
            "compensationFor": "first",
            "type": "TASK",
            "taskId": "double",
            "input": {"number": 1},
        }
    ],
}


async def at_rest(call: Caller, id: str) -> Any:  # noqa: ANN401 - JSON
    found: Any = None

    async def rests() -> bool:
        nonlocal found
        found = (await call.get(f"/instances/{id}")).json
        return found["status"] not in ("CREATED", "RUNNING")

    await until(rests)
    return found


@pytest.mark.asyncio
async def test_an_instance_shows_its_log_context_graph_waits_and_undo_plan(serve: Serve) -> None:
    """`/instances/{id}/waits` items: `{stepId, iteration, armId?, eventPattern, eventCondition,
    since, timeoutAt, nearMisses: [{eventId, at, failed: [{expression, left, right}]}]}`.
    `/instances/{id}/undo-plan`: `{plan: [{stepId, compensationFor, iteration, input}], skipped:
    [{stepId, reason}]}`. Log entries without a node have `attempt: null` in REST.
    """
    async with serve() as call:
        await call.post("/workflows", UNDO)
        id = (await call.start("undo", {"number": 2}))["instanceId"]
        instance = await at_rest(call, id)
        assert (instance["status"], instance["version"]) == ("WAITING_FOR_EVENT", 6)
        context = (await call.get(f"/instances/{id}/context")).json
        assert context["ctx"] == {"input": {"number": 2}, "made": 4}
        assert "system" in context
        one = (await call.get(f"/instances/{id}/variables/input.number")).json
        assert one == {"path": "input.number", "value": 2}
        assert (await call.get(f"/instances/{id}/variables/made.more")).status == 404
        assert (await call.get(f"/instances/{id}/variables/a..b")).status == 422
        graph = (await call.get(f"/instances/{id}/graph")).json
        assert {each["id"]: each["run"]["status"] for each in graph["nodes"]} == {
            "first": "COMPLETED",
            "paid": "WAITING",
        }
        (wait,) = (await call.get(f"/instances/{id}/waits")).json["items"]
        assert (wait["stepId"], wait["eventPattern"]) == ("paid", "payment.received")
        assert set(wait) >= {"iteration", "eventCondition", "since", "timeoutAt", "nearMisses"}
        entries = (await call.get(f"/instances/{id}/history")).json["items"]
        assert {each["attempt"] for each in entries if each["nodeId"] is None} == {None}
        assert {each["attempt"] for each in entries if each["nodeId"] is not None} == {1}
        plan = (await call.get(f"/instances/{id}/undo-plan")).json
        assert [each["stepId"] for each in plan["plan"]] == ["unmake"]


@pytest.mark.asyncio
async def test_a_log_is_read_page_by_page_both_ways(serve: Serve) -> None:
    """Lists answer `{items: […], nextCursor: string | null}` and take `limit` (≤ 1,000) and
    `cursor`; `/history` is ascending, takes `after=<seq>` and `order=desc`.
    """
    async with serve() as call:
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {"orderId": 1}))["instanceId"]
        await at_rest(call, id)
        whole = (await call.get(f"/instances/{id}/history")).json
        seqs = [each["seq"] for each in whole["items"]]
        assert seqs == list(range(1, len(seqs) + 1))
        assert whole["nextCursor"] is None
        assert whole["items"][0]["eventType"] == "INPUT_SET"
        for order, expected in (("asc", seqs), ("desc", seqs[::-1])):
            read: list[int] = []
            cursor: str | None = ""
            while cursor is not None:
                tail = f"&cursor={cursor}" if cursor else ""
                page = (await call.get(f"/instances/{id}/history?order={order}&limit=2{tail}")).json
                read += [each["seq"] for each in page["items"]]
                cursor = page["nextCursor"]
            assert read == expected
        behind = (await call.get(f"/instances/{id}/history?after=2")).json["items"]
        assert [each["seq"] for each in behind] == seqs[2:]
        assert (await call.get(f"/instances/{id}/history?after=99999&order=desc")).status == 200
        assert (await call.get(f"/instances/{id}/history?after=0&order=desc")).json["items"] == []


@pytest.mark.asyncio
async def test_lists_are_filtered_and_paged_and_stay_stable_under_inserts(serve: Serve) -> None:
    """Lists answer `{items: […], nextCursor: string | null}` and take `limit` (≤ 1,000) and
    `cursor`; `/history` is ascending, takes `after=<seq>` and `order=desc`.
    `GET /instances?ids=a,b`.
    """
    async with serve() as call:
        await call.post("/workflows", WAIT)
        body = {"items": [{"workflowId": "wait", "input": {"orderId": n}} for n in range(5)]}
        results = (await call.post("/instances/batch", body)).json["results"]
        ids = [each["instanceId"] for each in results]
        first = (await call.get("/instances?limit=2")).json
        await call.start("wait", {"orderId": 9})
        read, cursor = first["items"], first["nextCursor"]
        while cursor is not None:
            page = (await call.get(f"/instances?limit=2&cursor={cursor}")).json
            read, cursor = read + page["items"], page["nextCursor"]
        assert sorted(each["id"] for each in read) == sorted(ids)
        two = (await call.get(f"/instances?ids={ids[0]},{ids[1]}")).json["items"]
        assert {each["id"] for each in two} == set(ids[:2])
        assert (await call.get("/instances?status=NONE")).status == 422
        assert (await call.get("/instances?status=FAILED,CANCELLED")).json["items"] == []
        assert (await call.get("/instances?createdBefore=2020-01-01T00:00:00Z")).json["items"] == []
        assert (
            len((await call.get("/instances?createdFrom=2020-01-01T00:00:00Z")).json["items"]) == 6
        )


@pytest.mark.asyncio
async def test_illegal_commands_are_409_with_the_current_status(serve: Serve) -> None:
    """Cancel of COMPLETED or FAILED, pause of PAUSED, resume of RUNNING: 409."""
    async with serve() as call:
        for each in (DOUBLE, WAIT, REFUSE):
            await call.post("/workflows", each)
        done = (await call.start("double", {"number": 1}, "?wait=30"))["instanceId"]
        failed = (await call.start("refuse", {}, "?wait=30"))["instanceId"]
        waiting = (await call.start("wait", {"orderId": 1}))["instanceId"]
        await at_rest(call, waiting)
        for id, command, status in (
            (done, "cancel", "COMPLETED"),
            (done, "retry", "COMPLETED"),
            (failed, "cancel", "FAILED"),
            (waiting, "resume", "WAITING_FOR_EVENT"),
        ):
            reply = await call.post(f"/instances/{id}/{command}")
            assert (reply.status, reply.json["currentStatus"]) == (409, status), command
        paused = await call.post(f"/instances/{waiting}/pause", {"reason": "lunch"})
        assert (paused.status, paused.json["status"]) == (200, "PAUSED")
        reply = await call.post(f"/instances/{waiting}/pause")
        assert (reply.status, reply.json["currentStatus"]) == (409, "PAUSED")
        assert (await call.post(f"/instances/{waiting}/resume")).status == 200
        for _ in range(2):
            assert (await call.post(f"/instances/{waiting}/cancel")).status == 200
        cancelled = await at_rest(call, waiting)
        assert cancelled["status"] == "CANCELLED"
        assert cancelled["cancellation"]["source"] == "API"


@pytest.mark.asyncio
async def test_a_failed_instance_is_retried_and_rerun(serve: Serve) -> None:
    """Rerun answers 201 `{instanceId, status}`."""
    async with serve() as call:
        await call.post("/workflows", REFUSE)
        answer = await call.start("refuse", {"a": 1}, "?wait=30")
        assert answer["status"] == "FAILED"
        assert answer["lastError"]["code"] == "OUT_OF_STOCK"
        id = answer["instanceId"]
        assert (await call.post(f"/instances/{id}/retry")).status == 200
        rerun = await call.post(f"/instances/{id}/rerun", {"input": {"a": 2}})
        assert rerun.status == 201
        assert set(rerun.json) == {"instanceId", "status"}
        again = (await call.get(f"/instances/{rerun.json['instanceId']}")).json
        assert (again["rerunOf"], again["input"]) == (id, {"a": 2})
        assert (await call.post(f"/instances/{id}/rerun", {"fromStep": "none"})).status == 422


@pytest.mark.asyncio
async def test_an_approval_is_decided(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", APPROVE)
        id = (await call.start("approve"))["instanceId"]
        await at_rest(call, id)
        where = f"/instances/{id}/steps/ask/decision"
        assert (await call.post(where, {"decision": "perhaps"})).status == 422
        stranger = await call.post(where, {"decision": "approved", "form": {"note": "x"}})
        assert (stranger.status, stranger.json["code"]) == (403, "TEN-5001")
        ann = {"decision": "approved", "by": "ann"}
        assert (await call.post(where, ann)).status == 422
        for _ in range(2):
            assert (await call.post(where, {**ann, "form": {"note": "fine"}})).status == 200
        other = {"decision": "rejected", "by": "ann", "form": {"note": "no"}}
        assert (await call.post(where, other)).status == 409
        assert (await call.post(f"/instances/{id}/steps/none/decision", ann)).status == 404


@pytest.mark.asyncio
async def test_a_start_is_made_once_under_a_key(serve: Serve) -> None:
    """`Idempotency-Key` (Python `key=`) is per tenant and lives as long as the instance; the same
    key with other content gets 409 with the first id.
    """
    async with serve() as call:
        await call.post("/workflows", WAIT)

        async def start(number: int) -> Any:  # noqa: ANN401
            return await call.post(
                "/workflows/wait/start", {"input": {"orderId": number}}, idempotency_key="k"
            )

        replies = await asyncio.gather(*(start(1) for _ in range(5)))
        assert sorted(each.status for each in replies) == [200, 200, 200, 200, 201]
        (id,) = {each.json["instanceId"] for each in replies}
        other = await start(2)
        assert (other.status, other.json["code"]) == (409, "TEN-3004")
        assert other.json["instanceId"] == id
        await call.post(f"/instances/{id}/cancel")
        assert (await at_rest(call, id))["status"] == "CANCELLED"
        assert (await start(1)).json["status"] == "CANCELLED"


@pytest.mark.asyncio
async def test_a_batch_has_a_result_each(serve: Serve) -> None:
    """`POST /instances/batch {items: […]}` starts up to 1,000, a result each."""
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        items = [
            {"workflowId": "double", "input": {"number": 1}, "idempotencyKey": "a"},
            {"workflowId": "double", "input": {"number": 1}, "idempotencyKey": "a"},
            {"workflowId": "double", "input": {}, "priority": None},
            {"workflowId": "nobody"},
            {"workflowId": "double", "input": {"number": 2}, "idempotencyKey": "a"},
        ]
        reply = await call.post("/instances/batch", {"items": items})
        assert reply.status == 200
        one, two, three, four, five = reply.json["results"]
        assert one["instanceId"] == two["instanceId"]
        assert {one["duplicate"], two["duplicate"]} == {False, True}
        assert (three["error"]["status"], four["error"]["status"]) == (422, 404)
        assert three["error"]["problems"]
        assert (five["error"]["status"], five["error"]["instanceId"]) == (409, one["instanceId"])
        many = {"items": [{"workflowId": "double"}] * 1_001}
        assert (await call.post("/instances/batch", many)).status == 422


@pytest.mark.asyncio
async def test_input_that_does_not_fit_is_422(serve: Serve) -> None:
    """Input that fails `inputSchema`: 422, by trigger or schedule a recorded refusal."""
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        reply = await call.post("/workflows/double/start", {"input": {}})
        assert reply.status == 422
        assert (
            await call.post("/workflows/double/start", {"input": {"number": "\0"}})
        ).status == 422
        assert (await call.post("/workflows/double/start", {"instanceId": "x"})).status == 422


@pytest.mark.asyncio
async def test_a_service_that_stops_answers_who_waits(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        waiting = asyncio.ensure_future(
            call.post("/workflows/wait/start?wait=300", {"input": {"orderId": 1}})
        )

        async def has_begun() -> bool:
            return bool((await call.get("/instances")).json["items"])

        await until(has_begun)
        async with asyncio.timeout(30):
            await call.pipeline.service.stop()
            assert (await waiting).status == 202
        assert (await call.get("/health/ready")).json["status"] == "stopping"


@pytest.mark.asyncio
async def test_a_wait_ends_with_whoever_asked_and_what_they_did_is_recorded(serve: Serve) -> None:
    notes = Notes()
    async with serve(audit=notes) as call:
        await call.app.deploy(WAIT)
        asking = asyncio.ensure_future(call.start("wait", {"orderId": 1}, "?wait=600"))

        async def has_started() -> bool:
            return bool((await call.get("/instances")).json["items"])

        await until(has_started)
        connected = call.pipeline.service.metrics.requests.connected
        assert connected["request"] == 1
        asking.cancel()

        async def nobody_asks() -> bool:
            await turns(1)
            return connected["request"] == 0

        await until(nobody_asks)
        assert ("local", "start_workflow", "done") in notes.kept


@pytest.mark.asyncio
async def test_an_edited_input_is_checked_as_that_of_a_dead_letter(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", REFUSE)
        await call.post(
            "/tasks", {"id": "refuse", "kind": "pull", "inputSchema": {"type": "string"}}
        )
        id = (await call.start("refuse", {}, "?wait=30"))["instanceId"]
        where = f"/instances/{id}/retry"
        edited = {"stepId": "reserve", "input": "mended"}
        for wrong, path in (
            ({"edited": {**edited, "inptu": 1}}, "$.edited.inptu"),
            ({"edited": edited, "input": 1}, "$.input"),
            ({"edited": edited, "compensation": "undo"}, "$.edited"),
            ({"input": 1}, "$.input"),
            ({"iteration": "1"}, "$.iteration"),
        ):
            refused = await call.post(where, wrong)
            assert (refused.status, refused.codes) == (422, {"TEN-2031"}), wrong
            assert [each["path"] for each in refused.json["problems"]] == [path]
        misfit = await call.post(where, {"edited": {**edited, "input": 7}})
        assert misfit.status == 422
        assert "does not fit the task refuse" in misfit.text
        assert (await call.get(f"/instances/{id}")).json["status"] == "FAILED"
        assert (await call.post(where, {"edited": edited})).status == 200
        [line] = [
            each["after"]
            for each in (await call.get("/audit")).json["items"]
            if (each["action"], each["outcome"]) == ("retry_instance", "done")
        ]
        assert line["edited"] is True


@pytest.mark.asyncio
async def test_an_edited_input_needs_the_permission_for_dead_letters(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", REFUSE)
        id = (await call.start("refuse", {}, "?wait=30"))["instanceId"]
        admin = (await call.post("/keys", {"name": "a", "role": "admin"})).json["key"]
        wish = {"name": "c", "role": "operator", "scopes": ["instances:*"]}
        ours = f"Bearer {admin}"
        theirs = f"Bearer {(await call.post('/keys', wish, authorization=ours)).json['key']}"
        where = f"/instances/{id}/retry"
        for body in (
            {"edited": {"stepId": "reserve", "input": "mended"}},
            {"compensation": "undo", "input": 1},
        ):
            refused = await call.post(where, body, authorization=theirs)
            assert (refused.status, refused.json["code"]) == (403, "TEN-5013")
        assert (await call.post(where, {}, authorization=theirs)).status == 200
