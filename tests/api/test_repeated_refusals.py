"""Requests that are refused under load like one before: the same answer, without the pipeline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from tenuto import Tenuto
from tenuto.api.asgi import build_api
from tenuto.api.config import ServiceConfig
from tenuto.api.connections import ConnectionBounds, Connections
from tenuto.api.http_protocol import BoundedHttp, WaitingRequests
from tenuto.api.server import http_protocol
from tenuto.engine.load.pressure import CALM, Pressure
from tests.access.hand_clock import HandClock
from tests.api.test_slow_requests import Wire

pytestmark = pytest.mark.asyncio

FULL = Pressure(value=2.0, reason="wait for a turn 2,000 ms of 1,000 ms", retry_after=3)


class Line:
    """A service without sockets; the pipeline is reached by tasks alone."""

    def __init__(self, app: Tenuto, config: ServiceConfig) -> None:
        pipeline = build_api(app, config)
        self.service = pipeline.service
        self.service.pressure.pressure = self.service.pressure.beside = FULL
        connections = Connections(HandClock(), ConnectionBounds(400, 200, 100))
        # A function that makes one, as uvicorn calls it.
        self._make = cast(
            "Callable[..., BoundedHttp]",
            http_protocol(self.service, connections, WaitingRequests()),
        )
        self._config = uvicorn.Config(pipeline, ws="none", lifespan="off", log_config=None)
        self._state = ServerState()
        self._state.default_headers = [(b"server", b"uvicorn")]

    def connect(self) -> tuple[BoundedHttp, Wire]:
        protocol = self._make(self._config, self._state, {})
        wire = Wire("127.0.0.1")
        protocol.connection_made(cast("asyncio.Transport", wire))
        return protocol, wire

    async def sent(self, request: bytes) -> tuple[Wire, bool]:
        """The answer on a connection of its own, and whether the pipeline made it."""
        protocol, wire = self.connect()
        protocol.data_received(request)
        is_by_pipeline = bool(self._state.tasks)
        await self.answered()
        protocol.connection_lost(None)
        return wire, is_by_pipeline

    async def answered(self) -> None:
        await asyncio.gather(*self._state.tasks)


@asynccontextmanager
async def line(config: ServiceConfig | None = None) -> AsyncIterator[Line]:
    async with Tenuto() as app:
        yield Line(app, config or ServiceConfig())


def start(workflow: str = "load", *headers: str) -> bytes:
    head = (
        f"POST /api/v1/workflows/{workflow}/start HTTP/1.1",
        "host: 127.0.0.1:8484",
        "content-type: application/json",
        "content-length: 2",
        *headers,
    )
    return "\r\n".join([*head, "", "{}"]).encode()


def parts(wire: Wire) -> tuple[bytes, set[bytes], dict[str, object]]:
    """The first line, the headers and the body of an answer."""
    head, _, body = wire.sent.partition(b"\r\n\r\n")
    first, *headers = head.split(b"\r\n")
    assert f"content-length: {len(body)}".encode() in headers
    return first, set(headers), json.loads(body)


async def test_a_repeated_refusal_is_that_of_the_pipeline() -> None:
    async with line() as service:
        first, is_by_pipeline = await service.sent(start("load", "x-request-id: one"))
        assert is_by_pipeline
        again, is_by_pipeline = await service.sent(
            start("load", "x-request-id: two", "idempotency-key: 7")
        )
        assert not is_by_pipeline
        one, two = parts(first), parts(again)
        assert one[0] == two[0] == b"HTTP/1.1 429 Too Many Requests"
        assert one[1] - two[1] == {b"x-request-id: one"}
        assert two[1] - one[1] == {b"x-request-id: two"}
        assert b"retry-after: 3" in two[1]
        assert {**one[2], "requestId": "two"} == two[2]
        counts = service.service.metrics.requests.answers
        assert counts["start_workflow", 429] == service.service.pressure.refused["starts"] == 2


@pytest.mark.parametrize(
    "other",
    [
        start("another"),
        start("load", "authorization: Bearer wrong"),
        start("load", "tenuto-tenant: another"),
        start("load", "origin: https://elsewhere.example"),
        start("load", "x-forwarded-for: 10.0.0.1"),
        start("load", "connection: close"),
        start().replace(b"HTTP/1.1", b"HTTP/1.0"),
        start().replace(b"/start", b"/start?wait=1"),
        start().replace(b"127.0.0.1:8484", b"elsewhere.example"),
    ],
)
async def test_a_request_that_differs_in_what_is_checked_takes_the_way_of_all(other: bytes) -> None:
    async with line() as service:
        await service.sent(start())
        _, is_by_pipeline = await service.sent(other)
        assert is_by_pipeline


async def test_nothing_is_refused_again_that_may_be_taken() -> None:
    async with line() as service:
        watch = service.service.pressure
        await service.sent(start())
        watch.pressure = watch.beside = CALM
        wire, is_by_pipeline = await service.sent(start())
        assert is_by_pipeline
        assert wire.status == 404, "there is no such workflow"
        watch.pressure = watch.beside = FULL
        _, is_by_pipeline = await service.sent(start())
        assert not is_by_pipeline
        watch.readings_taken += 4
        _, is_by_pipeline = await service.sent(start())
        assert is_by_pipeline, "after a while it is checked anew"


async def test_a_service_that_stops_refuses_by_the_pipeline_which_has_the_client_leave() -> None:
    async with line() as service:
        await service.sent(start())
        service.service.leaving.set()
        wire, is_by_pipeline = await service.sent(start())
        assert is_by_pipeline
        assert b"connection: close" in parts(wire)[1]


async def test_a_part_of_the_starts_is_refused_evenly_on_both_ways() -> None:
    async with line() as service:
        service.service.pressure.pressure = service.service.pressure.beside = Pressure(
            value=1.5, reason="a test", retry_after=1
        )
        statuses = [(await service.sent(start()))[0].status for _ in range(8)]
        assert statuses == [404, 429] * 4


async def test_of_many_starts_that_come_at_once_no_more_are_taken_than_may_be_under_way() -> None:
    """Each counts for the next, though none has reached the pipeline yet."""
    async with line() as service:
        starts = service.service.pressure.starts
        await service.sent(start())
        service.service.pressure.pressure = service.service.pressure.beside = CALM
        starts.pace = 1.0
        assert starts.most == 20
        wires = []
        for _ in range(50):
            protocol, wire = service.connect()
            protocol.data_received(start())
            wires.append(wire)
        assert sum(wire.sent.startswith(b"HTTP/1.1 429") for wire in wires) == 30
        await service.answered()
        assert starts.count == 0


async def test_a_body_that_comes_in_pieces_takes_the_way_of_all() -> None:
    async with line() as service:
        await service.sent(start())
        protocol, wire = service.connect()
        protocol.data_received(start()[:-1])
        await service.answered()
        assert wire.status == 429
        protocol.data_received(start()[-1:])
        wire.sent = b""
        protocol.data_received(start() + start())
        await service.answered()
        assert wire.sent.count(b"HTTP/1.1 429") == 2


async def test_the_answer_to_head_never_has_a_body() -> None:
    """Or the client would take it for the beginning of the next answer."""
    async with line() as service:
        service.service.pressure.pressure = service.service.pressure.beside = Pressure(
            value=3.0, reason="a test", retry_after=1
        )
        request = b"HEAD /api/v1/instances HTTP/1.1\r\nhost: 127.0.0.1:8484\r\n\r\n"
        for _ in range(3):
            wire, _ = await service.sent(request)
            head, _, body = wire.sent.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 429")
            assert body == b""


async def test_repeated_refusals_count_for_the_rate_of_their_address() -> None:
    config = ServiceConfig(source_rate=0.001, source_burst=3)
    async with line(config) as service:
        answers = [(await service.sent(start()))[0] for _ in range(4)]
        codes = [parts(each)[2]["code"] for each in answers]
        assert codes[:3] == ["TEN-2861"] * 3
        assert codes[3] != "TEN-2861"
