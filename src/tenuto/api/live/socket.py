"""One client's socket: it joins and leaves instances, and is told what happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.api.live.credential import refused
from tenuto.api.live.protocol import (
    FORBIDDEN,
    GOING,
    IDLE,
    SLOW,
    SUBPROTOCOL,
    UNAUTHENTICATED,
    Join,
    Leave,
    Ping,
    Said,
    of_error,
    read,
    written,
)
from tenuto.api.problems import Refusal
from tenuto.api.service import Service
from tenuto.live import Dropped, Feed
from tenuto.model.errors import TenutoError, Unauthenticated

MOST_ROOMS = 100
"""So many instances one socket may watch."""
SEND_SECONDS = 10.0
"""A client that takes nothing for so long is dropped."""


class _Over(Exception):
    """The socket ends, with a code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class LiveSocket:
    """Reads what the client asks for; each instance that it watches is told by a task of its own.

    What goes out is not queued here: who is slow is behind in its feeds.
    """

    def __init__(
        self, service: Service, principal: Principal, headers: Mapping[str, str], socket: WebSocket
    ) -> None:
        self._service = service
        self._principal = principal
        self._headers = headers
        self._socket = socket
        self._sending = asyncio.Lock()
        self._rooms: dict[str, asyncio.Task[None]] = {}
        self._feeds: dict[str, Feed] = {}
        self._heard = asyncio.Event()
        self._over: asyncio.Future[_Over] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Until the client goes, its credential ends, it is too slow, or the service stops."""
        offered = self._socket.scope.get("subprotocols", ())
        await self._socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        watching = [
            asyncio.ensure_future(self._read()),
            asyncio.ensure_future(self._check()),
            asyncio.ensure_future(self._wait_for_stop()),
            asyncio.ensure_future(self._wait_for_nothing()),
        ]
        try:
            over = await self._over
            if over.code:
                async with self._sending:
                    pass  # What is on its way arrives, and counts as told.
        finally:
            for task in (*watching, *self._rooms.values()):
                task.cancel()
            await asyncio.gather(*watching, *self._rooms.values(), return_exceptions=True)
        if over.code:
            await self._close(over)

    def _end(self, over: _Over) -> None:
        if not self._over.done():
            self._over.set_result(over)

    # -- what ends it

    async def _check(self) -> None:
        error = await refused(
            self._service, self._headers, self._principal, Permission.INSTANCES_READ
        )
        code = UNAUTHENTICATED if isinstance(error, Unauthenticated) else FORBIDDEN
        self._end(_Over(code, error.code))

    async def _wait_for_stop(self) -> None:
        await self._service.stopping.wait()
        self._end(_Over(GOING, "stopping"))

    async def _wait_for_nothing(self) -> None:
        """A socket that is of no use is not kept open for ever."""
        clock, seconds = self._service.clock, self._service.config.socket_idle_seconds
        while True:
            self._heard.clear()
            if not await clock.wait(self._heard, seconds) and not self._rooms:
                return self._end(_Over(IDLE, "idle"))

    async def _close(self, over: _Over) -> None:
        """Say where each instance stands, as far as the client still takes it, and go."""
        try:
            async with asyncio.timeout(SEND_SECONDS):
                if over.code in (SLOW, GOING, IDLE):
                    for id, feed in self._feeds.items():
                        await self._socket.send_text(_dropped(id, feed.cursor, over.reason))
                else:
                    error = TenutoError("the credential is not valid any more", code=over.reason)
                    await self._socket.send_text(written(of_error(error)))
        except (TimeoutError, WebSocketDisconnect, RuntimeError):
            pass  # It hears nothing; that the connection ends it will notice.
        with suppress(WebSocketDisconnect, RuntimeError):  # The client may be faster.
            await self._socket.close(over.code, over.reason)

    # -- what the client asks for

    async def _read(self) -> None:
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                self._heard.set()
                await self._take(message.get("text") or message.get("bytes") or "")
        except WebSocketDisconnect:
            pass
        finally:
            self._end(_Over(0, "gone"))

    async def _take(self, text: str | bytes) -> None:
        try:
            self._service.count_request(self._principal)
            asked = _read(text)
            match asked:
                case Join():
                    self._join(asked)
                case Leave():
                    await self._leave(asked.runId)
                case Ping():
                    await self._say(written(Said(event="pong")))
        except TenutoError as error:
            await self._say(written(of_error(error)))

    def _join(self, asked: Join) -> None:
        id = asked.runId
        before = self._rooms.get(id)
        if before is None and len(self._rooms) >= MOST_ROOMS:
            message = f"a socket can watch {MOST_ROOMS} instances"
            raise Refusal(429, "TEN-2611", message)
        self._rooms[id] = asyncio.ensure_future(self._tell(id, asked.since, before))

    async def _leave(self, id: str) -> None:
        room = self._rooms.pop(id, None)
        if room is None:
            raise Refusal(409, "TEN-2612", f"the socket does not watch {id}")
        room.cancel()
        await asyncio.gather(room, return_exceptions=True)
        await self._say(written(Said(event="workflow_run_left", instanceID=id)))

    # -- what it is told

    async def _tell(self, id: str, since: int, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            before.cancel()
            await asyncio.gather(before, return_exceptions=True)
        cursor: int | None = None
        try:
            async with self._service.live.follow(self._principal.tenant, id, since) as feed:
                self._feeds[id] = feed
                try:
                    await self._tell_all(id, feed)
                finally:
                    cursor = feed.cursor
                    if not self._over.done():
                        self._feeds.pop(id, None)
        except TenutoError as error:
            # Whoever has joined it anew meanwhile goes on.
            if self._rooms.get(id) is asyncio.current_task():
                del self._rooms[id]
            await self._say(written(of_error(error, id, cursor)))

    async def _tell_all(self, id: str, feed: Feed) -> None:
        joined = Said(event="workflow_run_joined", instanceID=id, cursor=feed.cursor)
        if not await self._say(written(joined)):
            return
        async for told in feed:
            if isinstance(told, Dropped):
                self._end(_Over(GOING, "stopping"))
                return
            # What was not sent must not count as told, as it would if the next were asked for.
            if not await self._say(told.data.decode()):
                return

    async def _say(self, text: str) -> bool:
        """Send a message, and say whether that went well; who is too slow for it is dropped."""
        async with self._sending:
            if self._over.done():
                return False
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await self._socket.send_text(text)
            except TimeoutError:
                self._end(_Over(SLOW, "slow"))
                return False
            except (WebSocketDisconnect, RuntimeError):
                self._end(_Over(0, "gone"))
                return False
            return True


def _read(text: str | bytes) -> Join | Leave | Ping:
    try:
        asked: Join | Leave | Ping = read(text)
    except msgspec.MsgspecError as error:
        raise Refusal(422, "TEN-2610", f"the message cannot be read: {error}") from None
    return asked


def _dropped(id: str, cursor: int, reason: str) -> str:
    dropped = Said(event="workflow_run_dropped", instanceID=id, cursor=cursor, reason=reason)
    return written(dropped)
