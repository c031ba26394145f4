"""A network between client and server that does what networks do: it loses words, and it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class TcpProxy:
    """Passes bytes on, until it is told not to."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.port = 0
        self.lost = asyncio.Event()
        """Something was not passed on."""
        self._passes_requests = True
        self._passes_answers = True
        self._last_heard: bytes | None = None
        self._refuses = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    def url(self, url: str) -> str:
        """The same address by way of this proxy."""
        return url.replace(f":{self._target}/", f":{self.port}/")

    def lose_answers(self) -> None:
        """What the server says reaches nobody."""
        self._passes_answers = False
        self.lost.clear()

    def lose_answers_after(self, request: bytes) -> None:
        """What the server says reaches nobody, once the client has said this."""
        self._last_heard = request
        self.lost.clear()

    def lose_requests(self) -> None:
        """What the client says reaches nobody."""
        self._passes_requests = False
        self.lost.clear()

    def refuse(self) -> None:
        self._refuses = True

    def mend(self) -> None:
        self._passes_requests = self._passes_answers = True
        self._last_heard = None
        self._refuses = False

    def cut(self) -> None:
        """End every connection, without a word."""
        for writer in self._writers:
            writer.transport.abort()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self.cut()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(
            self._pass(reader, far_writer, is_answer=False),
            self._pass(far_reader, writer, is_answer=True),
        )
        self._writers -= {writer, far_writer}

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if not is_answer and self._last_heard and self._last_heard in data:
                    self._passes_answers = False
                if self._passes_answers if is_answer else self._passes_requests:
                    writer.write(data)
                    await writer.drain()
                else:
                    self.lost.set()
        writer.transport.abort()


@asynccontextmanager
async def proxy_to(url: str) -> AsyncIterator[TcpProxy]:
    """A proxy in front of the server that a URL names."""
    port = int(url.rpartition("/")[0].rpartition(":")[2])
    proxy = TcpProxy(port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
