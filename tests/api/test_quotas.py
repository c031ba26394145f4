"""Quotas of a tenant over HTTP: 429 names the quota, and no client is told to try again."""

from __future__ import annotations

import pytest

from tenuto import Client, Overloaded, Settings, Tenuto
from tenuto.model.errors import OVER_QUOTA
from tenuto.model.json import Object
from tenuto.model.quotas import Quotas
from tests.api.conftest import Serve

pytestmark = pytest.mark.asyncio

BODIES = {
    "webhooks": {"url": "https://example.com/n", "patterns": ["paid"]},
    "subscriptions": {
        "subscriberId": "s",
        "callbackUrl": "https://example.com/n",
        "patterns": ["paid"],
    },
}
WEEK: Object = {"mon": ["09:00-17:00"]}


@pytest.mark.parametrize("kind", BODIES)
async def test_one_more_than_the_quota_is_refused_by_its_name(serve: Serve, kind: str) -> None:
    app = Tenuto(settings=Settings(quotas=Quotas(webhooks=2, subscriptions=2)))
    async with serve(app=app) as call:
        for _ in range(2):
            assert (await call.post(f"/{kind}", BODIES[kind])).status == 201
        reply = await call.post(f"/{kind}", BODIES[kind])
        assert reply.status == 429
        assert reply.json["code"] == OVER_QUOTA
        assert f"2 {kind}" in reply.json["detail"]
        assert f"engine.quotas.{kind}" in reply.json["advice"]
        assert "retry-after" not in reply.headers
        other = {"webhooks": "subscriptions", "subscriptions": "webhooks"}[kind]
        assert (await call.post(f"/{other}", BODIES[other])).status == 201


@pytest.mark.parametrize("quota", ["calendar_bytes", "task_bytes"])
async def test_documents_beyond_their_bytes_are_refused_by_the_quota(
    serve: Serve, quota: str
) -> None:
    long = "x" * 900
    documents: dict[str, tuple[str, Object]] = {
        "calendar_bytes": ("/calendars", {"timezone": "UTC", "week": WEEK, "name": long}),
        "task_bytes": ("/tasks", {"kind": "pull", "description": long}),
    }
    path, body = documents[quota]
    app = Tenuto(settings=Settings(quotas=Quotas(calendar_bytes=1_500, task_bytes=1_500)))
    async with serve(app=app) as call:
        assert (await call.post(path, {"id": "one", **body})).status == 201
        reply = await call.post(path, {"id": "two", **body})
        assert (reply.status, reply.json["code"]) == (429, OVER_QUOTA)
        assert f"engine.quotas.{quota}" in reply.json["advice"]
        assert (await call.get(f"{path}/two")).status == 404


async def test_the_client_raises_what_the_app_raises_and_does_not_try_again(serve: Serve) -> None:
    app = Tenuto(settings=Settings(quotas=Quotas(webhooks=0)))
    async with serve(app=app) as call, Client(call.url) as client:
        for space in (app, client):
            with pytest.raises(Overloaded) as refused:
                await space.webhooks.add("https://example.com/n", "paid")
            assert refused.value.code == OVER_QUOTA
        asked = call.pipeline.service.metrics.requests.answers
        assert asked["add_webhook", 429] == 1
