"""Clients that watch an instance each, and note when its updates come."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import msgspec

_PATIENCE = 120.0


class _Update(msgspec.Struct, rename={"instance_id": "instanceID"}):
    event: str
    instance_id: str = ""
    seq: int = 0
    status: str = ""


_read = msgspec.json.Decoder(_Update).decode


class Watchers:
    """Many sockets; each ends with its instance."""

    def __init__(self) -> None:
        self.updates = 0
        self.arrived: dict[str, list[tuple[int, float]]] = defaultdict(list)
        """Of an instance: the seq of each update and when it came, whoever it came to."""
        self._ended: list[asyncio.Task[int]] = []

    async def join(self, socket: aiohttp.ClientWebSocketResponse, id: str) -> None:
        """Watch from now on; returns when what happened before has been told."""
        await socket.send_str(_joining(id))
        while _read(await socket.receive_str()).status != "WAITING":
            pass
        self._ended.append(asyncio.ensure_future(self._follow(socket, id)))

    async def all_ended(self) -> None:
        """Wait until each has seen its instance's end, and hold that nobody missed anything."""
        async with asyncio.timeout(_PATIENCE):
            counts = await asyncio.gather(*self._ended)
        assert len(set(counts)) == 1, f"some have missed something: {sorted(set(counts))}"
        self.updates = sum(counts)

    async def _follow(self, socket: aiohttp.ClientWebSocketResponse, id: str) -> int:
        arrived = self.arrived[id]
        count = 0
        while True:
            text = await socket.receive_str()
            now = time.time()
            update = _read(text)
            assert update.seq, text
            arrived.append((update.seq, now))
            count += 1
            if update.event == "workflow_status_update" and update.status == "COMPLETED":
                return count


@asynccontextmanager
async def watching(url: str, ids: Sequence[str]) -> AsyncIterator[Watchers]:
    """A socket for each of `ids`, which may name an instance several times."""
    watchers = Watchers()
    async with AsyncExitStack() as stack:
        connector = aiohttp.TCPConnector(limit=0)
        session = await stack.enter_async_context(aiohttp.ClientSession(url, connector=connector))
        for id in ids:
            socket = await stack.enter_async_context(session.ws_connect("/ws", compress=0))
            await watchers.join(socket, id)
        yield watchers


def _joining(id: str) -> str:
    return msgspec.json.encode({"event": "workflow_run_join", "runId": id}).decode()
