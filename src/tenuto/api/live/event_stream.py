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


class EventStream(Response):
    """Sends messages until the client goes, its credential ends, or the service stops."""

    def __init__(
        self,
        service: Service,
        principal: Principal,
        headers: Mapping[str, str],
        feed: AbstractAsyncContextManager[Feed],
    ) -> None:
        """`feed` is entered before anything is sent, so that a refusal has a status."""
        super().__init__(
            media_type=MEDIA, headers={"cache-control": "no-store", "x-accel-buffering": "no"}
        )
        del self.headers["content-length"]
        self._service = service
        self._principal = principal
        self._asked = headers
        self._feed = feed
        self._bounds = service.config.live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._feed as feed:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await self._send(send, b"", is_last=True)
            elif (last := await self._stream(feed, receive, send)) is not None:
                await self._send(send, last, is_last=True)

    async def _stream(self, feed: Feed, receive: Receive, send: Send) -> bytes | None:
        """Send all messages; the last part, or None where the client takes nothing any more.

        A stream that just ends is complete: where it is not, its last part says so.
        """
        sending = asyncio.ensure_future(self._send_all(feed, send))
        gone = asyncio.ensure_future(_gone(receive))
        ended = asyncio.ensure_future(
            refused(self._service, self._asked, self._principal, Permission.INSTANCES_READ)
        )
        tasks = (sending, gone, ended)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return None
            error = sending.exception() if sending.done() else ended.result()
            if isinstance(error, TenutoError):
                return _broken_off(feed, error)
            if error is not None and not isinstance(error, TimeoutError):
                log.error("live: stream cut off", exc_info=error)
            return None if error is not None else b""
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, feed: Feed, send: Send) -> None:
        async for part in _parts(feed, self._bounds.keep_alive_seconds):
            await self._send(send, part)

    async def _send(self, send: Send, part: bytes, *, is_last: bool = False) -> None:
        async with asyncio.timeout(self._bounds.send_seconds):
            await send({"type": "http.response.body", "body": part, "more_body": not is_last})


async def _parts(feed: Feed, keep_alive: float) -> AsyncIterator[bytes]:
    # A message that comes at the end of a silence must not get lost with the waiting for it.
    coming = asyncio.ensure_future(anext(feed, None))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=keep_alive)
            if not done:
                yield b": still here\n\n"
                continue
            item = coming.result()
            if item is None:
                return
            if isinstance(item, Dropped):
                yield _dropped(item)
                return
            event = item.event.encode()
            yield b"id: %d\nevent: %b\ndata: %b\n\n" % (item.seq, event, item.data)
            coming = asyncio.ensure_future(anext(feed, None))
    finally:
        coming.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _dropped(item: Dropped) -> bytes:
    return _last_event({"cursor": item.cursor, "reason": "stopping"})


def _broken_off(feed: Feed, error: TenutoError) -> bytes:
    why = {"reason": "error", "code": error.code, "message": error.public_message}
    return _last_event({"cursor": feed.cursor, **why})


def _last_event(data: Mapping[str, object]) -> bytes:
    return b"event: workflow_run_dropped\ndata: %b\n\n" % msgspec.json.encode(data)
