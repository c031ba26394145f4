"""Quotas of a tenant over HTTP: 429 names the quota, and no client is told to try again."""

from __future__ import annotations

import pytest

from tenuto import Client, Overloaded, Settings, Tenuto
from tenuto.model.errors import OVER_QUOTA
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


async def test_the_client_raises_what_the_app_raises_and_does_not_try_again(serve: Serve) -> None:
    app = Tenuto(settings=Settings(quotas=Quotas(webhooks=0)))
    async with serve(app=app) as call, Client(call.url) as client:
        for space in (app, client):
            with pytest.raises(Overloaded) as refused:
                await space.webhooks.add("https://example.com/n", "paid")
            assert refused.value.code == OVER_QUOTA
        asked = call.pipeline.service.metrics.requests.answers
        assert asked["add_webhook", 429] == 1
