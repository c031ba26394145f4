"""Events that services outside hand in: by a signed token that says what it is for."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tenuto.api.event_tickets import event_tickets
from tenuto.api.operation import API
from tenuto.model.durations import iso
from tests.api.conftest import WAIT, Caller, Serve
from tests.api.test_pipeline import KEYS, bearing

pytestmark = pytest.mark.asyncio

ASKED = {"subscriberId": "shop", "patterns": ["payment.*"]}
TOLD: dict[str, Any] = {
    "eventId": "evt-1",
    "pattern": "payment.received",
    "timestamp": "2023-08-01T16:15:30Z",
    "payload": {"orderId": 7},
    "subscriberId": "shop",
    "subscriptionId": "sub-67890",
}


async def path_of(call: Caller, asked: dict[str, Any] | None = None) -> str:
    reply = await call("POST", "/events/callbacks", asked or ASKED, headers=bearing("bob"))
    assert reply.status == 201, reply.text
    url = str(reply.json["callbackUrl"])
    assert url.startswith(f"{call.url}{API}/internal/events/callback?token=")
    return url.removeprefix(call.url)


async def test_an_event_that_is_handed_in_wakes_who_waits_for_it_once(serve: Serve) -> None:
    async with serve(authentication=KEYS) as call:
        theirs = bearing("bob")
        await call("POST", "/workflows", WAIT, headers=theirs)
        body = {"input": {"orderId": 7}}
        started = await call("POST", "/workflows/wait/start", body, headers=theirs)
        path = await path_of(call)
        assert [(await call.post(path, TOLD)).status for _ in range(2)] == [204, 204]
        waited = await call(
            "GET", f"/instances/{started.json['instanceId']}?wait=30", headers=theirs
        )
        assert waited.json["status"] == "COMPLETED"
        event = (await call("GET", "/events/evt-1", headers=theirs)).json
        assert (event["resumed"], event["payload"]) == (1, {"orderId": 7})
        assert (await call("GET", "/events/evt-1", headers=bearing("ann"))).status == 404
        lines = (await call("GET", "/audit?action=event_callback", headers=theirs)).json["items"]
        assert {(each["actor"], each["kind"], each["source"]) for each in lines} == {
            ("shop", "callback", "127.0.0.1"),
        }
        assert [each["outcome"] for each in lines] == ["done", "asked"] * 2
        token = path.partition("=")[2]
        everything = await call("GET", "/audit/export", headers=theirs)
        assert token[:40] not in everything.text


async def test_a_token_opens_nothing_but_what_it_says(serve: Serve) -> None:
    async with serve(authentication=KEYS) as call:
        path = await path_of(call)
        for changed, status in (
            ({"pattern": "order.cancelled"}, 403),
            ({"pattern": "workflow.completed"}, 403),
            ({"subscriberId": "eve"}, 422),
            ({"eventId": ""}, 422),
            ({"tenant": "default"}, 422),
        ):
            assert (await call.post(path, {**TOLD, **changed})).status == status, changed
        everything = await path_of(call, {"subscriberId": "shop", "patterns": ["**"]})
        assert (
            await call.post(everything, {**TOLD, "pattern": "workflow.completed"})
        ).status == 422
        assert (await call("GET", "/events", headers=bearing("bob"))).json["items"] == []


async def test_a_token_for_an_instance_ends_with_it(serve: Serve) -> None:
    async with serve(authentication=KEYS) as call:
        theirs = bearing("bob")
        await call("POST", "/workflows", WAIT, headers=theirs)
        body = {"input": {"orderId": 7}}
        id = (await call("POST", "/workflows/wait/start", body, headers=theirs)).json["instanceId"]
        path = await path_of(call, {**ASKED, "instanceId": id})
        other = {**TOLD, "eventId": "evt-2", "payload": {"orderId": 8}}
        assert [(await call.post(path, each)).status for each in (other, TOLD)] == [204, 204]
        ended = await call("GET", f"/instances/{id}?wait=30", headers=theirs)
        assert ended.json["status"] == "COMPLETED"
        late = await call.post(path, {**TOLD, "eventId": "evt-3"})
        assert (late.status, late.json["code"]) == (410, "TEN-3065")
        assert (await call("GET", "/events/evt-3", headers=theirs)).status == 404
        assert (await call.post(path, TOLD)).status == 204, "its answer may have got lost"
        for who, status in (("bob", 201), ("ann", 404)):
            asked = {**ASKED, "instanceId": id}
            made = await call("POST", "/events/callbacks", asked, headers=bearing(who))
            assert made.status == status, who


async def test_a_token_of_another_version_is_read_as_far_as_it_is_understood(
    serve: Serve,
) -> None:
    """It says nothing of what it does not use; who does not know of what it says lets nobody in."""
    async with serve(authentication=KEYS) as call:
        path = await path_of(call)
        said = urlsafe_b64decode(path.partition("=")[2] + "==")[32:]
        assert len(msgspec.json.decode(said)) == 4, "as before there were tokens for an instance"
        newer = msgspec.json.encode(["default", "shop", ["**"], 2**53, None, "unknown"])
        tickets = event_tickets(call.app.engine.store, call.app.engine.ids)
        token = urlsafe_b64encode(await tickets._signature(newer) + newer).decode().rstrip("=")
        where, _, _ = path.partition("=")
        reply = await call.post(f"{where}={token}", TOLD)
        assert (reply.status, reply.json["code"]) == (401, "TEN-3064")


async def test_a_token_that_was_not_given_out_or_is_over_opens_nothing(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(authentication=KEYS) as call:
        path = await path_of(call)
        where, _, token = path.partition("=")
        whole = bytearray(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        forged = []
        for place in (0, 31, 33, len(whole) - 3):
            other = whole.copy()
            other[place] ^= 1
            forged.append(urlsafe_b64encode(other).decode().rstrip("="))
        for each in (*forged, "", "x", "é", token[:-4], "A" * 9_000):
            reply = await call.post(f"{where}={each}", TOLD)
            assert (reply.status, reply.json["code"]) == (401, "TEN-3064"), each
        elsewhere = event_tickets(call.app.engine.store, call.app.engine.ids)
        assert await elsewhere.said(token) is not None
        clock = call.pipeline.service.clock
        later = clock.now() + timedelta(days=7, seconds=1)
        monkeypatch.setattr(clock, "now", lambda: later)
        assert (await call.post(path, TOLD)).status == 401


async def test_who_may_not_publish_and_keep_listeners_makes_no_callback(serve: Serve) -> None:
    async with serve() as call:
        admin = (await call.post("/keys", {"name": "a", "role": "admin"})).json["key"]
        for role, scopes, status in (
            ("operator", None, 403),
            ("editor", ["events:publish"], 403),
            ("editor", ["listeners:write"], 403),
            ("editor", None, 201),
        ):
            wish = {"name": "k", "role": role, "scopes": scopes}
            made = await call("POST", "/keys", wish, headers=bearing(admin))
            reply = await call(
                "POST", "/events/callbacks", ASKED, headers=bearing(made.json["key"])
            )
            assert reply.status == status, (role, scopes)
        now = call.app.engine.clock.now()
        problems: list[dict[str, Any]] = [
            {"patterns": []},
            {"patterns": ["a..b"]},
            {"expirationTime": iso(now - timedelta(days=1))},
        ]
        for wrong in problems:
            reply = await call(
                "POST", "/events/callbacks", {**ASKED, **wrong}, headers=bearing(admin)
            )
            assert reply.status == 422, wrong
        far = {**ASKED, "expirationTime": iso(now + timedelta(days=9_999))}
        reply = await call("POST", "/events/callbacks", far, headers=bearing(admin))
        assert reply.json["expirationTime"] < iso(now + timedelta(days=91))


async def test_a_url_ends_with_the_key_that_made_it(serve: Serve) -> None:
    root = bearing("k" * 40)
    async with serve(admin_key="k" * 40) as call:

        async def made(**wish: object) -> tuple[str, str, Any]:
            """The id of a key, and a URL for events that it made."""
            body = {"name": "e", "role": "editor", **wish}
            key = (await call("POST", "/keys", body, headers=root)).json
            held = bearing(key["key"])
            url = (await call("POST", "/events/callbacks", ASKED, headers=held)).json
            return key["id"], str(url["callbackUrl"]).removeprefix(call.url), url

        id, path, _ = await made()
        assert (await call.post(path, TOLD)).status == 204
        await call("DELETE", f"/keys/{id}", headers=root)
        refused = await call.post(path, {**TOLD, "eventId": "evt-2"})
        assert (refused.status, refused.json["code"]) == (401, "TEN-3064")
        soon = iso(call.app.engine.clock.now() + timedelta(hours=1))
        _, _, url = await made(expiresAt=soon)
        assert url["expirationTime"] == soon
