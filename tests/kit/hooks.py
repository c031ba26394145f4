"""Receivers of webhooks: one on a port of this machine, and one that needs no network."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote

from tenuto.ports import Reply


class Received(NamedTuple):
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return unquote(self.headers["webhook-id"])

    @property
    def value(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        """As the specification of Standard Webhooks tells receivers to check."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}."
        content = signed.encode() + self.body
        expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        signatures = self.headers["webhook-signature"].split(" ")
        return any(hmac.compare_digest(each, f"v1,{expected}") for each in signatures)


class Receiver:
    """Keeps what comes, and answers as it is told to."""

    def __init__(self) -> None:
        self.url = ""
        self.received: list[Received] = []
        self.answer: Callable[[Received], int | None] = lambda _: 200
        """The status for a request; None: none, for as long as the connection lasts."""
        self.location: str | None = None
        self._came = asyncio.Event()

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.received]

    @property
    def types(self) -> list[str]:
        return [each.value["type"] for each in self.received]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once something holds; looks again after each request."""
        async with asyncio.timeout(60):
            while not holds():
                self._came.clear()
                await self._came.wait()

    def take(self, received: Received) -> int | None:
        self.received.append(received)
        self._came.set()
        return self.answer(received)


class Pretended(Receiver):
    """A sender whose requests go to a receiver in the same loop: time may be anybody's."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: Callable[[Received], float] = lambda _: 0.0
        """How long a request takes."""
        self.at_once = Counter[str]()
        self.most_at_once = 0

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, seconds: float, *, tenant: str
    ) -> Reply:
        self.at_once[url] += 1
        self.most_at_once = max(self.most_at_once, self.at_once[url])
        try:
            await asyncio.sleep(0)
            received = Received(url, headers, body)
            status = self.take(received)
            if seconds_taken := self.seconds(received):
                await asyncio.sleep(seconds_taken)
        finally:
            self.at_once[url] -= 1
        if status is None:
            await asyncio.sleep(seconds)
            return Reply(None, f"no answer within {seconds:g} s")
        return Reply(status)

    async def close(self) -> None:
        """There is nothing to close."""


@asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver on a port of this machine."""
    made = Receiver()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while request := await _read(reader):
                status = made.take(request)
                if status is None:
                    await asyncio.Event().wait()
                to = f"location: {made.location}\r\n" if made.location else ""
                writer.write(f"HTTP/1.1 {status} X\r\n{to}content-length: 0\r\n\r\n".encode())
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(first.split(" ")[1], headers, body)
