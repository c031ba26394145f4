"""A request under an idempotency key, sent again: told of the first, whatever happened since."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tests.api.conftest import DOUBLE, WAIT, Serve, tasks

pytestmark = pytest.mark.asyncio

STRICTER: dict[str, object] = {
    **DOUBLE,
    "inputSchema": {"type": "object", "required": ["number", "more"]},
}
BODY = {"input": {"number": 1}}


async def test_a_start_is_found_whatever_became_of_its_definition(
    serve: Serve, tmp_path: Path
) -> None:
    """Start: 201, a repeat under the same key 200 with the first, other content 409."""
    app = Tenuto(f"sqlite:///{tmp_path / 's.db'}", tasks=tasks(), settings=Settings())
    async with serve(app=app) as call:
        await call.post("/workflows", DOUBLE)
        path = "/workflows/double/start"
        first = await call.post(f"{path}?wait=30", BODY, idempotency_key="k")
        assert first.status == 201
        id = first.json["instanceId"]
        for change in (("PUT", "/workflows/double", STRICTER), ("DELETE", "/workflows/double")):
            assert (await call(*change)).status in (201, 204)
            again = await call.post(path, BODY, idempotency_key="k")
            assert (again.status, again.json["instanceId"]) == (200, id)
            assert again.json["status"] == "COMPLETED"
            many = {"items": [{**BODY, "workflowId": "double", "idempotencyKey": "k"}]}
            [result] = (await call.post("/instances/batch", many)).json["results"]
            assert (result["instanceId"], result["duplicate"]) == (id, True)
            other = await call.post(path, {"input": {"number": 2}}, idempotency_key="k")
            assert (other.status, other.json["code"]) == (409, "TEN-3004")
            assert other.json["instanceId"] == id
        assert (await call.post(path, BODY, idempotency_key="new")).status == 404
        assert (await call.post(path, BODY)).status == 404


async def test_another_id_under_the_same_key_is_other_content(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        mine, another = str(uuid4()), str(uuid4())
        body = {"input": {"orderId": 1}, "instanceId": mine}
        statuses = []
        for id in (mine, mine, another):
            reply = await call.post(
                "/workflows/wait/start", {**body, "instanceId": id}, idempotency_key="k"
            )
            statuses.append(reply.status)
        assert statuses == [201, 200, 409]
        assert (await call.get(f"/instances/{another}")).status == 404


async def test_a_task_is_run_once_under_a_key_though_it_was_changed(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/tasks", {"id": "mail", "kind": "pull"})
        path = "/tasks/mail/execute"
        first = await call.post(path, {"input": {"a": 1}}, idempotency_key="k")
        assert first.status == 201
        changed = {"id": "mail", "kind": "pull", "timeout": "PT20S"}
        assert (await call("PUT", "/tasks/mail", changed)).status == 200
        again = await call.post(path, {"input": {"a": 1}}, idempotency_key="k")
        assert (again.status, again.json["instanceId"]) == (200, first.json["instanceId"])
        other = await call.post(path, {"input": {"a": 2}}, idempotency_key="k")
        assert other.status == 409
        versions = (await call.get("/workflows/task:mail/versions")).json["items"]
        assert len(versions) == 1, "what was refused, or done before, saves nothing"
        assert (await call("DELETE", "/tasks/mail")).status == 204
        again = await call.post(path, {"input": {"a": 1}}, idempotency_key="k")
        assert (again.status, again.json["instanceId"]) == (200, first.json["instanceId"])
        assert (await call.post(path, {"input": {"a": 2}}, idempotency_key="k")).status == 409
        for key in ({}, {"idempotency_key": "new"}):
            assert (await call.post(path, {"input": {"a": 1}}, **key)).status == 404


async def test_a_task_whose_run_is_refused_saves_nothing(serve: Serve) -> None:
    schema = {"type": "object", "required": ["to"]}
    async with serve() as call:
        await call.post("/tasks", {"id": "mail", "kind": "pull", "inputSchema": schema})
        there = {"input": {"to": "me"}}
        for body in (
            {"input": 1},
            {**there, "instanceId": "nope"},
            {**there, "correlationId": "a\0b"},
            {**there, "version": 1},
        ):
            reply = await call.post("/tasks/mail/execute", body)
            assert reply.status in (404, 422), reply.text
        assert (await call.get("/workflows")).json["items"] == []
        assert (await call.post("/tasks/mail/execute", there)).status == 201


async def test_a_rerun_is_made_once_under_a_key(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        id = (await call.start("double", {"number": 1}, "?wait=30"))["instanceId"]
        path = f"/instances/{id}/rerun"
        first = await call.post(path, {}, idempotency_key="k")
        again = await call.post(path, {}, idempotency_key="k")
        assert (first.status, again.status) == (201, 200)
        assert again.json["instanceId"] == first.json["instanceId"]
        for body in ({"input": {"number": 3}}, {"fromStep": "twice"}, {"fromStep": "nowhere"}):
            assert (await call.post(path, body, idempotency_key="k")).status == 409
        assert (await call.post(path, {"fromStep": "nowhere"}, idempotency_key="x")).status == 422
        assert (await call.post(path, {}, idempotency_key="other")).status == 201
        assert (await call.post("/workflows/double/start", BODY, idempotency_key="k")).status == 409
