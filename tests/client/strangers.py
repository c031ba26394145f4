"""Servers that answer as they are told: what a client meets when the weather is bad."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tenuto.client.connection import Ask

Answer = Callable[[str, bytes], bytes | None]
"""From a request's head and body to what is sent back; None breaks the connection."""


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = next(
            (
                int(line.partition(":")[2])
                for line in head.splitlines()
                if line.lower().startswith("content-length")
            ),
            0,
        )
        reply = answer(head, await reader.readexactly(size))
        if reply is not None:
            writer.write(reply)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def reply(status: int, body: object, *headers: str) -> bytes:
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(content)}", "connection: close"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + content


REFUSED = {"status": 429, "code": "TEN-4290", "detail": "too much", "advice": "later"}
NOT_RECORDED = {"status": 503, "code": "TEN-5030", "detail": "may have been done"}
NOT_KNOWN = {"status": 503, "code": "TEN-4019", "detail": "not known to be written"}
STORED = {"status": 503, "code": "TEN-4015", "detail": "stored, and not seen done"}
AWAY = {"status": 503, "code": "TEN-4001", "detail": "the store does not answer"}
ONCE = Ask("POST", "/api/v1/keys", body={}, is_repeatable=False)
STARTED = {"instanceId": "i-1", "status": "RUNNING"}
