"""Requests that do not come to an end: bounded in time, and in how many there are of them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.server import ServerState

from tenuto import Tenuto
from tenuto.api.body_reader import BodyDeadline
from tenuto.api.config import LiveBounds, ServiceConfig
from tenuto.api.connections import ConnectionBounds, Connections
from tenuto.api.http_protocol import (
    LINGER,
    MOST_FRAMES,
    MOST_HEAD,
    MOST_TINY,
    ON_ITS_WAY,
    PORTION,
    SOCKET_PORTION,
    BoundedHttp,
    BoundedSocket,
    Counts,
    Patience,
    UnfinishedRequests,
    WaitingRequests,
)
from tenuto.api.live.protocol import IDLE
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.problems import Refusal
from tenuto.api.registry import OPERATIONS
from tenuto.api.service import Service
from tenuto.ports import SystemIds
from tests.access.hand_clock import HandClock
from tests.api.conftest import WAIT, Caller, Serve

pytestmark = pytest.mark.asyncio

HEAD_SECONDS = 20.0
TAKING_SECONDS = 30.0
DRAIN_SECONDS = 10.0
WHOLE = b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}"


class Wire:
    """The other end of a connection."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.sent = b""
        self.is_closed = False
        self.is_read = True
        self.untaken = 0
        """Bytes that the client has not taken."""
        self.is_aborted = False

    def get_extra_info(self, name: str) -> object:
        return {"peername": (self.address, 4711), "sockname": ("127.0.0.1", 80)}.get(name)

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def get_write_buffer_size(self) -> int:
        return self.untaken

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def set_protocol(self, protocol: object) -> None: ...

    @property
    def status(self) -> int:
        return int(self.sent.split(b" ")[1])

    @property
    def code(self) -> object:
        return json.loads(self.sent.partition(b"\r\n\r\n")[2])["code"]


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """204 at once, whatever is asked and however much of it has come."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


class Line:
    """A server without sockets: connections are made by hand, and time goes by hand."""

    def __init__(self, most: int = 2) -> None:
        self.clock = HandClock()
        self.connections = Connections(self.clock, ConnectionBounds(100, 50, 25))
        self.unfinished_requests = UnfinishedRequests(most)
        self.waiting_requests = WaitingRequests(pause=0)
        self.config = uvicorn.Config(answer, ws="none", lifespan="off", log_config=None)
        self.state = ServerState()

    def connect(self, address: str = "10.0.0.1") -> tuple[BoundedHttp, Wire]:
        protocol = BoundedHttp(
            self.config,
            self.state,
            {},
            clock=self.clock,
            ids=SystemIds(),
            counts=Counts(
                self.connections,
                self.unfinished_requests,
                self.waiting_requests,
                WaitingRequests(pause=0),
            ),
            patience=Patience(HEAD_SECONDS, TAKING_SECONDS, DRAIN_SECONDS),
        )
        wire = Wire(address)
        protocol.connection_made(cast("asyncio.Transport", wire))
        return protocol, wire

    async def answered(self) -> None:
        await asyncio.gather(*self.state.tasks)

    async def all_answered(self, *protocols: BoundedHttp) -> None:
        """Returns once no connection has a request that waits, and none is under way."""
        await turn(lambda: not self.state.tasks and not any(each.has_waiting for each in protocols))


async def test_headers_that_never_end_are_given_up_after_a_while() -> None:
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(b"GET / HTTP/1.1\r\n")
    for _ in range(9):
        protocol.data_received(b"x")
        line.clock.move(2)
    assert not wire.is_closed
    line.clock.move(2)
    assert (wire.status, wire.code, wire.is_closed) == (408, "TEN-2035", True)
    protocol.connection_lost(None)
    assert len(line.unfinished_requests) == 0


async def test_who_says_nothing_is_not_waited_for() -> None:
    line = Line()
    _, wire = line.connect()
    line.clock.move(HEAD_SECONDS)
    assert (wire.sent, wire.is_closed) == (b"", True)


@pytest.mark.parametrize("had_one", [False, True])
async def test_a_request_that_is_on_its_way_when_the_server_stops_is_answered(
    *, had_one: bool
) -> None:
    """The client sent it before it could know; the connection is closed after the answer."""
    line = Line()
    protocol, wire = line.connect()
    if had_one:
        protocol.data_received(WHOLE)
        await line.answered()
    wire.sent = b""
    protocol.shutdown()
    assert not wire.is_closed
    protocol.data_received(WHOLE)
    line.clock.move(ON_ITS_WAY)
    assert not wire.is_closed
    await line.answered()
    assert wire.status == 204
    assert wire.is_closed


async def test_requests_that_wait_for_another_when_the_server_stops_are_answered() -> None:
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(WHOLE * 3)
    protocol.shutdown()
    await turn(lambda: wire.is_closed)
    assert wire.sent.count(b"HTTP/1.1 204") == 3


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n"])
async def test_a_server_that_stops_waits_for_no_request_that_is_not_whole(sent: bytes) -> None:
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(sent)
    protocol.shutdown()
    line.clock.move(ON_ITS_WAY)
    assert wire.is_closed


async def test_line_breaks_between_requests_keep_no_connection_open() -> None:
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(WHOLE)
    await line.answered()
    wire.sent = b""
    for _ in range(10):
        protocol.data_received(b"\r\n")
        line.clock.move(HEAD_SECONDS / 9)
    assert wire.is_closed


async def test_who_sends_whole_requests_stays_however_long_it_takes() -> None:
    line = Line()
    protocol, wire = line.connect()
    for _ in range(3):
        protocol.data_received(WHOLE)
        await line.answered()
        line.clock.move(HEAD_SECONDS * 2)
        assert not wire.is_closed
        assert len(line.unfinished_requests) == 0


async def test_of_requests_that_come_before_their_answers_few_are_read_and_all_are_answered() -> (
    None
):
    """Each takes a hundred times its bytes once it is read, and a client need not wait for one."""
    line = Line()
    protocol, wire = line.connect()
    short, count = b"GET / HTTP/1.1\r\n\r\n", 5_000
    most = 0

    def is_done() -> bool:
        nonlocal most
        most = max(most, len(protocol.pipeline))
        # While one waits nothing more is taken from the wire.
        assert not (wire.is_read and protocol.has_waiting)
        return wire.sent.count(b"HTTP/1.1 204") == count

    protocol.data_received(short * count)
    await turn(is_done)
    assert 0 < most <= PORTION // len(short) + 1
    await line.all_answered(protocol)
    assert wire.sent.count(b"HTTP/1.1 204") == count
    assert (wire.is_read, wire.is_closed) == (True, False)
    protocol.data_received(WHOLE)
    await line.answered()
    assert wire.sent.count(b"HTTP/1.1 204") == count + 1


async def test_a_request_with_a_body_that_comes_before_the_answer_to_another_is_read_whole() -> (
    None
):
    bodies: list[int] = []

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message["body"])
            more = message["more_body"]
        bodies.append(size)
        await answer(scope, receive, send)

    line = Line()
    line.config = uvicorn.Config(read, ws="none", lifespan="off", log_config=None)
    protocol, wire = line.connect()
    large = WHOLE.replace(b"length: 2", b"length: 200000").removesuffix(b"{}") + b"x" * 200_000
    said = WHOLE + large + WHOLE + large + WHOLE
    for first in range(0, len(said), 60_000):
        await turn(lambda: wire.is_read)
        protocol.data_received(said[first : first + 60_000])
    await turn(lambda: len(bodies) == 5)
    assert bodies == [2, 200_000, 2, 200_000, 2]


async def test_many_that_do_not_wait_for_answers_have_as_much_as_one_that_does() -> None:
    line = Line(most=50)
    begun: list[int] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope["client"][1])
        await answer(scope, receive, send)

    line.config = uvicorn.Config(note, ws="none", lifespan="off", log_config=None)
    protocols = [line.connect()[0] for _ in range(20)]
    for protocol in protocols:
        protocol.data_received(WHOLE * 30)
    await line.answered()
    counts = [len(begun)]

    def is_done() -> bool:
        counts.append(len(begun))
        return len(begun) == 600

    await turn(is_done)
    # A look takes two passes of the loop.
    assert max(after - before for before, after in pairwise(counts)) <= 2


class Echo:
    """Answers with the size of the body, and notes the parts in which it came."""

    def __init__(self) -> None:
        self.parts: list[int] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            self.parts.append(len(message.get("body", b"")))
            more = message.get("more_body", False)
        headers = [(b"x-size", b"%d" % size), (b"x-headers", b"%d" % len(scope["headers"]))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body"})


async def test_of_bodies_in_tiny_chunks_a_few_are_read_at_once_and_each_comes_whole() -> None:
    line = Line(most=20)
    echo = Echo()
    line.config = uvicorn.Config(echo, ws="none", lifespan="off", log_config=None)
    head = b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    sent = head + b"1\r\nx\r\n" * 5_000 + b"0\r\n" + b"a: b\r\n" * 3_000 + b"\r\n"
    connections = [line.connect() for _ in range(5)]
    read: list[int] = []
    chunks = Counter[BoundedHttp]()
    most_at_once = MOST_TINY + PORTION // len(b"1\r\nx\r\n") + 1

    with pytest.MonkeyPatch.context() as patch:
        tiny = BoundedHttp.on_body

        def counted(protocol: BoundedHttp, body: bytes) -> None:
            chunks[protocol] += 1
            tiny(protocol, body)

        patch.setattr(BoundedHttp, "on_body", counted)
        for protocol, wire in connections:
            protocol.data_received(sent)
            assert chunks[protocol] <= most_at_once
            assert not wire.is_read, "the rest stays in the network"
            protocol.flow.resume_reading()
            assert not wire.is_read, "also where the library asks for more"
        before = chunks.total()
        while not all(wire.sent for _, wire in connections):
            await asyncio.sleep(0)
            read.append(chunks.total() - before)
            before = chunks.total()
    assert max(read) <= 2 * most_at_once, "the connections are read one after the other"
    for _, wire in connections:
        assert wire.sent.startswith(b"HTTP/1.1 200")
        assert b"x-size: 5000\r\n" in wire.sent
        assert b"x-headers: 2\r\n" in wire.sent, "what is behind a body is not kept"
    assert len(echo.parts) <= 5 * len(sent) / PORTION + 5, "chunks are joined"
    await turn(lambda: all(wire.is_read for _, wire in connections))


@pytest.mark.parametrize("size", [1, 60])
async def test_of_a_body_in_tiny_chunks_no_more_is_read_than_is_taken(size: int) -> None:
    """One connection grew by megabytes a second while its request waited for its turn."""
    line, echo, gate = Line(), Echo(), asyncio.Event()

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        await gate.wait()
        await echo(scope, receive, send)

    line.config = uvicorn.Config(later, ws="none", lifespan="off", log_config=None)
    protocol, wire = line.connect()
    protocol.data_received(b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
    chunks = b"%x\r\n%b\r\n" % (size, b"x" * size) * 500
    count, left = 0, 1_000
    while left and wire.is_read:
        protocol.data_received(chunks)
        count, left = count + 1, left - 1
        await turn(lambda: wire.is_read or not protocol._rests)
    assert left, "it stays in the network"
    assert HIGH_WATER_LIMIT < len(protocol.cycle.body) <= HIGH_WATER_LIMIT + len(chunks)
    gate.set()
    for _ in range(left):
        await turn(lambda: wire.is_read)
        protocol.data_received(chunks)
    await turn(lambda: wire.is_read)
    protocol.data_received(b"0\r\n\r\n")
    await line.answered()
    assert b"x-size: %d\r\n" % (1_000 * 500 * size) in wire.sent


async def test_an_ordinary_body_in_chunks_is_read_without_a_pause() -> None:
    line = Line()
    line.config = uvicorn.Config(echo := Echo(), ws="none", lifespan="off", log_config=None)
    protocol, wire = line.connect()
    protocol.data_received(b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(300):
        protocol.data_received(
            b"fff\r\n" + b"x" * 0xFFF + b"\r\n" + b"50\r\n" + b"x" * 80 + b"\r\n"
        )
        await turn(lambda: wire.is_read)
        assert not protocol.is_paused
    protocol.data_received(b"0\r\n\r\n")
    await line.answered()
    assert sum(echo.parts) == 300 * (0xFFF + 80)
    assert b"x-size: %d" % sum(echo.parts) in wire.sent


class Listener:
    """Accepts a WebSocket, and takes its messages while it is let."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.may = asyncio.Semaphore(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        while True:
            await self.may.acquire()
            if (message := await receive())["type"] == "websocket.disconnect":
                return
            self.heard.append(message["text"])


UPGRADE = (
    b"GET /ws HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)
MASK = bytes(4)


class Sockets(Line):
    """WebSockets without sockets, whose messages and frames are counted as they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.in_pieces = WaitingRequests(pause=0)
        self.listener = Listener()
        self.config = uvicorn.Config(self.listener, lifespan="off", log_config=None)
        self.frames = Counter[BoundedSocket]()

    async def open(self) -> tuple[BoundedSocket, Wire]:
        line = self

        class Counted(BoundedSocket):
            def handle_events(self) -> None:
                line.frames[self] += len(self.conn.events)
                super().handle_events()

        socket = Counted(
            self.config, self.state, {}, connections=self.connections, in_pieces=self.in_pieces
        )
        wire = Wire("10.0.0.1")
        socket.connection_made(cast("asyncio.Transport", wire))
        socket.data_received(UPGRADE)
        await turn(lambda: wire.sent.startswith(b"HTTP/1.1 101"))
        self.frames.clear()
        return socket, wire


@pytest.mark.parametrize("has_begun", [False, True])
async def test_what_cannot_be_read_is_not_refused_in_the_midst_of_another_answer(
    *, has_begun: bool
) -> None:
    line, may_end = Line(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if not has_begun:
            await may_end.wait()
        length = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await may_end.wait()
        await send({"type": "http.response.body", "body": b"{}"})

    line.config = uvicorn.Config(slow, ws="none", lifespan="off", log_config=None)
    protocol, wire = line.connect()
    protocol.data_received(WHOLE)
    await turn(lambda: has_begun == bool(wire.sent))
    sent = wire.sent
    protocol.data_received(b"no request\r\n\r\n")
    assert (wire.sent, wire.is_closed) == (sent, True)
    may_end.set()
    await line.answered()


@pytest.mark.parametrize("before", [b"", WHOLE * 3])
async def test_a_connection_that_becomes_a_socket_is_read_however_its_head_came(
    before: bytes,
) -> None:
    line, sockets = Line(), Sockets()
    socket = partial(
        BoundedSocket, connections=line.connections, in_pieces=WaitingRequests(pause=0)
    )

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        await (sockets.listener if scope["type"] == "websocket" else answer)(scope, receive, send)

    line.config = uvicorn.Config(either, ws=cast("Any", socket), lifespan="off", log_config=None)
    line.config.load()
    protocol, wire = line.connect()
    pieces = b"a: b\r\n" * (2 * MOST_TINY)
    protocol.data_received(before + UPGRADE.removesuffix(b"\r\n") + pieces + b"\r\n")
    read = [wire.is_read]
    await turn(lambda: protocol._is_upgraded)
    assert [*read, wire.is_read] == [False, True]
    assert wire.sent.count(b"HTTP/1.1 204") == before.count(b"POST")
    for task in line.state.tasks:
        task.cancel()


async def test_of_a_flood_of_messages_few_are_read_before_they_are_taken() -> None:
    sockets = Sockets()
    socket, wire = await sockets.open()
    frames = [b"\x81" + bytes([0x80 + 4]) + MASK + b"%04d" % n for n in range(5_000)]
    socket.data_received(b"".join(frames))
    most = SOCKET_PORTION // len(frames[0]) + 1
    assert sockets.frames[socket] <= most
    assert not wire.is_read
    for taken in range(1, 201):
        sockets.listener.may.release()
        await turn(lambda taken=taken: len(sockets.listener.heard) == taken)  # type: ignore[misc]
        assert sockets.frames[socket] <= taken + most
        assert not wire.is_read
    for _ in range(4_800):
        sockets.listener.may.release()
    await turn(lambda: len(sockets.listener.heard) == 5_000 and wire.is_read)
    assert sockets.listener.heard == [f"{n:04}" for n in range(5_000)]
    for task in sockets.state.tasks:
        task.cancel()


async def test_pings_are_answered_in_turn_with_other_connections() -> None:
    sockets = Sockets()
    opened = [await sockets.open() for _ in range(4)]
    ping = b"\x89" + bytes([0x80]) + MASK
    most = MOST_FRAMES + SOCKET_PORTION // len(ping) + 1
    for socket, wire in opened:
        socket.data_received(ping * 3_000)
        assert sockets.frames[socket] <= most
        assert not wire.is_read
    before, read = sockets.frames.total(), []
    while sockets.frames.total() < 4 * 3_000:
        await asyncio.sleep(0)
        read.append(sockets.frames.total() - before)
        before = sockets.frames.total()
    assert max(read) <= 2 * most, "the connections are read one after the other"
    await turn(lambda: all(wire.is_read for _, wire in opened))
    assert all(wire.sent.endswith(b"\x8a\x00" * 3_000) for _, wire in opened)
    for task in sockets.state.tasks:
        task.cancel()


async def test_headers_that_come_in_one_piece_are_bounded_too() -> None:
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(b"GET / HTTP/1.1\r\nx: " + b"a" * (MOST_HEAD + 2 * PORTION))
    assert (wire.status, wire.is_closed) == (400, True)


async def test_what_is_left_of_a_body_after_its_answer_is_waited_for_a_moment() -> None:
    line = Line()
    protocol, wire = line.connect()
    protocol.data_received(WHOLE.replace(b"length: 2", b"length: 2000000"))
    await line.answered()
    for _ in range(4):
        protocol.data_received(b"x")
        line.clock.move(LINGER / 5)
    assert (wire.status, wire.is_closed) == (204, False)
    line.clock.move(LINGER / 5)
    assert wire.is_closed


async def test_an_address_has_so_many_unfinished_requests_and_no_more() -> None:
    line = Line(most=2)
    first, _ = line.connect()
    second, _ = line.connect()
    _, third = line.connect()
    assert (third.status, third.code, third.is_closed) == (429, "TEN-4292", True)
    _, elsewhere = line.connect("10.0.0.2")
    assert not elsewhere.is_closed
    first.data_received(WHOLE)
    second.connection_lost(None)
    for _ in range(2):
        _, wire = line.connect()
        assert not wire.is_closed
    await line.answered()


async def test_who_has_a_network_of_addresses_has_no_more_than_one() -> None:
    line = Line(most=2)
    for last in range(2):
        line.connect(f"2001:db8:0:1::{last}")
    _, third = line.connect("2001:db8:0:1:ffff::3")
    assert (third.status, third.code) == (429, "TEN-4292")
    _, elsewhere = line.connect("2001:db8:0:2::1")
    assert not elsewhere.is_closed


async def test_the_service_lets_an_address_have_as_many_as_it_says(serve: Serve) -> None:
    config = ServiceConfig(port=0, unfinished_requests=2, drain_seconds=2)
    async with serve(config=config) as call, asyncio.timeout(60):
        host, _, port = call.url.removeprefix("http://").partition(":")
        opened = [await asyncio.open_connection(host, int(port)) for _ in range(3)]
        answered = [asyncio.ensure_future(reader.read()) for reader, _ in opened]
        done, waiting = await asyncio.wait(answered, return_when=asyncio.FIRST_COMPLETED)
        assert [each.result().split(b" ")[1] for each in done] == [b"429"]
        assert len(waiting) == 2
        for _, writer in opened:
            writer.close()
        await asyncio.wait(waiting)
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    assert f"with {ServiceConfig().unfinished_requests:,} unfinished requests" in page


async def test_a_body_that_comes_slowly_is_refused_and_one_that_comes_is_not() -> None:
    clock = HandClock()

    async def reading(parts: asyncio.Queue[int]) -> None:
        async with BodyDeadline(clock, 30) as patience:
            for _ in range(20):
                patience.size += await parts.get()

    async def outcome(each: int) -> object:
        parts: asyncio.Queue[int] = asyncio.Queue()
        task = asyncio.ensure_future(reading(parts))
        for _ in range(20):
            parts.put_nowait(each)
            await turn(lambda: task.done() or parts.empty())
            clock.move(2)
        return (await asyncio.gather(task, return_exceptions=True))[0]

    assert await outcome(20_000) is None
    refused = await outcome(1)
    assert isinstance(refused, Refusal)
    assert (refused.status, refused.code, refused.headers) == (
        *(408, "TEN-2035", {"connection": "close"}),
    )


async def turn(is_so: Callable[[], bool]) -> None:
    loop = asyncio.get_running_loop()
    while not is_so():
        after = loop.create_future()
        loop.call_soon(after.set_result, None)
        await after


async def test_a_slow_body_is_answered_with_408_and_the_connection_is_closed() -> None:
    app = Tenuto()
    pipeline = RequestPipeline(Service(app, ServiceConfig(body_seconds=0.01), OPERATIONS))
    sent: list[Message] = []

    async def receive() -> Message:
        if not sent:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/workflows",
        "query_string": b"",
        "scheme": "http",
        "headers": [(b"host", b"localhost"), (b"content-length", b"10")],
        "client": ("127.0.0.1", 1),
    }
    async with app:
        await pipeline(scope, receive, send)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["code"] == "TEN-2035"


async def test_a_connection_that_says_nothing_is_closed_by_the_service(serve: Serve) -> None:
    config = ServiceConfig(port=0, head_seconds=0.05, drain_seconds=2)
    async with serve(config=config) as call, asyncio.timeout(60):
        assert await answer_to(call.url, b"") == b""
        for said in (b"GET /health HTTP/1.1\r\n", b"GET /ws HTTP/1.1\r\nupgrade: websocket"):
            while not (answered := await answer_to(call.url, said)):
                pass  # on a busy machine the words came too late
            assert answered.startswith(b"HTTP/1.1 408")


async def answer_to(url: str, said: bytes) -> bytes:
    """What a connection is told before it is closed."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(said)
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def joined(call: Caller, id: str) -> aiohttp.ClientWebSocketResponse:
    """A socket that watches an instance: on a busy machine the first may be too late for that."""
    while True:
        socket = await call.session.ws_connect(call.url + "/ws")
        await socket.send_json({"event": "workflow_run_join", "runId": id})
        if (await socket.receive()).type is aiohttp.WSMsgType.TEXT:
            return socket


async def test_a_socket_that_watches_nothing_and_says_nothing_is_closed(serve: Serve) -> None:
    config = ServiceConfig(port=0, live=LiveBounds(idle_seconds=0.3), drain_seconds=2)
    async with serve(config=config) as call, asyncio.timeout(60):
        await call.app.deploy(WAIT)
        id = (await call.start("wait", {"orderId": 7}))["instanceId"]
        async with (
            await joined(call, id) as watching,
            call.session.ws_connect(call.url + "/ws") as useless,
        ):
            await useless.receive()
            assert useless.close_code == IDLE
            assert not watching.closed
            await watching.send_json({"event": "ping"})
            while (await watching.receive_json())["event"] != "pong":
                pass


async def test_a_request_that_a_stop_cuts_off_is_answered_with_503() -> None:
    """The server cancels what is under way once it has waited for long enough.

    It would write a traceback for a request that ends with the cancellation.
    """
    app = Tenuto()
    pipeline = RequestPipeline(Service(app, ServiceConfig(), OPERATIONS))
    sent: list[Message] = []

    async def receive() -> Message:
        answering.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/workflows",
        "query_string": b"",
        "scheme": "http",
        "headers": [(b"host", b"localhost"), (b"content-length", b"10")],
        "client": ("127.0.0.1", 1),
    }
    async with app:
        answering = asyncio.ensure_future(pipeline(scope, receive, send))
        await answering
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["code"] == "TEN-4019"
