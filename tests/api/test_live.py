"""Instances as they go: over a socket, and as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import aiohttp
import msgspec
import pytest

from tenuto import Settings, Tenuto
from tenuto.access.principal import LOCAL, Principal
from tenuto.access.roles import Role
from tenuto.api.config import LiveBounds, ServiceConfig
from tenuto.api.live.protocol import GOING, SLOW, UNAUTHENTICATED
from tenuto.api.live.socket import A_SECOND, MOST_AT_ONCE, LiveSocket, MessageBudget
from tenuto.api.problems import Refusal
from tenuto.api.service import Service
from tenuto.model.errors import StoreUnavailable, Unauthenticated
from tests.access.hand_clock import HandClock
from tests.api.conftest import DOUBLE, WAIT, Caller, Serve
from tests.kit.turns import turns

MISSING = "0190f0f0-0000-7000-8000-000000000000"


class Door:
    """Knows people by the word after Bearer, until they are shown out."""

    def __init__(self, **tenants: str) -> None:
        self.tenants = tenants

    async def authenticate(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        name = (authorization or "").removeprefix("Bearer ")
        if name not in self.tenants:
            raise Unauthenticated("not known here", code="TEN-5011")
        return Principal(tenant=self.tenants[name], name=name, role=Role.ADMIN, kind="key")


Socket = aiohttp.ClientWebSocketResponse


def bounded(**bounds: float) -> ServiceConfig:
    live = msgspec.convert(bounds, LiveBounds)
    return ServiceConfig(port=0, drain_seconds=2, live=live)


@asynccontextmanager
async def socket_of(call: Caller, *protocols: str, **headers: str) -> AsyncIterator[Socket]:
    async with call.session.ws_connect(
        call.url + "/ws", headers=headers, protocols=protocols
    ) as socket:
        yield socket


async def said(socket: Socket) -> Any:  # noqa: ANN401 - whatever was said
    return await socket.receive_json(timeout=30)


async def heard_until(socket: Socket, status: str) -> list[Any]:
    found = []
    while True:
        found.append(await said(socket))
        if (found[-1]["event"], found[-1].get("status")) == ("workflow_status_update", status):
            return found


@pytest.mark.asyncio
async def test_a_socket_tells_what_happens_to_an_instance_it_joined(serve: Serve) -> None:
    async with serve() as call, socket_of(call) as socket:
        await call.app.deploy(WAIT)
        id = (await call.start("wait", {"orderId": 7}))["instanceId"]
        await socket.send_json({"event": "workflow_run_join", "runId": id})
        joined = await said(socket)
        assert joined == {"event": "workflow_run_joined", "instanceID": id, "cursor": 0}
        await heard_until(socket, "WAITING_FOR_EVENT")
        await call.app.publish("payment.received", {"orderId": 7})
        told = await heard_until(socket, "COMPLETED")
        node = next(each for each in told if each["event"] == "workflow_node_update")
        assert (node["nodeID"], node["instanceID"], node["iteration"]) == ("paid", id, "")
        assert told[-1]["contextData"]["input"] == {"orderId": 7}
        assert [each["seq"] for each in told] == sorted({each["seq"] for each in told})
        # Who comes back with the last seq hears only what they have not heard.
        await socket.send_json({"event": "workflow_run_leave", "runId": id})
        assert (await said(socket))["event"] == "workflow_run_left"
        again = {"event": "workflow_run_join", "runId": id, "since": told[-1]["seq"] - 1}
        await socket.send_json(again)
        assert (await said(socket))["cursor"] == told[-1]["seq"] - 1
        assert await said(socket) == told[-1]


@pytest.mark.asyncio
async def test_a_message_that_is_wrong_gets_an_error_and_the_socket_stays(serve: Serve) -> None:
    async with serve() as call, socket_of(call) as socket:
        for text in ("{", "[]", "{}", '{"event": "?"}', '{"event": "workflow_run_join"}', "\0"):
            await socket.send_str(text)
            answer = await said(socket)
            assert (answer["event"], answer["code"]) == ("error", "TEN-2610"), text
        await socket.send_json({"event": "workflow_run_leave", "runId": "x"})
        answer = await said(socket)
        about = (answer["code"], answer["about"], answer["instanceID"])
        assert about == ("TEN-2612", "workflow_run_leave", "x")
        await socket.send_json({"event": "workflow_run_join", "runId": MISSING})
        answer = await said(socket)
        about = (answer["code"], answer["about"], answer["instanceID"])
        assert about == ("TEN-3001", "workflow_run_join", MISSING)
        await socket.send_json({"event": "ping"})
        assert await said(socket) == {"event": "pong"}


@pytest.mark.asyncio
async def test_a_refusal_of_too_many_messages_says_which_one_it_is_about(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_many(*_: object) -> None:
        raise Refusal(429, "TEN-4290", "too many requests")

    async with serve() as call, socket_of(call) as socket:
        monkeypatch.setattr(Service, "count_request", too_many)
        join, inbox = {"event": "workflow_run_join", "runId": MISSING}, {"event": "inbox_join"}
        for asked, names in ((join, MISSING), (inbox, None)):
            await socket.send_json(asked)
            answer = await said(socket)
            about = (answer["event"], answer["code"], answer["about"], answer.get("instanceID"))
            assert about == ("error", "TEN-4290", asked["event"], names)
        # What cannot be read counts as well.
        await socket.send_str("{")
        answer = await said(socket)
        assert (answer["code"], "about" in answer) == ("TEN-4290", False)


@pytest.mark.asyncio
async def test_a_socket_watches_a_bounded_number_of_instances(
    serve: Serve,
) -> None:
    async with serve(config=bounded(watched_instances=2)) as call, socket_of(call) as socket:
        await call.app.deploy(WAIT)
        answer: dict[str, str] = {}
        for number in range(3):
            id = (await call.start("wait", {"orderId": number}))["instanceId"]
            await socket.send_json({"event": "workflow_run_join", "runId": id, "since": 1000})
            answer = await said(socket)
            expected = "workflow_run_joined" if number < 2 else "error"
            assert answer["event"] == expected
        assert answer["code"] == "TEN-2611"


@pytest.mark.asyncio
async def test_a_socket_joins_no_instance_of_another_tenant(serve: Serve) -> None:
    door = Door(ann="default", bob="other")
    async with serve(authentication=door) as call:
        await call.app.deploy(WAIT)
        id = (await call.app.start("wait", {"orderId": 1})).id
        async with socket_of(call, authorization="Bearer bob") as socket:
            answers = []
            for each in (id, MISSING):
                await socket.send_json({"event": "workflow_run_join", "runId": each})
                answer = await said(socket)
                answers.append(json.dumps(answer).replace(each, "ID"))
            assert answers[0] == answers[1]
            assert "TEN-3001" in answers[0]
        async with call.session.get(
            f"{call.url}/api/v1/instances/{id}/stream", headers={"authorization": "Bearer bob"}
        ) as response:
            assert response.status == 404


@pytest.mark.asyncio
async def test_a_socket_needs_a_credential_in_a_header_or_offered_by_a_browser(
    serve: Serve,
) -> None:
    async with serve(authentication=Door(ann="default")) as call:
        for headers, protocols in (
            ({}, ()),
            ({"authorization": "Bearer eve"}, ()),
            ({}, ("tenuto", "tenuto.bearer.eve")),
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                async with socket_of(call, *protocols, **headers):
                    pass
            assert caught.value.status in (401, 403)
        async with socket_of(call, "tenuto", "tenuto.bearer.ann") as socket:
            assert socket.protocol == "tenuto"
            await socket.send_json({"event": "ping"})
            assert await said(socket) == {"event": "pong"}
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await call.session.ws_connect(call.url + "/ws?authorization=Bearer%20ann")
        with pytest.raises(aiohttp.WSServerHandshakeError):
            async with socket_of(call, authorization="Bearer ann", origin="https://evil.example"):
                pass


@pytest.mark.asyncio
async def test_a_credential_that_ends_ends_its_sockets_and_streams(
    serve: Serve,
) -> None:
    door = Door(ann="default", bob="default")
    async with serve(authentication=door, config=bounded(credential_seconds=0.01)) as call:
        await call.app.deploy(WAIT)
        id = (await call.app.start("wait", {"orderId": 1})).id
        url = f"{call.url}/api/v1/instances/{id}/stream"
        async with (
            socket_of(call, authorization="Bearer ann") as gone,
            socket_of(call, authorization="Bearer bob") as stays,
            call.session.get(url, headers={"authorization": "Bearer ann"}) as stream,
        ):
            assert stream.status == 200
            del door.tenants["ann"]
            assert (await said(gone))["code"] == "TEN-5011"
            assert (await gone.receive(timeout=30)).data == UNAUTHENTICATED
            async with asyncio.timeout(30):
                assert b'"reason":"error","code":"TEN-5011"' in await stream.read()
            await stays.send_json({"event": "ping"})
            assert await said(stays) == {"event": "pong"}


@pytest.mark.asyncio
async def test_when_the_service_stops_each_is_told_where_to_go_on(serve: Serve) -> None:
    async with serve() as call, socket_of(call) as socket:
        await call.app.deploy(WAIT)
        id = (await call.start("wait", {"orderId": 7}))["instanceId"]
        await socket.send_json({"event": "workflow_run_join", "runId": id})
        cursor = (await heard_until(socket, "WAITING_FOR_EVENT"))[-1]["seq"]
        async with call.session.get(
            f"{call.url}/api/v1/instances/{id}/stream?since={cursor}"
        ) as stream:
            await call.pipeline.service.stop()
            dropped = await said(socket)
            assert dropped["event"] == "workflow_run_dropped"
            assert (dropped["cursor"] >= cursor, dropped["reason"]) == (True, "stopping")
            assert (await socket.receive(timeout=30)).data == GOING
            assert b"event: workflow_run_dropped\n" in await stream.read()
        reply = await call.get(f"/instances/{id}/stream")
        assert (reply.status, "retry-after" in reply.headers) == (503, True)


@pytest.mark.asyncio
async def test_a_socket_that_joined_the_inbox_learns_of_its_tenants_events(serve: Serve) -> None:
    door = Door(ann="default", bob="other")
    app = Tenuto(settings=Settings(watch_every=0.01))
    async with (
        serve(authentication=door, app=app) as call,
        socket_of(call, authorization="Bearer ann") as ours,
        socket_of(call, authorization="Bearer bob") as theirs,
    ):
        ann, bob = ({"authorization": f"Bearer {name}"} for name in ("ann", "bob"))
        await call("POST", "/events", {"pattern": "before", "id": "e0"}, headers=ann)
        for socket in (ours, theirs):
            await socket.send_json({"event": "inbox_join"})
            assert await said(socket) == {"event": "inbox_joined"}
        await call("POST", "/events", {"pattern": "paid", "id": "e1"}, headers=ann)
        update = {"event": "inbox_update", "eventID": "e1", "pattern": "paid"}
        assert await said(ours) == update
        await call("POST", "/events", {"pattern": "sent", "id": "e2"}, headers=bob)
        assert await said(theirs) == {"event": "inbox_update", "eventID": "e2", "pattern": "sent"}
        await ours.send_json({"event": "inbox_leave"})
        assert await said(ours) == {"event": "inbox_left"}
        assert list(call.pipeline.service.live.inbox._watched) == ["other"], "nothing more is read"


@pytest.mark.asyncio
async def test_the_inbox_is_joined_again_also_after_an_error(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: str) -> None:
        raise StoreUnavailable("the store is away")

    async with serve() as call, socket_of(call) as socket:
        with monkeypatch.context() as patched:
            patched.setattr(call.pipeline.service.live.inbox, "follow", away)
            await socket.send_json({"event": "inbox_join"})
            assert (await said(socket))["event"] == "error"
        for _ in range(2):
            await socket.send_json({"event": "inbox_join"})
            assert await said(socket) == {"event": "inbox_joined"}


class NeverTakes:
    """A client that has stopped reading."""

    def __init__(self) -> None:
        self.scope: dict[str, object] = {}
        self.closed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def accept(self, subprotocol: str | None) -> None: ...

    async def receive(self) -> dict[str, str]:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def send_text(self, text: str) -> None:
        await asyncio.get_running_loop().create_future()

    async def close(self, code: int, reason: str) -> None:
        self.closed.set_result(code)


class Flood(NeverTakes):
    """A client that has sent thousands of messages at once, and takes everything."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = list(texts)
        self.taken = 0

    async def receive(self) -> dict[str, str]:
        self.taken += 1
        if self.taken > len(self.texts):
            return {"type": "websocket.disconnect"}
        return {"type": "websocket.receive", "text": self.texts[self.taken - 1]}

    async def send_text(self, text: str) -> None: ...


@pytest.mark.asyncio
async def test_of_messages_that_came_at_once_others_are_served_between(serve: Serve) -> None:
    async with serve() as call:
        join = {"event": "workflow_run_join", "runId": MISSING}
        client = Flood(*([json.dumps(join)] * (MOST_AT_ONCE - 1)))
        before = asyncio.all_tasks()
        socket = LiveSocket(call.pipeline.service, LOCAL, {}, client)  # type: ignore[arg-type]
        running = asyncio.ensure_future(socket.run())
        rounds = 0
        while not running.done():
            taken = client.taken
            await turns(1)
            rounds += 1
            assert client.taken - taken <= 1, "one in each round of the loop"
            own = asyncio.all_tasks() - before
            assert len(own) < 20, "joins of one instance are no chain of tasks"
        assert rounds >= MOST_AT_ONCE
        assert client.taken == MOST_AT_ONCE


def test_a_socket_has_so_many_messages_at_once_and_so_many_a_second() -> None:
    clock = HandClock()
    budget = MessageBudget(clock)
    assert not any(budget.take() for _ in range(MOST_AT_ONCE))
    assert budget.take() == pytest.approx(1 / A_SECOND)
    clock.move(1 / A_SECOND)
    assert budget.take() == pytest.approx(1 / A_SECOND)
    clock.move(3_600)
    assert not any(budget.take() for _ in range(MOST_AT_ONCE)), "no more is saved up"
    assert budget.take() > 0


@pytest.mark.asyncio
async def test_a_client_that_takes_nothing_is_dropped(
    serve: Serve,
) -> None:
    async with serve(config=bounded(send_seconds=0.01)) as call:
        client = NeverTakes()
        socket = LiveSocket(call.pipeline.service, LOCAL, {}, client)  # type: ignore[arg-type]
        running = asyncio.ensure_future(socket.run())
        await socket._take('{"event": "ping"}')
        async with asyncio.timeout(30):
            assert await client.closed == SLOW
            await running


class Slow(NeverTakes):
    """A client that takes what it is sent when it gets round to it."""

    def __init__(self) -> None:
        super().__init__()
        self.takes = asyncio.Event()
        self.takes.set()
        self.is_behind = asyncio.Event()
        self.heard: list[Any] = []
        self.came = asyncio.Event()

    async def send_text(self, text: str) -> None:
        if not self.takes.is_set():
            self.is_behind.set()
        await self.takes.wait()
        self.heard.append(json.loads(text))
        self.came.set()
        self.came = asyncio.Event()

    async def until(self, *events: tuple[str, str]) -> None:
        """Until it was told of each of these instances that it stands so."""
        while not {(each.get("instanceID"), each.get("status")) for each in self.heard} >= {
            *events
        }:
            await self.came.wait()


@pytest.mark.asyncio
async def test_what_waits_to_be_sent_at_a_stop_does_not_count_as_told(serve: Serve) -> None:
    async with serve() as call:
        await call.app.deploy(WAIT)
        ids = [(await call.start("wait", {"orderId": n}))["instanceId"] for n in (1, 2)]
        client, service = Slow(), call.pipeline.service
        socket = LiveSocket(service, LOCAL, {}, client)  # type: ignore[arg-type]
        running = asyncio.ensure_future(socket.run())
        for id in ids:
            await socket._take(json.dumps({"event": "workflow_run_join", "runId": id}))
        async with asyncio.timeout(30):
            await client.until(*((id, "WAITING_FOR_EVENT") for id in ids))
            client.takes.clear()
            for id in ids:
                await (await call.app.instance(id)).pause()
            await client.is_behind.wait()
            places = [socket._feeds[id] for id in ids]
            while not all(each._place > each.cursor for each in places):
                await turns(1)
            service.stopping.set()
            client.takes.set()
            await running
        for id in ids:
            mine = [each for each in client.heard if each.get("instanceID") == id]
            dropped = mine.pop()
            assert dropped["event"] == "workflow_run_dropped"
            assert dropped["cursor"] == mine[-1]["seq"], "no more than what was sent"


@pytest.mark.asyncio
async def test_a_join_that_fails_does_not_take_a_newer_one_with_it(serve: Serve) -> None:
    async with serve() as call:
        client = Slow()
        socket = LiveSocket(call.pipeline.service, LOCAL, {}, client)  # type: ignore[arg-type]
        newer = asyncio.ensure_future(socket._wait_for_stop())
        older = asyncio.ensure_future(socket._send_messages(MISSING, 0))
        socket._watched[MISSING] = newer
        await older
        assert client.heard[-1]["code"] == "TEN-3001"
        assert socket._watched == {MISSING: newer}
        newer.cancel()


@pytest.mark.asyncio
async def test_a_stream_that_cannot_tell_everything_says_so_at_its_end(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as call, socket_of(call) as socket:
        await call.app.deploy(WAIT)
        id = (await call.start("wait", {"orderId": 7}))["instanceId"]

        async def away(*_of: object, **_page: object) -> None:
            raise StoreUnavailable("it is away")

        monkeypatch.setattr(call.app.engine.store.instances, "entries", away)
        url = f"{call.url}/api/v1/instances/{id}/stream?untilEnd=true&since=1"
        async with call.session.get(url) as stream:
            [event] = [each async for each in events_of(stream)]
        assert event["event"] == "workflow_run_dropped"
        data = json.loads(event["data"])
        assert (data["cursor"], data["reason"]) == (1, "error")
        away_text = StoreUnavailable("").public_message
        assert (data["code"], data["message"]) == (StoreUnavailable.code, away_text)
        await socket.send_json({"event": "workflow_run_join", "runId": id, "since": 1})
        assert (await said(socket))["event"] == "workflow_run_joined"
        error = await said(socket)
        assert (error["event"], error["instanceID"], error["cursor"]) == ("error", id, 1)


async def events_of(stream: aiohttp.ClientResponse) -> AsyncIterator[dict[str, str]]:
    event: dict[str, str] = {}
    async for line in stream.content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if not name and not value and event:
            yield event
            event = {}
        elif name or value:
            event[name] = value


@pytest.mark.asyncio
async def test_a_stream_tells_an_instance_from_where_its_reader_was(serve: Serve) -> None:
    async with serve() as call:
        await call.app.deploy(DOUBLE)
        id = (await call.start("double", {"number": 4}, "?wait=10"))["instanceId"]
        url = f"{call.url}/api/v1/instances/{id}/stream?untilEnd=true"
        async with call.session.get(url) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            assert stream.headers["x-content-type-options"] == "nosniff"
            told = [each async for each in events_of(stream)]
        assert told[-1]["event"] == "workflow_status_update"
        assert json.loads(told[-1]["data"])["status"] == "COMPLETED"
        assert [json.loads(each["data"])["seq"] for each in told] == [int(e["id"]) for e in told]
        for query, headers in (
            ("&since=1", {"last-event-id": told[-2]["id"]}),
            ("&since=" + told[-2]["id"], {}),
        ):
            async with call.session.get(url + query, headers=headers) as stream:
                assert [each async for each in events_of(stream)] == told[-1:]
        async with call.session.head(url) as head:
            assert head.status == 200
        reply = await call("GET", f"/instances/{id}/stream", headers={"last-event-id": "x"})
        assert reply.status == 422
        assert (await call.get(f"/instances/{MISSING}/stream")).status == 404


@pytest.mark.asyncio
async def test_a_silent_stream_is_kept_alive(serve: Serve) -> None:
    async with serve(config=bounded(keep_alive_seconds=0.01)) as call:
        await call.app.deploy(WAIT)
        id = (await call.start("wait", {"orderId": 7}))["instanceId"]
        url = f"{call.url}/api/v1/instances/{id}/stream?since=1000000"
        async with call.session.get(url) as stream:
            async with asyncio.timeout(30):
                assert await stream.content.readline() == b": still here\n"
        await call.app.publish("payment.received", {"orderId": 7})


@pytest.mark.asyncio
async def test_an_instance_is_explained_and_shaped_for_a_widget(serve: Serve) -> None:
    async with serve(authentication=Door(ann="default", bob="other")) as call:
        await call.app.deploy(WAIT)
        id = (await call.app.start("wait", {"orderId": 7})).id
        ours, theirs = ({"authorization": f"Bearer {name}"} for name in ("ann", "bob"))
        reply = await call("GET", f"/instances/{id}/explain", headers=ours)
        assert reply.json["causes"][0]["kind"]
        body = {"widgetType": "number", "widgetConfig": {"path": "input.orderId"}}
        reply = await call("POST", f"/instances/{id}/widget", body, headers=ours)
        assert reply.json["data"] == {"value": 7}
        wrong = {"widgetType": "number", "widgetConfig": {"path": 3, "x": 1}}
        reply = await call("POST", f"/instances/{id}/widget", wrong, headers=ours)
        assert reply.status == 422
        assert (await call("GET", f"/instances/{id}/explain", headers=theirs)).status == 404
        assert (await call("POST", f"/instances/{id}/widget", body, headers=theirs)).status == 404
