"""A credential that has ended gets no task, reports nothing, and has no other door."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import msgspec
import pytest

from tenuto.api.service import Service
from tests.api.conftest import Caller, Reply, Serve, until
from tests.api.test_executions import CLAIM, SHIP
from tests.api.test_pushing import begin, pushing

pytestmark = pytest.mark.asyncio

ADMIN = "k" * 40
CALLBACK = "/internal/tasks/callback"
DONE = {"status": "COMPLETED", "output": "forged"}


def bearing(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


ROOT = bearing(ADMIN)


async def worker(call: Caller) -> tuple[str, dict[str, str]]:
    """The id of a worker's key, and the headers that have it."""
    made = await call("POST", "/keys", {"name": "w", "role": "operator"}, headers=ROOT)
    return made.json["id"], bearing(made.json["key"])


async def started(call: Caller) -> str:
    await call("PUT", "/workflows/ship", SHIP, headers=ROOT)
    return str((await call("POST", "/workflows/ship/start", {}, headers=ROOT)).json["instanceId"])


async def claimed(call: Caller, headers: dict[str, str], **other: object) -> Reply:
    return await call("POST", "/executions/claim", {**CLAIM, **other}, headers=headers)


def ticket(tenant: str, execution_id: str, lease_token: str) -> str:
    text = msgspec.json.encode((tenant, execution_id, lease_token))
    return urlsafe_b64encode(text).decode().rstrip("=")


async def refusals(call: Caller) -> list[Any]:
    lines = (await call("GET", "/audit?limit=1000", headers=ROOT)).json["items"]
    return [line for line in lines if line["outcome"] == "refused"]


async def test_a_worker_whose_key_is_revoked_reports_nothing_by_any_door(serve: Serve) -> None:
    async with serve(admin_key=ADMIN) as call:
        id = await started(call)
        key_id, headers = await worker(call)
        [task] = (await claimed(call, headers)).json["tasks"]
        assert (await call("DELETE", f"/keys/{key_id}", headers=ROOT)).status == 200
        path, said = f"/executions/{task['executionId']}", {"leaseToken": task["leaseToken"]}
        for verb, body in (
            (f"{path}/complete", said),
            (f"{path}/heartbeat", said),
            (f"{path}/fail", {**said, "error": {"code": "X", "message": "x"}}),
            (
                "/executions/report",
                {"results": [{"executionId": task["executionId"], **said}]},
            ),
        ):
            assert (await call("POST", verb, body, headers=headers)).json["code"] == "TEN-5012"
            assert (await call("POST", verb, body)).json["code"] == "TEN-5010"
        before = len(await refusals(call))
        token = ticket("default", task["executionId"], task["leaseToken"])
        forged = await call("POST", f"{CALLBACK}?token={token}", DONE)
        assert (forged.status, forged.json["code"]) == (401, "TEN-3060")
        assert len(await refusals(call)) <= before + 1
        instance = (await call("GET", f"/instances/{id}", headers=ROOT)).json
        assert instance["status"] == "RUNNING"
        # Another worker of the tenant may report what the first has done.
        _, other = await worker(call)
        assert (await call("POST", f"{path}/complete", said, headers=other)).status == 200


async def test_forged_tokens_leave_a_line_and_do_not_fill_the_log(serve: Serve) -> None:
    async with serve(admin_key=ADMIN) as call:
        for door, body in (
            (CALLBACK, DONE),
            (
                "/internal/events/callback",
                {"eventId": "e", "pattern": "a.b", "subscriberId": "s"},
            ),
        ):
            for at in range(20):
                token = ticket("default", f"execution-{at}", f"{at}.00")
                assert (await call("POST", f"{door}?token={token}", body)).status == 401
        [line] = await refusals(call)
        assert (line["actor"], line["credential"], line["source"]) == ("nobody", None, "127.0.0.1")
        assert line["after"] == {"code": "TEN-3060"}
        service = call.pipeline.service
        assert isinstance(service, Service)
        await service.close()
        [counted, _] = await refusals(call)
        assert counted["after"] == {"count": 39, "codes": {"TEN-3060": 19, "TEN-3064": 20}}


async def test_a_token_of_a_callback_opens_no_other_door() -> None:
    async with pushing() as (call, target):
        target.status = 202
        id = await begin(call)
        await target.was_sent.wait()
        url = target.seen[0]["callbackUrl"]
        token = url.partition("?token=")[2]
        tenant, execution, lease = msgspec.json.decode(
            urlsafe_b64decode(token + "=" * (-len(token) % 4))
        )
        assert tenant == "default"
        body = {"leaseToken": lease, "output": "forged"}
        refused = await call("POST", f"/executions/{execution}/complete", body)
        assert (refused.status, refused.json["code"]) == (409, "TEN-3012")
        beat = await call("POST", f"/executions/{execution}/heartbeat", {"leaseToken": lease})
        assert beat.status == 409
        event = {"eventId": "e", "pattern": "a.b", "subscriberId": "s"}
        other = await call("POST", f"/internal/events/callback?token={token}", event)
        assert other.status == 401
        assert (await call("POST", f"{CALLBACK}?token={token}", DONE)).status == 204
        await call.app.engine.final_state(id)
        assert (await call.get(f"/instances/{id}")).json["output"] == "forged"


async def test_a_claim_that_waits_gets_no_task_once_its_key_is_revoked(serve: Serve) -> None:
    async with serve(admin_key=ADMIN) as call:
        key_id, headers = await worker(call)
        broker = call.pipeline.service.broker
        waiting = asyncio.ensure_future(claimed(call, headers, wait=60))

        async def is_waiting() -> bool:
            await call.get("/health")
            return broker.waiting == 1

        await until(is_waiting)
        await call("DELETE", f"/keys/{key_id}", headers=ROOT)
        await started(call)
        refused = await waiting
        assert (refused.status, refused.json["code"]) == (401, "TEN-5012")
        # The task has not begun: another worker gets it as if nothing had been.
        _, other = await worker(call)
        [task] = (await claimed(call, other, wait=60)).json["tasks"]
        assert task["attempt"] == 1


async def test_whoever_waits_for_an_end_learns_nothing_once_the_key_is_revoked(
    serve: Serve,
) -> None:
    async with serve(admin_key=ADMIN) as call:
        id = await started(call)
        key_id, headers = await worker(call)
        service = call.pipeline.service
        seeing = asyncio.ensure_future(call("GET", f"/instances/{id}?wait=60", headers=headers))
        begun = asyncio.ensure_future(
            call("POST", "/workflows/ship/start?wait=60", {}, headers=headers)
        )

        async def are_waiting() -> bool:
            await call.get("/health")
            return len(service.waiting) == 2

        await until(are_waiting)
        await call("DELETE", f"/keys/{key_id}", headers=ROOT)
        for _ in range(2):
            [task] = (await claimed(call, ROOT, max=1, wait=60)).json["tasks"]
            body = {"leaseToken": task["leaseToken"], "output": "secret"}
            await call("POST", f"/executions/{task['executionId']}/complete", body, headers=ROOT)
        refused, start = await seeing, await begun
        assert (refused.status, refused.json["code"]) == (401, "TEN-5012")
        # The start was done while the key was valid: that is said, and no result.
        assert start.status == 202
        assert "output" not in start.json
