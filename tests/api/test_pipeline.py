"""The one way in: hosts, origins, credentials, headers, what is kept."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime

import aiohttp
import pytest

from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.config import ServiceConfig
from tenuto.api.registry import OPERATIONS
from tenuto.model.errors import Unauthenticated
from tests.api.conftest import DOUBLE, WAIT, Serve


class Keys:
    """Knows a few people by the word after Bearer."""

    def __init__(self, **principals: Principal) -> None:
        self.principals = principals

    async def authenticate(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        if authorization is None:
            raise Unauthenticated("no credential", code="TEN-5010")
        found = self.principals.get(authorization.removeprefix("Bearer "))
        if found is None:
            raise Unauthenticated("wrong credential", code="TEN-5011")
        return found


class Notes:
    """An audit log in memory."""

    def __init__(self) -> None:
        self.kept: list[tuple[str | None, str, str]] = []

    async def record(
        self,
        *,
        principal: Principal | None,
        action: str,
        target: str,
        outcome: str,
        source: str | None,
        request_id: str,
        before: object,
        after: object,
        is_waited_for: bool = True,
    ) -> None:
        assert source == "127.0.0.1"
        assert request_id
        self.kept.append((principal.name if principal else None, action, outcome))

    async def settled(self) -> None: ...

    async def refuse_unauthenticated(
        self, *, code: str, action: str, target: str, source: str | None, request_id: str
    ) -> None:
        assert code.startswith("TEN-50")
        self.kept.append((None, action, "refused"))


def somebody(name: str, role: Role, tenant: str = "default") -> Principal:
    return Principal(tenant=tenant, name=name, role=role, kind="key")


def bearing(word: str) -> dict[str, str]:
    return {"authorization": f"Bearer {word}"}


KEYS = Keys(
    ann=somebody("ann", Role.ADMIN),
    vic=somebody("vic", Role.VIEWER),
    bob=somebody("bob", Role.ADMIN, tenant="other"),
)
CALLBACKS = ("task_callback", "event_callback", "schedule_callback")
IDS = {"id": "x", "name": "X", "stepId": "s", "path": "a", "taskId": "x", "executionId": "x"}


@pytest.mark.asyncio
async def test_every_operation_refuses_who_is_not_known_or_may_not(serve: Serve) -> None:
    notes = Notes()
    async with serve(authentication=KEYS, audit=notes) as call:
        for each in OPERATIONS:
            if each.method == "WEBSOCKET":
                continue
            path = each.path.replace(":path}", "}").format(**IDS)
            for headers, status in (({}, 401), (bearing("nobody"), 401)):
                reply = await call(each.method, path, headers=headers)
                expected = 200 if each.is_public and not headers else status
                if each.name in CALLBACKS and not headers:
                    expected = 422  # its token is its credential, and it has none
                if each.name == "get_widget":
                    expected = 401
                assert reply.status == expected, (each.name, reply.text)
                if expected == 401:
                    assert reply.headers["www-authenticate"].startswith("Bearer")
            if each.permission is not None and not KEYS.principals["vic"].may(each.permission):
                reply = await call(each.method, path, headers=bearing("vic"))
                assert (reply.status, reply.json["code"]) == (403, "TEN-5013"), each.name
        assert {outcome for _, _, outcome in notes.kept} == {"refused"}
        assert (await call.get("/nothing")).status == 401
        assert (await call("GET", "/nothing", headers=bearing("ann"))).status == 404


@pytest.mark.asyncio
async def test_an_invalid_key_is_401_even_where_none_is_required(serve: Serve) -> None:
    """An invalid key is 401 even where none is required."""
    async with serve() as call:
        assert (await call.get("/instances")).status == 200
        for path in ("/instances", "/health"):
            assert (await call("GET", path, headers=bearing("x"))).status == 401


@pytest.mark.asyncio
async def test_an_instance_of_another_tenant_is_not_there(serve: Serve) -> None:
    async with serve(authentication=KEYS) as call:
        ours, theirs = bearing("ann"), bearing("bob")
        for workflow in (DOUBLE, WAIT):
            await call("POST", "/workflows", workflow, headers=ours)
        body = {"input": {"orderId": 1}}
        id = (await call("POST", "/workflows/wait/start", body, headers=ours)).json["instanceId"]
        missing = "0190f0f0-0000-7000-8000-000000000000"
        for method, part in (
            *(("GET", each) for each in ("", "/history", "/context", "/graph", "/waits")),
            *(("GET", each) for each in ("/variables/input", "/undo-plan", "/snapshot")),
            *(("POST", f"/{each}") for each in ("cancel", "pause", "resume", "retry", "rerun")),
        ):
            reply = await call(method, f"/instances/{id}{part}", headers=theirs)
            other = await call(method, f"/instances/{missing}{part}", headers=theirs)
            assert (reply.status, other.status) == (404, 404), part
            assert reply.json["detail"].replace(id, "") == other.json["detail"].replace(missing, "")
        assert (await call("GET", "/instances", headers=theirs)).json["items"] == []
        assert (await call("GET", f"/instances?ids={id}", headers=theirs)).json["items"] == []
        assert (await call("GET", "/workflows", headers=theirs)).json["items"] == []
        assert (await call("POST", "/workflows/wait/start", body, headers=theirs)).status == 404
        event = {"pattern": "payment.received", "payload": {"orderId": 1}}
        published = await call("POST", "/events", event, headers=theirs)
        assert (published.status, published.json["resumed"]) == (200, 0)
        instance = (await call("GET", f"/instances/{id}", headers=ours)).json
        assert instance["cancellation"] is None
        assert instance["status"] != "PAUSED"


@pytest.mark.asyncio
async def test_who_asks_is_said_by_the_credential_alone(serve: Serve) -> None:
    notes = Notes()
    async with serve(authentication=KEYS, audit=notes) as call:
        ours = bearing("ann")
        await call("POST", "/workflows", WAIT, headers=ours)
        started = await call("POST", "/workflows/wait/start", {"input": {}}, headers=ours)
        id = started.json["instanceId"]
        reply = await call(
            "POST", f"/instances/{id}/cancel", {"requestedBy": "the boss"}, headers=ours
        )
        assert reply.status == 403
        await call("POST", f"/instances/{id}/cancel", {"reason": "enough"}, headers=ours)
        instance = (await call("GET", f"/instances/{id}", headers=ours)).json
        assert instance["cancellation"]["requestedBy"] == "ann"
        assert notes.kept == [
            *(("ann", "save_workflow", each) for each in ("asked", "done")),
            *(("ann", "start_workflow", each) for each in ("asked", "done")),
            *(("ann", "cancel_instance", each) for each in ("asked", "refused")),
            *(("ann", "cancel_instance", each) for each in ("asked", "done")),
        ]


@pytest.mark.asyncio
async def test_foreign_hosts_and_origins_are_refused(serve: Serve) -> None:
    """Writes need `content-type: application/json` (or CloudEvents' types); a foreign `Origin` is
    refused.
    """
    config = ServiceConfig(port=0, origins=frozenset({"https://ui.example.com"}), drain_seconds=2)
    async with serve(config=config) as call:
        for origin in ("https://evil.example.com", "null", "https://ui.example.com.evil.com"):
            reply = await call("GET", "/instances", headers={"origin": origin})
            assert (reply.status, reply.json["code"]) == (403, "TEN-5021"), origin
            assert "access-control-allow-origin" not in reply.headers
        allowed = await call("GET", "/instances", headers={"origin": "https://ui.example.com"})
        assert allowed.headers["access-control-allow-origin"] == "https://ui.example.com"
        assert (await call("GET", "/instances", headers={"origin": call.url})).status == 200
        asked = await call("OPTIONS", "/instances", headers={"origin": "https://ui.example.com"})
        methods = asked.headers["access-control-allow-methods"]
        assert (asked.status, methods) == (204, "GET, HEAD, OPTIONS")
        for host in ("evil.example.com", "127.0.0.1.evil.com:80", ""):
            reply = await call("GET", "/health", headers={"host": host})
            assert reply.status in (400, 421), host


@pytest.mark.asyncio
async def test_every_answer_has_the_headers_that_keep_browsers_in_check(serve: Serve) -> None:
    async with serve() as call:
        for path in ("/instances", "/nothing", "/docs", "/openapi.json", "/health"):
            reply = await call("GET", path, headers={"x-request-id": "abc-1"})
            assert reply.headers["x-content-type-options"] == "nosniff", path
            assert reply.headers["x-frame-options"] == "DENY"
            assert reply.headers["x-request-id"] == "abc-1"
            assert "server" not in reply.headers
        strange = await call("GET", "/health", headers={"x-request-id": "a b"})
        assert strange.headers["x-request-id"] != "a b"


@pytest.mark.asyncio
async def test_sockets_come_through_the_same_gate(serve: Serve) -> None:
    async with serve(authentication=KEYS) as call:
        for path, headers, status in (
            ("/ws", {}, 401),
            ("/ws", bearing("nobody"), 401),
            ("/nothing", bearing("ann"), 404),
            ("/ws", bearing("ann") | {"origin": "https://evil.example.com"}, 403),
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await call.session.ws_connect(f"{call.url}{path}", headers=headers)
            assert refused.value.status == status


@pytest.mark.asyncio
async def test_a_head_is_a_get_without_its_body(serve: Serve) -> None:
    async with serve() as call:
        reply = await call("HEAD", "/health")
        assert (reply.status, reply.text) == (200, "")
        got = await call.get("/instances")
        head = await call("HEAD", "/instances")
        assert head.headers["content-length"] == got.headers["content-length"]
        assert (await call("HEAD", "/workflows/nobody")).status == 404
        assert (await call("OPTIONS", "/workflows/validate")).headers["allow"] == (
            "DELETE, GET, POST, PUT, HEAD, OPTIONS"
        )
        assert (await call("OPTIONS", "/nothing")).status == 404


@pytest.mark.asyncio
async def test_who_has_the_newest_is_told_so(serve: Serve) -> None:
    async with serve() as call:
        await call.post("/workflows", DOUBLE)
        await call.post("/workflows", WAIT)
        id = (await call.start("wait", {"orderId": 1}))["instanceId"]
        tag = ""
        for path in ("/workflows/double", f"/instances/{id}"):
            tag = (await call.get(path)).headers["etag"]
            for named in (tag, f'"x", W/{tag}', "*"):
                known = await call("GET", path, headers={"if-none-match": named})
                assert (known.status, known.text, known.headers["etag"]) == (304, "", tag)
                assert "content-length" not in known.headers
            assert (await call("GET", path, headers={"if-none-match": '"999"'})).status == 200
        await call.post(f"/instances/{id}/pause")
        changed = await call("GET", f"/instances/{id}", headers={"if-none-match": tag})
        assert (changed.status, changed.json["status"]) == (200, "PAUSED")


@pytest.mark.asyncio
async def test_a_service_that_stops_is_first_not_ready_then_tells_who_waits(serve: Serve) -> None:
    async with serve() as caller:
        await caller.post("/workflows", WAIT)
        waiting = asyncio.ensure_future(caller.start("wait", {"orderId": 1}, "?wait=60"))
        service = caller.pipeline.service
        while not service.metrics.requests.connected["request"]:
            await caller.get("/health")
        service.leaving.set()
        reply = await caller.get("/health/ready")
        assert (reply.status, reply.json["status"]) == (503, "stopping")
        assert reply.headers["connection"] == "close"
        assert (await caller.get("/workflows")).status == 200, "it goes on answering"
        assert not waiting.done()
        async with asyncio.timeout(30):
            await service.stop()
            assert (await waiting)["status"] == "WAITING_FOR_EVENT"


@pytest.mark.asyncio
async def test_a_service_lingers_while_others_find_out_that_it_is_not_ready(serve: Serve) -> None:
    config = ServiceConfig(port=0, drain_seconds=5, linger_seconds=60)
    stack = AsyncExitStack()
    caller = await stack.enter_async_context(serve(config=config))
    service = caller.pipeline.service
    caller.session = await stack.enter_async_context(aiohttp.ClientSession())
    leaving = asyncio.ensure_future(stack.aclose())
    await service.leaving.wait()
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{caller.url}/health/ready") as reply:
            assert reply.status == 503
        async with session.get(f"{caller.url}/api/v1/workflows") as reply:
            assert reply.status == 200
    assert not service.stopping.is_set()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
