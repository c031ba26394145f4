"""Tokens of widgets: one value of one instance, without a key, until they end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from tenuto.api.config import LiveBounds, ServiceConfig
from tenuto.api.live.protocol import UNAUTHENTICATED
from tests.api.conftest import WAIT, Serve
from tests.api.test_pipeline import bearing

pytestmark = pytest.mark.asyncio

ASKED: dict[str, Any] = {"widgetType": "text", "widgetConfig": {"path": "input.customer"}}


def showing(token: str) -> dict[str, str]:
    return {"tenuto-widget-token": token}


async def test_a_token_shows_its_value_and_nothing_else_until_it_ends(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        ids = [
            (await call.start("wait", {"customer": name}))["instanceId"] for name in ("ann", "bob")
        ]
        made = await call.post(f"/instances/{ids[0]}/widget-tokens", ASKED)
        assert made.status == 201
        token = made.json["token"]
        assert made.json["path"] == f"/widgets/{ids[0]}#{token}"
        shown = await call("GET", f"/widgets/{ids[0]}", headers=showing(token))
        assert (shown.json["ready"], shown.json["data"]) == (True, {"text": "ann"})
        assert (shown.json["widgetType"], shown.json["title"]) == ("text", "input.customer")
        other = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
        for id, given in ((ids[1], token), (ids[0], other), (ids[0], ""), (ids[0], "é" * 4)):
            refused = await call("GET", f"/widgets/{id}", headers=showing(given))
            assert (refused.status, refused.json["code"]) == (401, "TEN-5024")
        clock = call.pipeline.service.clock
        later = clock.now() + timedelta(days=1, seconds=1)
        monkeypatch.setattr(clock, "now", lambda: later)
        assert (await call("GET", f"/widgets/{ids[0]}", headers=showing(token))).status == 401


async def test_a_token_ends_with_the_key_that_made_it(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {"customer": "ann"}))["instanceId"]
        admin = (await call.post("/keys", {"name": "a", "role": "admin"})).json["key"]
        wish = {"name": "v", "role": "viewer"}
        viewer = (await call("POST", "/keys", wish, headers=bearing(admin))).json
        made = await call(
            "POST", f"/instances/{id}/widget-tokens", ASKED, headers=bearing(viewer["key"])
        )
        token = showing(made.json["token"])
        assert (await call("GET", f"/widgets/{id}", headers=token)).status == 200
        await call("DELETE", f"/keys/{viewer['id']}", headers=bearing(admin))
        assert (await call("GET", f"/widgets/{id}", headers=token)).status == 401


async def test_a_widget_that_cannot_be_shown_gets_no_token(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {}))["instanceId"]
        for config in ({}, {"path": "a", "colour": "red"}):
            asked = {"widgetType": "text", "widgetConfig": config}
            refused = await call.post(f"/instances/{id}/widget-tokens", asked)
            assert (refused.status, refused.json["code"]) == (422, "TEN-2501")
        long = {"path": "a", "columns": [f"{'x' * 200}{place}" for place in range(100)]}
        asked = {"widgetType": "table", "widgetConfig": long}
        assert (await call.post(f"/instances/{id}/widget-tokens", asked)).status == 422


async def test_a_socket_sends_the_value_of_a_token_whenever_it_is_another_one(serve: Serve) -> None:
    config = {"widgetType": "text", "widgetConfig": {"path": "payment.payload.orderId"}}
    wait = {"stepId": "paid", "type": "EVENT_WAIT", "eventPattern": "payment.received"}
    live = LiveBounds(credential_seconds=0.01, widget_seconds=0.01)
    async with serve(config=ServiceConfig(port=0, drain_seconds=2, live=live)) as call:
        await call.post(
            "/workflows", {"id": "wait", "steps": [{**wait, "outputVariable": "payment"}]}
        )
        id = (await call.start("wait", {"orderId": 7}))["instanceId"]
        admin = (await call.post("/keys", {"name": "a", "role": "admin"})).json
        path = f"/instances/{id}/widget-tokens"
        made = await call("POST", path, config, headers=bearing(admin["key"]))
        token = made.json["token"]
        url = f"{call.url}/api/v1/widgets/{id}/ws"
        for wrong in ((), ("tenuto", f"tenuto.widget.{token[:-3]}")):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await call.session.ws_connect(url, protocols=wrong)
            assert caught.value.status == 401
        async with call.session.ws_connect(
            url, protocols=("tenuto", f"tenuto.widget.{token}")
        ) as socket:
            first = await socket.receive_json(timeout=30)
            assert (first["ready"], first["widgetType"]) == (False, "text")
            instance = await call.app.instance(id)
            # What changes nothing that is shown is not told.
            await instance.pause()
            await instance.resume()
            await call.app.publish("payment.received", {"orderId": 7})
            while (told := await socket.receive_json(timeout=30))["status"] != "COMPLETED":
                assert told != first
            assert told["data"] == {"text": "7"}
            await call("DELETE", f"/keys/{admin['id']}", headers=bearing(admin["key"]))
            assert (await socket.receive(timeout=30)).data == UNAUTHENTICATED
