"""The socket of a widget: the value that a token shows, whenever it is another one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from tenuto.api.live.protocol import GOING, GONE, SLOW, SUBPROTOCOL, UNAUTHENTICATED
from tenuto.api.problems import Refusal
from tenuto.api.service import Service
from tenuto.live import Dropped, Feed
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.json import Object

_encode = msgspec.json.Encoder(decimal_format="number").encode


class WidgetSocket:
    """Sends the value first, and again after each change of the instance that changes it.

    Changes in quick succession are one message. It reads nothing that the client says.
    """

    def __init__(
        self,
        service: Service,
        socket: WebSocket,
        *,
        admit: Callable[[], Awaitable[object]],
        shown: Callable[[], Awaitable[Object]],
    ) -> None:
        """`admit` raises once the token is over; `shown` is what the widget shows now."""
        self._service = service
        self._socket = socket
        self._admit = admit
        self._shown = shown
        self._bounds = service.config.live
        self._changed = asyncio.Event()

    async def run(self, tenant: str, instance_id: str) -> None:
        """Until the client goes, the token ends, it is too slow, or the service stops."""
        await self._socket.accept(SUBPROTOCOL)
        try:
            async with self._service.live.follow(tenant, instance_id, None) as feed:
                code = await self._run(feed)
        except TenutoError as error:
            code = GONE if isinstance(error, NotFound) else GOING
        if code:
            with suppress(WebSocketDisconnect, RuntimeError):  # The client may be faster.
                await self._socket.close(code)

    async def _run(self, feed: Feed) -> int:
        tasks = [
            asyncio.ensure_future(each)
            for each in (self._gone(), self._checked(), self._stopped(), self._listen(feed))
        ]
        tasks.append(asyncio.ensure_future(self._send_all()))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _gone(self) -> int:
        while (await self._socket.receive())["type"] != "websocket.disconnect":
            pass
        return 0

    async def _checked(self) -> int:
        while True:
            await self._service.clock.sleep(self._bounds.credential_seconds)
            try:
                await self._admit()
            except StoreUnavailable:
                continue  # It cannot be checked now: the connection stays open until it can.
            except Refusal:
                return UNAUTHENTICATED

    async def _stopped(self) -> int:
        await self._service.stopping.wait()
        return GOING

    async def _listen(self, feed: Feed) -> int:
        async for item in feed:
            if isinstance(item, Dropped):
                break
            self._changed.set()
        return GOING

    async def _send_all(self) -> int:
        sent = b""
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            value = _encode(await self._shown())
            if value != sent:
                try:
                    async with asyncio.timeout(self._bounds.send_seconds):
                        await self._socket.send_text(value.decode())
                except TimeoutError:
                    return SLOW
                except (WebSocketDisconnect, RuntimeError):
                    return 0
                sent = value
            await self._service.clock.sleep(self._bounds.widget_seconds)
