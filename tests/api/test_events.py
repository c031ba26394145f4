"""Events, webhooks and subscriptions over HTTP."""

from __future__ import annotations

import pytest

from tenuto import Tenuto
from tenuto.engine.outbox.endpoints import endpoint_of
from tenuto.engine.settings import Settings
from tests.api.conftest import WAIT, Serve, tasks, until

PAID = {"pattern": "payment.received", "payload": {"orderId": 7}}


@pytest.mark.asyncio
async def test_an_event_wakes_who_waits_and_answers_how_many(serve: Serve) -> None:
    """`POST /events` answers `{eventId, duplicate, resumed, cancelled, started}` (counts); with
    `dryRun` also `targets` and `nearMisses`.
    """
    async with serve() as call:
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {"orderId": 7}))["instanceId"]

        async def is_open() -> bool:
            return bool((await call.get(f"/instances/{id}/waits")).json["items"])

        await until(is_open)
        foreseen = (await call.post("/events?dryRun=true", PAID)).json
        assert foreseen["resumed"] == 1
        assert (foreseen["targets"][0]["instanceId"], foreseen["nearMisses"]) == (id, [])
        reply = await call.post("/events", {**PAID, "id": "e1"})
        assert reply.json == {
            "eventId": "e1",
            "duplicate": False,
            "resumed": 1,
            "cancelled": 0,
            "started": 0,
        }
        again = await call.post("/events", {**PAID, "id": "e1"})
        assert (again.json["duplicate"], again.json["resumed"]) == (True, 1)
        other = await call.post("/events", {**PAID, "id": "e1", "payload": 2})
        assert (other.status, other.json["code"]) == (409, "TEN-3008")
        shown = (await call.get("/events/e1")).json
        assert shown["deliveries"][0]["instanceId"] == id
        listed = (await call.get("/events?pattern=payment.received")).json["items"]
        assert [each["eventId"] for each in listed] == ["e1"]


@pytest.mark.asyncio
async def test_many_events_have_a_result_each(serve: Serve) -> None:
    """`POST /events` (one, or an array of at most 1,000 with a result each) answers when the event
    is stored and its targets are recorded.
    """
    async with serve() as call:
        reply = await call.post("/events", [{**PAID, "id": "a"}, {"pattern": "workflow.x"}, 3])
        good, bad, worse = reply.json["results"]
        assert (good["eventId"], bad["error"]["status"], worse["error"]["status"]) == (
            "a",
            422,
            422,
        )
        assert (await call.post("/events", {"pattern": "a..b"})).status == 422
        await call.post("/events", [{"pattern": "x.y", "id": f"n{n}"} for n in range(5)])
        read: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = (await call.get(f"/events?limit=2{f'&cursor={cursor}' if cursor else ''}")).json
            read += [each["eventId"] for each in page["items"]]
            cursor = page["nextCursor"]
        assert read == ["a", "n0", "n1", "n2", "n3", "n4"]
        for pattern, wanted in (("", read), ("&pattern=x.y", read[1:])):
            backwards: list[str] = []
            cursor = ""
            while cursor is not None:
                path = f"/events?order=desc&limit=2{pattern}{f'&cursor={cursor}' if cursor else ''}"
                page = (await call.get(path)).json
                backwards += [each["eventId"] for each in page["items"]]
                cursor = page["nextCursor"]
                # What comes meanwhile is above the page: nothing moves.
                await call.post("/events", {"pattern": "x.y", "id": f"m{len(backwards)}"})
            assert [id for id in backwards if not id.startswith("m")] == wanted[::-1]


@pytest.mark.asyncio
async def test_cloud_events_are_taken_in_each_of_their_forms(serve: Serve) -> None:
    """CloudEvents are deduped by (`source`, `id`)."""
    cloud = {"specversion": "1.0", "id": "1", "source": "/s", "type": "order.placed", "data": 1}
    async with serve() as call:
        structured = await call(
            "POST", "/events", cloud, headers={"content-type": "application/cloudevents+json"}
        )
        assert (structured.status, structured.json["eventId"]) == (200, "cloudevent /s 1")
        batch = await call(
            "POST",
            "/events",
            [cloud],
            headers={"content-type": "application/cloudevents-batch+json; charset=utf-8"},
        )
        assert batch.json["results"][0]["duplicate"] is True
        headers = {f"ce-{name}": str(value) for name, value in cloud.items() if name != "data"}
        binary = await call("POST", "/events", 1, headers=headers)
        assert binary.json["duplicate"] is True
        broken = await call("POST", "/events", 1, headers={**headers, "ce-specversion": "9"})
        assert broken.status == 422


@pytest.mark.asyncio
async def test_webhooks_and_subscriptions_come_and_go(serve: Serve) -> None:
    """`POST /webhooks {url, patterns, secret?, description?}`."""
    app = Tenuto(tasks=tasks(), settings=Settings(private_webhooks=True))
    async with serve(app=app) as call:
        hook = {"url": "http://127.0.0.1:9/x", "patterns": ["a.b"], "description": "mine"}
        made = await call.post("/webhooks", hook)
        assert made.status == 201
        assert made.json["secret"].startswith("whsec_")
        id = made.json["id"]
        (listed,) = (await call.get("/webhooks")).json["items"]
        assert (await call.get(f"/webhooks/{id}")).json == listed
        assert (await call.get("/subscriptions/nobody")).json["code"] == "TEN-3301"
        assert (listed["id"], listed["secret"]) == (id, None)
        assert (await call.post(f"/webhooks/{id}/enable")).status == 200
        other = {"url": "http://127.0.0.1:9/z", "patterns": ["c.d", "workflow.failed"]}
        changed = await call("PUT", f"/webhooks/{id}", other)
        assert changed.status == 200
        assert {name: changed.json[name] for name in other} == other
        assert (changed.json["description"], changed.json["secret"]) == (None, None)
        (kept,) = await app.engine.store.listeners.of("default")
        assert endpoint_of(kept).secret == made.json["secret"]
        assert (await call("PUT", "/webhooks/nobody", other)).json["code"] == "TEN-3301"
        assert (await call("PUT", f"/webhooks/{id}", {**other, "patterns": []})).status == 422
        wrong = await call.post("/webhooks", {"url": "ftp://x", "patterns": ["a..b"]})
        assert wrong.status == 422
        assert {each["path"] for each in wrong.json["problems"]} >= {"$.url"}
        assert (await call("DELETE", f"/webhooks/{id}")).status == 204
        asked = {
            "subscriberId": "shop",
            "callbackUrl": "http://127.0.0.1:9/y",
            "patterns": ["a.*"],
        }
        sub = await call.post("/subscriptions", asked)
        assert sub.status == 201
        assert {name: sub.json[name] for name in asked} == asked
        assert len((await call.get("/subscriptions")).json["items"]) == 1
        assert (await call("DELETE", f"/subscriptions/{sub.json['id']}")).status == 204
        assert (await call.get("/webhooks")).json["items"] == []


@pytest.mark.asyncio
async def test_webhooks_and_subscriptions_are_listed_page_by_page(serve: Serve) -> None:
    app = Tenuto(tasks=tasks(), settings=Settings(private_webhooks=True))
    async with serve(app=app) as call:
        hook = {"url": "http://127.0.0.1:9/x", "patterns": ["a.b"]}
        asked = {"subscriberId": "s", "callbackUrl": "http://127.0.0.1:9/y", "patterns": ["a.*"]}
        for path, body in (("/webhooks", hook), ("/subscriptions", asked)):
            ids = [(await call.post(path, body)).json["id"] for _ in range(3)]
            page = (await call.get(f"{path}?limit=2")).json
            found = [each["id"] for each in page["items"]]
            assert len(found) == 2
            assert (await call("DELETE", f"{path}/{found[0]}")).status == 204
            ids.append((await call.post(path, body)).json["id"])
            while (cursor := page["nextCursor"]) is not None:
                page = (await call.get(f"{path}?limit=1&cursor={cursor}")).json
                found += [each["id"] for each in page["items"]]
            assert sorted(found) == sorted(ids)
            assert (await call.get(f"{path}?cursor=x")).codes == {"TEN-2009"}
