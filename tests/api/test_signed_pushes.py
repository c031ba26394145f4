"""Pushed tasks are signed as webhooks are, with a secret that is never read again."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest

from tenuto import verify_signature
from tests.api.conftest import Caller, until
from tests.api.push_service import PushService
from tests.api.test_pushing import pushing, run

pytestmark = pytest.mark.asyncio

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()


async def signed(call: Caller, target: PushService, secret: str) -> bool:
    """Whether the next push is signed with the secret."""
    await run(call)
    headers, body = target.raw[-1]
    return verify_signature(secret, headers, body)


async def test_a_push_is_signed_with_the_secret_of_its_task() -> None:
    async with pushing(secret=SECRET) as (call, target):
        assert await signed(call, target, SECRET)
        headers, body = target.raw[-1]
        assert headers["webhook-id"] == target.seen[-1]["executionId"]
        assert not verify_signature(OTHER, headers, body)
        assert not verify_signature(SECRET, headers, body + b" ")
        assert not verify_signature(SECRET, {**headers, "webhook-id": "x"}, body)
        for moment in ("0", "-1", "", "x", "9" * 11, "9" * 5_000, "\N{FULLWIDTH DIGIT ONE}"):
            assert not verify_signature(SECRET, {**headers, "webhook-timestamp": moment}, body)
        assert not verify_signature(SECRET, {**headers, "webhook-id": "\udcff"}, body)
        assert not verify_signature(SECRET, {}, body)
        many = {**headers, "webhook-signature": f"v1,x é {headers['webhook-signature']}"}
        assert verify_signature(SECRET, many, body)
        assert verify_signature(SECRET, headers, body, tolerance=timedelta(days=1))


async def test_without_a_secret_one_is_made_and_shown_once() -> None:
    async with pushing() as (call, target):
        task = {"id": "made", "kind": "push", "url": target.url}
        made = (await call.post("/tasks", task)).json["secret"]
        assert made.startswith("whsec_")
        await call.post("/tasks/made/execute?wait=60", {})
        assert verify_signature(made, *target.raw[-1])
        fresh = (await call("PUT", "/tasks/fresh", {**task, "id": "fresh"})).json["secret"]
        assert fresh not in ("", made)


async def test_the_secret_of_a_task_stays_until_another_is_given_and_is_never_shown() -> None:
    async with pushing(secret=SECRET) as (call, target):
        task = {"id": "charge", "kind": "push", "url": target.url, "description": "more"}
        replies = [
            await call("PUT", "/tasks/charge", task),
            await call.get("/tasks/charge"),
            await call.get("/tasks"),
            await call.get("/audit"),
        ]
        assert await signed(call, target, SECRET)
        replies.append(await call("PUT", "/tasks/charge", {**task, "secret": OTHER}))
        replies.append(await call("PUT", "/tasks/charge", task))
        assert replies[-1].json["version"] == replies[-2].json["version"], "nothing has changed"
        await call.get("/tasks/charge")

        async def is_signed_anew() -> bool:
            return await signed(call, target, OTHER)

        await until(is_signed_anew)
        id = (await run(call))["instanceId"]
        replies += [await call.get(f"/instances/{id}{each}") for each in ("", "/history")]
        for reply in replies:
            assert reply.status == 200
            assert SECRET not in reply.text
            assert OTHER not in reply.text
            assert '"secret"' not in reply.text


async def test_what_is_no_secret_is_refused_without_repeating_it() -> None:
    async with pushing() as (call, target):
        for secret in ("hunter2-hunter2", "whsec_", "whsec_aHVudGVyMg==", "whsec_hunter2!"):
            task = {"id": "x", "kind": "push", "url": target.url, "secret": secret}
            reply = await call.post("/tasks", task)
            assert reply.status == 422
            assert "hunter2" not in reply.text
        reply = await call.post("/tasks", {"id": "x", "kind": "pull", "secret": SECRET})
        assert (reply.status, reply.json["problems"][0]["path"]) == (422, "$.secret")
