"""A process that sends starts at a rate, whether or not they are answered; prints what came back.

    python -m tests.overload.open_loop URL[,URL] RATE SECONDS CONNECTIONS

Without a rate (0) the next start of a connection is sent when the one before is answered. It is as
cheap as possible: bytes that were made before, over connections that are kept. It prints a line
when the first start is sent, and one for each second after it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextlib import suppress
from itertools import cycle
from typing import cast

import msgspec
from msgspec import Struct

from tenuto.cli.event_loop import fast_loop

MOST = 1_500
"""The most requests under way; what is due beyond that is not sent, and counted."""
_LAST = 30.0
"""Seconds for the last answers."""


class Answers(Struct, kw_only=True):
    """What came back."""

    sent: int = 0
    unsent: int = 0
    """Starts that were due while as many as possible were under way."""
    accepted: int = 0
    refused: int = 0
    """429 and 503."""
    without_time: int = 0
    """Of these, without `Retry-After`."""
    other: dict[str, int] = {}
    lost: int = 0
    """Connections that broke, and starts without an answer."""
    seconds: float = 0.0
    accepted_p50: float = 0.0
    accepted_p99: float = 0.0
    refused_p99: float = 0.0
    codes: dict[str, int] = {}


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._transport: asyncio.Transport | None = None
        self._read = b""
        self._sent_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._load.free.append(self)

    def send(self, request: bytes, at: float) -> None:
        assert self._transport is not None
        self._sent_at = at
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, end, body = self._read.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(_header(head, b"content-length") or b"0")
        if len(body) < length:
            return
        self._read = b""
        assert self._sent_at is not None
        sent_at, self._sent_at = self._sent_at, None
        self._load.free.append(self)
        if self._load.is_warm():
            self._load.answered(int(head[9:12]), head, body, sent_at)
            self._load.came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.broke(self, was_waiting=self._sent_at is not None)


class _Load:
    def __init__(self, services: list[tuple[str, int]], rate: float, closed: int) -> None:
        """`closed`: connections without a rate."""
        self.loop = asyncio.get_running_loop()
        self.free: deque[_Connection] = deque()
        self.answers = Answers()
        self.is_over = False
        self.under_way = 0
        self._rate = rate
        self._closed = closed
        self._services = cycle(services)
        [host, port], *_ = services
        body = b'{"input":{"n":1}}'
        self._request = (
            b"POST /api/v1/workflows/load/start HTTP/1.1\r\n"
            b"host: " + f"{host}:{port}".encode() + b"\r\n"
            b"content-type: application/json\r\n"
            b"content-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        )
        self._all_answered = asyncio.Event()
        self._all_warm = asyncio.Event()
        self._first = f"GET /health HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n".encode()
        self._open = 0
        self._accepted: list[float] = []
        self._refused: list[float] = []

    async def run(self, seconds: float) -> Answers:
        began = self.loop.time()
        for _ in range(MOST if self._rate else self._closed):
            await self._connect()
        # Once each is answered, all of them are accepted: what is measured are starts.
        for each in [*self.free]:
            each.send(self._first, began)
        self.free.clear()
        await self._all_warm.wait()
        print("begun", flush=True)
        began = self.loop.time()
        if not self._rate:
            for each in [*self.free]:
                self.came(each)
        await self._pace(began, seconds)
        self.is_over = True
        if not self.under_way:
            self._all_answered.set()
        self.answers.seconds = self.loop.time() - began
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST):
                await self._all_answered.wait()
        self.answers.lost += self.under_way
        self.answers.accepted_p50 = _part(self._accepted, 0.5)
        self.answers.accepted_p99 = _part(self._accepted, 0.99)
        self.answers.refused_p99 = _part(self._refused, 0.99)
        return self.answers

    async def _pace(self, began: float, seconds: float) -> None:
        begun = said = 0
        while (now := self.loop.time()) - began < seconds:
            if now - began >= said + 1:
                said += 1
                print(self.answers.accepted, self.answers.refused, flush=True)
            due = int((now - began) * self._rate)
            for _ in range(begun, due):
                if not self.free and self._open < MOST:
                    await self._connect()
                if self.free:
                    self._send(self.free.popleft())
                else:
                    self.answers.unsent += 1
            begun = max(begun, due)
            await asyncio.sleep(0.005)

    async def _connect(self) -> None:
        self._open += 1
        await self.loop.create_connection(lambda: _Connection(self), *next(self._services))

    def is_warm(self) -> bool:
        """Whether starts are sent; else this was the first answer on a connection."""
        if self._all_warm.is_set():
            return True
        if len(self.free) >= self._open:
            self._all_warm.set()
        return False

    def came(self, connection: _Connection) -> None:
        """Without a rate, the next one."""
        if not self._rate and not self.is_over:
            self.free.remove(connection)
            self._send(connection)

    def _send(self, connection: _Connection) -> None:
        self.answers.sent += 1
        self.under_way += 1
        connection.send(self._request, self.loop.time())

    def answered(self, status: int, head: bytes, body: bytes, sent_at: float) -> None:
        self._one_less()
        took, answers = self.loop.time() - sent_at, self.answers
        if status in (200, 201, 202):
            answers.accepted += 1
            self._accepted.append(took)
        elif status in (429, 503):
            answers.refused += 1
            answers.without_time += _header(head, b"retry-after") is None
            code = msgspec.json.decode(body)["code"]
            answers.codes[code] = answers.codes.get(code, 0) + 1
            self._refused.append(took)
        else:
            answers.other[str(status)] = answers.other.get(str(status), 0) + 1

    def broke(self, connection: _Connection, *, was_waiting: bool) -> None:
        self._open -= 1
        if connection in self.free:
            self.free.remove(connection)
        if was_waiting:
            self._one_less()
            self.answers.lost += 1

    def _one_less(self) -> None:
        self.under_way -= 1
        if self.is_over and not self.under_way:
            self._all_answered.set()


def _header(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip()
    return None


def _part(found: list[float], part: float) -> float:
    return sorted(found)[int(len(found) * part)] if found else 0.0


async def _main(url: str, rate: float, seconds: float, closed: int) -> None:
    services = [each.removeprefix("http://").split(":") for each in url.split(",")]
    load = _Load([(host, int(port)) for host, port in services], rate, closed)
    answers = await load.run(seconds)
    print(msgspec.json.encode(answers).decode(), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        [url, rate, seconds, closed] = sys.argv[1:]
        runner.run(_main(url, float(rate), float(seconds), int(closed)))
