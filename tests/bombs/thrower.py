"""`python -m tests.bombs.thrower ATTACK URL...`: throws one attack at a service until it is ended.

A process of its own, since making and sending large bodies must not disturb what is measured
beside it; at the lowest priority, since it stands for another machine. The key is in the
environment. It says `begun` once all is prepared, and at the end, as
JSON, which statuses it was answered with since then, until SIGUSR1 if that came before.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import cycle
from typing import Any

import aiohttp

from tests.bombs.attack import CLOSED, Ask, Attack, Deaf, Joins, Lines
from tests.bombs.attacks import ATTACKS

_PAUSE = 0.1
_PATIENCE = aiohttp.ClientTimeout(total=120)
_CLOSED = (aiohttp.ClientError, ConnectionError, TimeoutError)


class Thrower:
    """Sends an attack, and counts the answers."""

    def __init__(self, attack: Attack, urls: Sequence[str], key: str) -> None:
        self._attack = attack
        self._urls = cycle(urls)
        self._key = key
        self._headers = {"authorization": f"Bearer {key}"}
        self.statuses: Counter[int] = Counter()
        self.is_counting = True
        self.seconds = 0.0
        """From the first request after the preparation to the newest answer."""
        self._begun = time.monotonic()
        self.odd: list[str] = []
        """Answers that the attack does not accept."""

    async def run(self) -> None:
        async with aiohttp.ClientSession(timeout=_PATIENCE) as session:
            for ask in self._attack.before():
                await self._send(session, ask, frozenset())
            self.statuses.clear()
            self.seconds = 0.0
            self._begun = time.monotonic()
            print("begun", flush=True)
            opened = asyncio.ensure_future(self._open(session))
            try:
                for _ in range(self._attack.rounds):
                    asks = iter(self._attack.asks())
                    senders = [self._all(session, asks) for _ in range(self._attack.at_once)]
                    await asyncio.gather(*senders)
                    await asyncio.sleep(_PAUSE)
                    if opened.done():
                        opened.result()  # or an attack that fails would be taken for a harmless one
                await opened
            finally:
                opened.cancel()

    def count_no_more(self) -> None:
        """What is answered from now on is not counted."""
        self.is_counting = False

    async def _all(self, session: aiohttp.ClientSession, asks: Iterator[Ask]) -> None:
        for ask in asks:
            await self._send(session, ask, self._attack.refusals)

    async def _send(
        self, session: aiohttp.ClientSession, ask: Ask, refusals: frozenset[int]
    ) -> None:
        body = ask.body if isinstance(ask.body, bytes) else json.dumps(ask.body).encode()
        headers = {"content-type": "application/json", **self._headers, **ask.headers}
        data = None if ask.method == "GET" else body
        text = ""
        try:
            async with session.request(
                ask.method, f"{next(self._urls)}/api/v1{ask.path}", data=data, headers=headers
            ) as answer:
                status = answer.status
                async for chunk in answer.content.iter_any():
                    text = text or chunk[:300].decode("utf-8", "replace")
        except (*_CLOSED, ValueError) as error:
            status, text = CLOSED, repr(error)
        if self.is_counting:
            self.statuses[status] += 1
            self.seconds = time.monotonic() - self._begun
        if not (200 <= status < 300 or status in refusals):
            self.odd.append(f"{status} for {ask.method} {ask.path[:80]}: {text}")

    async def _open(self, session: aiohttp.ClientSession) -> None:
        match self._attack.opens:
            case Lines() as lines:
                await asyncio.gather(*(self._line(lines) for _ in range(lines.connections)))
            case Joins() as joins:
                await asyncio.gather(*(self._join(session, joins) for _ in range(joins.sockets)))
            case Deaf(port):
                with socket.create_server(("127.0.0.1", port), backlog=4_096):
                    await asyncio.get_running_loop().create_future()
            case None:
                pass

    async def _line(self, lines: Lines) -> None:
        host, _, port = next(self._urls).removeprefix("http://").partition(":")
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(host, int(port))
                try:
                    writer.write(lines.says.replace(b"{key}", self._key.encode()))
                    while not writer.is_closing():
                        await asyncio.sleep(_PAUSE)
                        writer.write(lines.drips)
                        await writer.drain()
                finally:
                    writer.close()
            await asyncio.sleep(_PAUSE)

    async def _join(self, session: aiohttp.ClientSession, joins: Joins) -> None:
        url = next(self._urls)
        path = f"{url}/api/v1/instances?limit=100&workflowId={joins.workflow}"
        while True:
            with suppress(*_CLOSED):
                async with session.get(path, headers=self._headers) as answer:
                    items: list[Any] = (await answer.json())["items"]
                async with session.ws_connect(f"{url}/ws", headers=self._headers) as socket:
                    for item in items:
                        id = item["id"]
                        await socket.send_json({"event": "workflow_run_join", "runId": id})
                    async for _ in socket:
                        pass
            await asyncio.sleep(_PAUSE)


async def main(name: str, urls: Sequence[str]) -> None:
    os.nice(19)
    thrower = Thrower(ATTACKS[name], urls, os.environ["TENUTO_KEY"])
    throwing = asyncio.ensure_future(thrower.run())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, throwing.cancel)
    loop.add_signal_handler(signal.SIGUSR1, thrower.count_no_more)
    with suppress(asyncio.CancelledError):
        await throwing
    said = {"statuses": thrower.statuses, "seconds": thrower.seconds, "odd": thrower.odd}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
