"""One client's socket: it joins and leaves instances and the inbox, and gets their messages."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal, refuse_unless
from tenuto.api.live.credential import refused
from tenuto.api.live.protocol import (
    FORBIDDEN,
    GOING,
    IDLE,
    SLOW,
    SUBPROTOCOL,
    UNAUTHENTICATED,
    Asked,
    Join,
    JoinInbox,
    Leave,
    LeaveInbox,
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
from tenuto.ports import Clock

MOST_AT_ONCE = 500
"""Messages of a client that are taken without a pause, such as joins after a new connection."""
A_SECOND = 50
"""Messages that are taken each second beyond them; the rest waits in the network."""


class MessageBudget:
    """How many messages of a socket are taken before it has to wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = clock.ticks()
        self._left = float(MOST_AT_ONCE)

    def take(self) -> float:
        """Count a message; the seconds until the next one may be taken."""
        now = self._clock.ticks()
        self._left = min(self._left + (now - self._at) * A_SECOND, MOST_AT_ONCE) - 1
        self._at = now
        return max(-self._left / A_SECOND, 0.0)


class _Over(Exception):
    """The socket ends, with a code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class LiveSocket:
    """Reads the client's messages; each watched instance has a task that sends its messages.

    Nothing is queued here: a slow client is behind in its feeds.
    """

    def __init__(
        self, service: Service, principal: Principal, headers: Mapping[str, str], socket: WebSocket
    ) -> None:
        self._service = service
        self._principal = principal
        self._headers = headers
        self._socket = socket
        self._bounds = service.config.live
        self._budget = MessageBudget(service.clock)
        self._sending = asyncio.Lock()
        self._reading_back = asyncio.Lock()
        self._watched: dict[str, asyncio.Task[None]] = {}
        self._feeds: dict[str, Feed] = {}
        self._inbox: asyncio.Task[None] | None = None
        self._heard = asyncio.Event()
        self._over: asyncio.Future[_Over] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Until the client goes, its credential ends, it is too slow, or the service stops."""
        offered = self._socket.scope.get("subprotocols", ())
        await self._socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        tasks = [
            asyncio.ensure_future(self._read()),
            asyncio.ensure_future(self._check()),
            asyncio.ensure_future(self._wait_for_stop()),
            asyncio.ensure_future(self._wait_for_idle()),
        ]
        try:
            over = await self._over
            if over.code:
                async with self._sending:
                    pass  # A message on its way arrives, and counts as sent.
        finally:
            tasks += [*self._watched.values(), *((self._inbox,) if self._inbox else ())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
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

    async def _wait_for_idle(self) -> None:
        """End a socket that watches nothing and sends nothing."""
        clock, seconds = self._service.clock, self._bounds.idle_seconds
        while True:
            self._heard.clear()
            is_silent = not await clock.wait(self._heard, seconds)
            if is_silent and not self._watched and self._inbox is None:
                return self._end(_Over(IDLE, "idle"))

    async def _close(self, over: _Over) -> None:
        """Send the cursor of each instance, as far as the client still takes it, and close."""
        try:
            async with asyncio.timeout(self._bounds.send_seconds):
                if over.code in (SLOW, GOING, IDLE):
                    for id, feed in self._feeds.items():
                        await self._socket.send_text(_dropped(id, feed.cursor, over.reason))
                else:
                    error = TenutoError("the credential is not valid any more", code=over.reason)
                    await self._socket.send_text(written(of_error(error)))
        except (TimeoutError, WebSocketDisconnect, RuntimeError):
            pass  # The client gets no cursors, and notices that the connection ends.
        with suppress(WebSocketDisconnect, RuntimeError):  # The client may be faster.
            await self._socket.close(over.code, over.reason)

    # -- messages of the client

    async def _read(self) -> None:
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                self._heard.set()
                await self._take(message.get("text") or message.get("bytes") or "")
                # Messages that are here already would all be taken before anything else.
                await self._service.clock.sleep(self._budget.take())
        except WebSocketDisconnect:
            pass
        finally:
            self._end(_Over(0, "gone"))

    async def _take(self, text: str | bytes) -> None:
        asked: Asked | None = None
        try:
            try:
                asked = _read(text)
            finally:
                # Also what cannot be read; and what is refused is named.
                self._service.count_request(self._principal)
            match asked:
                case Join():
                    await self._join(asked)
                case Leave():
                    await self._leave(asked.runId)
                case JoinInbox():
                    await self._join_inbox()
                case LeaveInbox():
                    await self._leave_inbox()
                case Ping():
                    await self._send(written(Said(event="pong")))
        except TenutoError as error:
            await self._send(written(of_error(error, asked=asked)))

    async def _join(self, asked: Join) -> None:
        id = asked.runId
        before = self._watched.get(id)
        most = self._bounds.watched_instances
        if before is None and len(self._watched) >= most:
            message = f"a socket can watch {most} instances"
            raise Refusal(429, "TEN-2611", message)
        if before is not None:
            # Here, since tasks that each end another one would be a chain as long as one likes.
            before.cancel()
            await asyncio.gather(before, return_exceptions=True)
        self._watched[id] = asyncio.ensure_future(self._send_messages(id, asked.since))

    async def _leave(self, id: str) -> None:
        watching = self._watched.pop(id, None)
        if watching is None:
            raise Refusal(409, "TEN-2612", f"the socket does not watch {id}")
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await self._send(written(Said(event="workflow_run_left", instanceID=id)))

    async def _join_inbox(self) -> None:
        refuse_unless(self._principal, Permission.EVENTS_READ)
        if self._inbox is None or self._inbox.done():
            self._inbox = asyncio.ensure_future(self._send_inbox())
        else:
            await self._send(written(Said(event="inbox_joined")))

    async def _leave_inbox(self) -> None:
        watching, self._inbox = self._inbox, None
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        await self._send(written(Said(event="inbox_left")))

    # -- messages to the client

    async def _send_inbox(self) -> None:
        service, principal = self._service, self._principal
        telling = asyncio.ensure_future(self._tell_inbox())
        lost = asyncio.ensure_future(
            refused(service, self._headers, principal, Permission.EVENTS_READ)
        )
        try:
            await asyncio.wait((telling, lost), return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                self._inbox = None
                await self._send(written(of_error(lost.result(), asked=JoinInbox())))
            elif isinstance(error := telling.exception(), TenutoError):
                await self._send(written(of_error(error, asked=JoinInbox())))
        finally:
            for task in (telling, lost):
                task.cancel()
            await asyncio.gather(telling, lost, return_exceptions=True)

    async def _tell_inbox(self) -> None:
        async with self._service.live.inbox.follow(self._principal.tenant) as feed:
            await self._send(written(Said(event="inbox_joined")))
            async for event in feed:
                told = Said(event="inbox_update", eventID=event.id, pattern=event.pattern)
                if not await self._send(written(told)):
                    return

    async def _send_messages(self, id: str, since: int) -> None:
        cursor: int | None = None
        try:
            async with self._service.live.follow(
                self._principal.tenant, id, since, reading_back=self._reading_back
            ) as feed:
                self._feeds[id] = feed
                try:
                    await self._send_all(id, feed)
                finally:
                    cursor = feed.cursor
                    if not self._over.done():
                        self._feeds.pop(id, None)
        except TenutoError as error:
            # The client may have joined it anew meanwhile: that goes on.
            if self._watched.get(id) is asyncio.current_task():
                del self._watched[id]
            await self._send(written(of_error(error, cursor=cursor, asked=Join(runId=id))))

    async def _send_all(self, id: str, feed: Feed) -> None:
        joined = Said(event="workflow_run_joined", instanceID=id, cursor=feed.cursor)
        if not await self._send(written(joined)):
            return
        async for item in feed:
            if isinstance(item, Dropped):
                self._end(_Over(GOING, "stopping"))
                return
            # A message that was not sent must not count, as it would if the next were asked for.
            if not await self._send(item.data.decode()):
                return

    async def _send(self, text: str) -> bool:
        """Send a message; False where the socket is over, also since the client was too slow."""
        async with self._sending:
            if self._over.done():
                return False
            try:
                async with asyncio.timeout(self._bounds.send_seconds):
                    await self._socket.send_text(text)
            except TimeoutError:
                self._end(_Over(SLOW, "slow"))
                return False
            except (WebSocketDisconnect, RuntimeError):
                self._end(_Over(0, "gone"))
                return False
            return True


def _read(text: str | bytes) -> Asked:
    try:
        asked: Asked = read(text)
    except msgspec.MsgspecError as error:
        raise Refusal(422, "TEN-2610", f"the message cannot be read: {error}") from None
    return asked


def _dropped(id: str, cursor: int, reason: str) -> str:
    dropped = Said(event="workflow_run_dropped", instanceID=id, cursor=cursor, reason=reason)
    return written(dropped)
