"""An instance as server-sent events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.api.live.credential import refused
from tenuto.api.service import Service
from tenuto.live import Dropped, Feed
from tenuto.model.errors import TenutoError

log = logging.getLogger("tenuto.api")

MEDIA = "text/event-stream"
KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment goes out, so that nobody in between hangs up."""
SEND_SECONDS = 10.0
"""Who takes nothing for so long is hung up on, and comes back with the last id."""


class EventStream(Response):
    """Tells what happens until the client goes, its credential ends, or the service stops."""

    def __init__(
        self,
        service: Service,
        principal: Principal,
        headers: Mapping[str, str],
        room: AbstractAsyncContextManager[Feed],
    ) -> None:
        """`room` is entered before anything is sent: who is refused hears so by the status."""
        super().__init__(
            media_type=MEDIA, headers={"cache-control": "no-store", "x-accel-buffering": "no"}
        )
        del self.headers["content-length"]
        self._service = service
        self._principal = principal
        self._asked = headers
        self._room = room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._room as feed:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await _sent(send, b"", is_last=True)
            elif (last := await self._told(feed, receive, send)) is not None:
                await _sent(send, last, is_last=True)

    async def _told(self, feed: Feed, receive: Receive, send: Send) -> bytes | None:
        """Tell all that comes; the last part, or None where nobody takes it: it is cut off.

        A stream that just ends has told everything: where it has not, its last part says so.
        """
        telling = asyncio.ensure_future(_tell(feed, send))
        gone = asyncio.ensure_future(_gone(receive))
        ended = asyncio.ensure_future(
            refused(self._service, self._asked, self._principal, Permission.INSTANCES_READ)
        )
        tasks = (telling, gone, ended)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return None
            error = telling.exception() if telling.done() else ended.result()
            if isinstance(error, TenutoError):
                return _broken_off(feed, error)
            if error is not None and not isinstance(error, TimeoutError):
                log.error("a stream was cut off", exc_info=error)
            return None if error is not None else b""
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _tell(feed: Feed, send: Send) -> None:
    async for part in _parts(feed):
        await _sent(send, part)


async def _parts(feed: Feed) -> AsyncIterator[bytes]:
    # A message that comes at the end of a silence must not get lost with the waiting for it.
    coming = asyncio.ensure_future(anext(feed, None))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=KEEP_ALIVE)
            if not done:
                yield b": still here\n\n"
                continue
            told = coming.result()
            if told is None:
                return
            if isinstance(told, Dropped):
                yield _dropped(told)
                return
            event = told.event.encode()
            yield b"id: %d\nevent: %b\ndata: %b\n\n" % (told.seq, event, told.data)
            coming = asyncio.ensure_future(anext(feed, None))
    finally:
        coming.cancel()


async def _sent(send: Send, part: bytes, *, is_last: bool = False) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send({"type": "http.response.body", "body": part, "more_body": not is_last})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _dropped(told: Dropped) -> bytes:
    return _last_event({"cursor": told.cursor, "reason": "stopping"})


def _broken_off(feed: Feed, error: TenutoError) -> bytes:
    why = {"reason": "error", "code": error.code, "message": error.message}
    return _last_event({"cursor": feed.cursor, **why})


def _last_event(data: Mapping[str, object]) -> bytes:
    return b"event: workflow_run_dropped\ndata: %b\n\n" % msgspec.json.encode(data)
