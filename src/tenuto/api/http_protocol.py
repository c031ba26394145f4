"""The protocols of uvicorn, HTTP/1.1 and WebSocket, with bounds for slow clients.

The head of a request is bounded in size and time, an idle connection is closed, the rest of a body
whose request is answered is waited for briefly, and the connections and unfinished requests of one
address are bounded. Of requests that a client sends without waiting for the answers, a few are
read, and the rest stay where they are until those are answered. The time for a body before its
answer is bounded by the request pipeline.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import msgspec
from uvicorn._types import ASGI3Application, ASGIReceiveEvent
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from tenuto.access.client_network import client_network
from tenuto.api.connections import Connections
from tenuto.api.incoming import PASSED
from tenuto.api.problems import MEDIA, Refusal, problem_answer
from tenuto.api.repeated_refusals import RepeatedRefusals
from tenuto.api.slow_taker import SlowTaker
from tenuto.ports import Clock, Ids, Timer

PORTION = 2_048
"""Bytes that are parsed at once. A request in it takes more memory than its bytes, and time."""
MOST_HEAD = 64_000
"""Bytes of a request's first line and headers; one portion may exceed it a little."""
TINY = 64
"""Bytes. What is smaller costs by its number: each chunk of a body, and each header."""
MOST_TINY = 400
"""Such pieces of one request that are read before those of other connections; one portion may
exceed it."""
SOCKET_PORTION = 512
"""Bytes of a WebSocket that are parsed at once."""
MOST_FRAMES = 64
"""Frames of a WebSocket that are read before those of other connections; one portion may exceed
it."""
WAITING_PAUSE = 0.003
"""Seconds before a request begins that was sent without waiting for the answer to another, or
before more is read of one that comes in tiny pieces."""
LINGER = 5.0
"""Seconds for the rest of a body whose request is answered already."""
ON_ITS_WAY = 0.3
"""Seconds for a request that was sent before the client could know that the server stops."""
BEFORE_CANCEL = 0.5
"""Seconds before the server cancels what is under way, in which connections are closed whose
clients have not taken their answers: these need no more time, and nothing to be written of them."""
_UNREADABLE = "TEN-2037"
_REASONS = {
    400: b"Bad Request",
    408: b"Request Timeout",
    429: b"Too Many Requests",
    503: b"Service Unavailable",
}


class UnfinishedRequests:
    """Counts the requests of each address that have begun and not ended.

    The client is not authenticated yet, so that the count is what keeps one address from using up
    the server. An address without any is not kept.
    """

    def __init__(self, most: int) -> None:
        """`most` at once from one address."""
        self._most = most
        self._counts: dict[str, int] = {}

    def begin(self, address: str) -> bool:
        """Whether there is room for another; then it counts until it has ended."""
        count = self._counts.get(address, 0)
        if count >= self._most:
            return False
        self._counts[address] = count + 1
        return True

    def end(self, address: str) -> None:
        """A counted request has come whole, or never will."""
        count = self._counts.pop(address)
        if count > 1:
            self._counts[address] = count - 1

    def __len__(self) -> int:
        """The number of addresses with unfinished requests."""
        return len(self._counts)


class WaitingRequests:
    """Begins requests that waited for the answer to another: one at a time, with pauses.

    A client that waits for its answers has one request at a time. Many connections of one that does
    not wait have together less than one of those. Likewise, requests in tiny pieces are read on.
    """

    def __init__(self, pause: float = WAITING_PAUSE) -> None:
        """`pause`: seconds before each of them."""
        self._pause = pause
        self._begins: deque[Callable[[], None]] = deque()

    def add(self, begin: Callable[[], None]) -> None:
        """Begin a request when it is its turn."""
        self._begins.append(begin)
        if len(self._begins) == 1:
            self._soon()

    def _soon(self) -> None:
        asyncio.get_running_loop().call_later(self._pause, self._begin_first)

    def _begin_first(self) -> None:
        try:
            self._begins[0]()
        finally:
            self._begins.popleft()
            if self._begins:
                self._soon()


class Counts(NamedTuple):
    """What the connections of a server share."""

    connections: Connections
    unfinished: UnfinishedRequests
    waiting: WaitingRequests
    in_pieces: WaitingRequests
    """Connections whose requests come in tiny pieces."""


class Patience(NamedTuple):
    """For how many seconds a server waits for its clients."""

    head_seconds: float
    """For the headers of a request."""
    taking_seconds: float
    """For one that takes nothing of its answer."""
    drain_seconds: float
    """For all of them, when it stops."""


class HeldFlow(FlowControl):
    """Reads nothing more while requests of the connection wait, or others are read before it.

    The library begins to read again with each answer, and each time that a body is asked for.
    """

    def __init__(self, transport: asyncio.Transport, connection: BoundedHttp) -> None:
        super().__init__(transport)
        self._connection = connection

    def resume_reading(self) -> None:
        if not self._connection.is_paused:
            super().resume_reading()


class BoundedHttp(HttpToolsProtocol):
    """Closes connections of clients that are too slow; they are not authenticated yet."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        clock: Clock,
        ids: Ids,
        counts: Counts,
        patience: Patience,
        refusals: RepeatedRefusals | None = None,
    ) -> None:
        """`refusals`: of requests that are refused without the pipeline."""
        super().__init__(config, server_state, app_state, _loop)
        self._waiting = counts.waiting
        self._has_waited = False
        """Whether requests that begin now have waited for the answer to another."""
        self._clock = clock
        self._ids = ids
        self._open = counts.connections
        self._half_read = counts.unfinished
        self._patience = patience
        self._refusals = refusals
        self._is_held = False
        """Whether the request that is read may be refused like one before, once it is whole."""
        self._body: list[bytes] = []
        """What was read of a body and is not handed on: chunks may be tiny, and are joined."""
        self._tiny = 0
        """Tiny pieces of a request since it began, or since others were read last."""
        self._rests = False
        """Whether other connections are read before this one."""
        self._in_pieces = counts.in_pieces
        self._was_refused = False
        """Whether the request that was read last was refused like one before."""
        self._head = 0
        """Bytes of a head that has not ended; -1 while a body is read."""
        self._is_inside = False
        """Whether a request has begun and not ended."""
        self._is_upgraded = False
        self._upgrade_waits = False
        """Whether it becomes a WebSocket after the answers to the requests before."""
        self._is_stopping = False
        self._unread = memoryview(b"")
        """What has come and is not parsed, since a request waits for the answer to another."""
        self._is_counted = False
        """Whether the connection has found room among the open ones."""
        self._address: str | None = None
        """The address whose unfinished request is counted; None: none is."""
        self._timer: Timer | None = None

    # -- events of the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = HeldFlow(transport, self)
        self._taker = SlowTaker(transport, self._clock, self._patience.taking_seconds)
        self._is_counted = self._open.begin(_network(self.client))
        if self._is_counted:
            self._watch()
        else:
            self._refuse(503, "TEN-4293", "too many connections are open")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self._taker.end()
        if self._is_counted:
            self._open.end(_network(self.client))
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Answer what is under way, or on its way, and close the connection then."""
        self._is_stopping = True
        drain = self._patience.drain_seconds
        self._taker.hurry(drain / 2)
        self._clock.call_later(max(drain - BEFORE_CANCEL, drain / 2), self._taker.close_untaken)
        if self._is_answering:
            super().shutdown()
        else:
            self._clock.call_later(ON_ITS_WAY, self._close_unless_answering)

    def _close_unless_answering(self) -> None:
        if not self._is_answering:
            self._close()

    def _close(self) -> None:
        """Close the connection once the client has taken what is written, or takes nothing."""
        self.transport.close()
        self._watch_closing()

    def _watch_closing(self) -> None:
        if self.transport.get_write_buffer_size():
            self._taker.begin()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._taker.begin()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._taker.end()

    def timeout_keep_alive_handler(self) -> None:
        if not self.transport.is_closing():
            self._close()

    def data_received(self, data: bytes) -> None:
        if len(data) <= PORTION and not self.has_waiting and not self._rests:
            self._parse(data)
        else:
            self._unread = memoryview(bytes(self._unread) + data)
            self._parse_unread()
        if self._tiny >= MOST_TINY and not self._rests and self._is_read:
            self._rest()
        self._watch()

    def handle_websocket_upgrade(self) -> None:
        self._upgrade_waits = self._is_answering
        if self._upgrade_waits:
            # Nobody would tell that answer any more that the client takes it, or is gone.
            self.flow.pause_reading()
            return
        # The WebSocket protocol takes over the connection, and the count of it.
        self._is_upgraded = True
        self._taker.end()
        # Its head may have come in many pieces: the other protocol knows nothing of that pause.
        self.flow.resume_reading()
        super().handle_websocket_upgrade()

    # -- reading

    @property
    def has_waiting(self) -> bool:
        """Whether a request of this connection waits for the answer to another, or is not read."""
        return bool(self.pipeline or self._unread or self._upgrade_waits)

    @property
    def is_paused(self) -> bool:
        """Whether nothing more is taken from the network for now."""
        return not self._is_upgraded and (self._rests or self.has_waiting)

    def _rest(self) -> None:
        self._rests = True
        self.flow.pause_reading()
        self._in_pieces.add(self._read_on)

    def _read_on(self) -> None:
        self._rests = False
        self._tiny = 0
        if not self._is_read:
            return
        self._parse_unread()
        if self._tiny >= MOST_TINY and self._is_read:
            self._rest()
        elif self._is_read:
            self._resume()
        self._watch()

    def _resume(self) -> None:
        """Take more from the network, unless the body that was read waits to be taken.

        It is asked for then, and the library begins to read again.
        """
        if not (self._is_answering and len(self.cycle.body) > HIGH_WATER_LIMIT):
            self.flow.resume_reading()

    def _parse_unread(self) -> None:
        while (
            self._unread
            and not (self.pipeline or self._upgrade_waits)
            and self._is_read
            and not self._is_tired
        ):
            portion, self._unread = self._unread[:PORTION], self._unread[PORTION:]
            self._parse(portion)
        if not self._is_read:
            self._unread = memoryview(b"")
        elif self.has_waiting:
            self.flow.pause_reading()

    def _parse(self, data: bytes | memoryview) -> None:
        if self._head >= 0:
            if self._head > MOST_HEAD:
                self._refuse(400, _UNREADABLE, "the headers of the request are too large")
                return
            self._head += len(data)
        super().data_received(cast("bytes", data))
        if self.parser is not None:
            self._go_on()  # the rest of its body is yet to come
            self._hand_on()

    @property
    def _is_tired(self) -> bool:
        return self._rests or self._tiny >= MOST_TINY

    @property
    def _is_read(self) -> bool:
        return not (self._is_upgraded or self.transport.is_closing())

    # -- events of the parser

    def on_message_begin(self) -> None:
        self._is_inside = True
        self._was_refused = False
        self._tiny = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._tiny += len(name) + len(value) < TINY
        if self._head >= 0:
            super().on_header(name, value)
        # Those behind a body are of no use here, and nothing bounds them.

    def on_headers_complete(self) -> None:
        self._head = -1
        self._cancel_timer()
        self._is_held = self._may_be_refused()
        if not self._is_held:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._tiny += len(body) < TINY
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._head = 0
        self._is_inside = False
        if self._is_held and self._refuse_again():
            return
        self._go_on()
        self._hand_on()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._has_waited = True
        super().on_response_complete()
        if self.flow.read_paused and self._is_read:
            if self._upgrade_waits and not self._is_answering:
                self._unset_keepalive_if_required()
                self.handle_websocket_upgrade()
            self._parse_unread()
            if self._tiny >= MOST_TINY and not self._rests and self._is_read:
                self._rest()
            self._resume()
            self._watch()
        self._has_waited = False
        is_left = self._head < 0 and not self._is_answering
        if self.transport.is_closing():
            self._watch_closing()
        elif is_left:
            self._cancel_timer()
            self._timer = self._clock.call_later(LINGER, self._close)

    # -- refusals without the pipeline

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the library's, as in its log
        """Refuse what the library cannot read, as problem details like every refusal."""
        self._refuse(400, _UNREADABLE, "the request cannot be read as HTTP/1.1")

    def _may_be_refused(self) -> bool:
        """Whether the request may be refused like one before.

        Only one that waits for none, on a connection that stays open.
        """
        return (
            self._refusals is not None
            and self._refusals.has_any
            and not (self._is_answering or self.has_waiting or self._has_waited)
            and not self._is_stopping
            and not (self.expect_100_continue or self.flow.write_paused)
            and not self.parser.should_upgrade()
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
        )

    def _refuse_again(self) -> bool:
        """Answer a request that is whole, if it is refused like one before."""
        assert self._refusals is not None
        decided = self._refusals.answer(
            self.client[0] if self.client else "",
            self.parser.get_method(),
            self.url,
            self.headers,
            self.server_state.default_headers,
        )
        if not isinstance(decided, bytes):
            if decided is not None:
                self.scope["state"][PASSED] = decided
            return False
        self._is_held = False
        self._body.clear()
        self._was_refused = True
        self.transport.write(decided)
        self.server_state.total_requests += 1
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        return True

    def _go_on(self) -> None:
        """Hand a request that was held to the pipeline, as far as it was read."""
        if self._is_held:
            self._is_held = False
            super().on_headers_complete()

    def _hand_on(self) -> None:
        """Hand what was read of a body to the pipeline."""
        if self._body:
            body, self._body = self._body, []
            super().on_body(body[0] if len(body) == 1 else b"".join(body))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        # Those that wait for this one are answered too.
        cycle.keep_alive = cycle.keep_alive and (bool(self.pipeline) or not self._is_stopping)
        begin = partial(super()._start_asgi_task, cycle, app)
        if self._has_waited:
            self._waiting.add(lambda: None if self.transport.is_closing() else begin())
        else:
            begin()

    # -- bounds

    @property
    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    @property
    def _is_answering_another(self) -> bool:
        """Whether an answer has begun, or is one to an earlier request than the one that is read.

        A refusal would be taken for a part of it, or for the answer to that request.
        """
        is_first = self._head < 0 and not self.pipeline
        return self._is_answering and not (is_first and not self.cycle.response_started)

    def _watch(self) -> None:
        """Count and time an unfinished request; one that came in one piece costs nothing."""
        is_whole = not self._is_inside and (self._is_answering or self._was_refused)
        if is_whole or self._is_upgraded or self.transport.is_closing():
            self._forget()
            return
        if self._address is None:
            address = _network(self.client)
            if not self._half_read.begin(address):
                self._refuse(429, "TEN-4292", "too many requests of this address are unfinished")
                return
            self._address = address
        if self._head >= 0 and self._timer is None:
            self._timer = self._clock.call_later(self._patience.head_seconds, self._too_slow)

    def _too_slow(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._is_answering:
            # Nothing is read while the request before is answered: the client is not at fault.
            self._watch()
            return
        if self._is_inside:
            self._refuse(408, "TEN-2035", "the headers of the request did not come in time")
        else:
            self._close()

    def _refuse(self, status: int, code: str, message: str) -> None:
        refusal = problem_answer(Refusal(status, code, message), "", self._ids.short())
        body = msgspec.json.encode(refusal.details)
        headers = {
            **refusal.headers,
            "content-type": MEDIA,
            "content-length": str(len(body)),
            "connection": "close",
        }
        lines = [f"{name}: {value}".encode() for name, value in headers.items()]
        first = b"HTTP/1.1 %d %s" % (status, _REASONS[status])
        if not self._is_answering_another:
            self.transport.write(b"\r\n".join([first, *lines, b"", body]))
        self._close()
        self._forget()

    def _forget(self) -> None:
        self._cancel_timer()
        if self._address is not None:
            address, self._address = self._address, None
            self._half_read.end(address)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class BoundedSocket(WebSocketsSansIOProtocol):
    """A connection that has become a WebSocket is counted until it is closed.

    Few of its messages are read before those that were read are taken, and few frames that are no
    messages before other connections are read: each costs thousands of times its bytes.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        *,
        connections: Connections,
        in_pieces: WaitingRequests,
    ) -> None:
        """`in_pieces`: the connections that other ones are read before."""
        super().__init__(config, server_state, app_state)
        self._open = connections
        self._in_pieces = in_pieces
        self._unread = memoryview(b"")
        self._frames = 0
        """Frames that were read since others were read last."""
        self._rests = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread = memoryview(b"")
        self._open.end(_network(self.client))
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unread = memoryview(bytes(self._unread) + data)
        self._parse_unread()

    def handle_events(self) -> None:
        self._frames += len(self.conn.events)
        super().handle_events()

    async def receive(self) -> ASGIReceiveEvent:
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self._parse_unread()
            self._resume()
        return message

    def _parse_unread(self) -> None:
        while self._unread and not (self.read_paused or self._rests or self.transport.is_closing()):
            portion, self._unread = self._unread[:SOCKET_PORTION], self._unread[SOCKET_PORTION:]
            super().data_received(bytes(portion))
            if self._frames >= MOST_FRAMES:
                self._rests = True
                self._in_pieces.add(self._read_on)
        if self.transport.is_closing():
            self._unread = memoryview(b"")
        elif self._unread or self._rests:
            self.transport.pause_reading()

    def _read_on(self) -> None:
        self._rests = False
        self._frames = 0
        self._parse_unread()
        self._resume()

    def _resume(self) -> None:
        is_held = self.read_paused or self._rests or self._unread
        if not (is_held or self.transport.is_closing()):
            self.transport.resume_reading()


def _network(client: tuple[str, int] | None) -> str:
    return client_network(client[0]) if client else ""
