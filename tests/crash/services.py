"""Several `tenuto serve` on one database, and clients that come again until they are answered."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

TASKS = """
import asyncio
from tenuto import task

@task
async def double(input: dict) -> int:
    await asyncio.sleep(0.02)
    return input["number"] * 2

@task
async def forever(input: dict) -> None:
    await asyncio.sleep(600)
"""
STEPS = {
    "id": "twice",
    "steps": [
        {
            "stepId": "one",
            "type": "TASK",
            "taskId": "double",
            "transitions": {"default": "two"},
        },
        {"stepId": "two", "type": "TASK", "taskId": "double"},
    ],
}
FOREVER = {"id": "forever", "steps": [{"stepId": "a", "type": "TASK", "taskId": "forever"}]}
_PATIENCE = 60
_PAUSE = 0.05


class Service:
    """One process; it may be stopped, killed and begun again, on the same port."""

    def __init__(self, store: str, folder: Path, number: int) -> None:
        self._store = store
        self._folder = folder
        self._said = folder / f"said-{number}.txt"
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "tasks.py").write_text(TASKS)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def begin(self) -> None:
        words = ["serve", "--tasks", "tasks.py", "--port", str(self._port)]
        before = self._said.stat().st_size if self._said.exists() else 0
        with self._said.open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tenuto", *words],
                cwd=self._folder,
                stderr=said,
                env={**os.environ, "TENUTO_STORE": self._store},
            )
        self._port = int(self._heard(before, r"http://127\.0\.0\.1:(\d+)"))

    def tell(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def ended(self) -> int:
        assert self._process is not None
        return self._process.wait(_PATIENCE)

    def stop(self) -> int:
        self.tell(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        self.tell(signal.SIGKILL)
        self.ended()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def heard(self, pattern: str) -> str:
        """What it said, once it has."""
        return self._heard(0, pattern)

    def _heard(self, since: int, pattern: str) -> str:
        assert self._process is not None
        until = time.monotonic() + _PATIENCE
        while True:
            said = self._said.read_bytes()[since:].decode()
            found = re.search(pattern, said)
            if found is not None:
                return found[found.re.groups]
            assert self._process.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(_PAUSE)


@contextmanager
def services(store: str, folder: Path, count: int = 2) -> Iterator[list[Service]]:
    made = [Service(store, folder, number) for number in range(count)]
    try:
        for each in made:
            each.begin()
        yield made
    finally:
        for each in made:
            each.close()


class Client:
    """Comes again, to the next of them, until somebody answers; nothing is asked for twice."""

    def __init__(self, session: aiohttp.ClientSession, urls: Sequence[str]) -> None:
        self._session = session
        self._urls = list(urls)
        self._next = 0

    async def ask(self, method: str, path: str, body: object = None, key: str = "") -> Any:  # noqa: ANN401
        headers = {"idempotency-key": key} if key else {}
        async with asyncio.timeout(_PATIENCE):
            while True:
                self._next += 1
                url = self._urls[self._next % len(self._urls)]
                with suppress(aiohttp.ClientConnectionError):
                    asked = self._session.request(
                        method, f"{url}/api/v1{path}", json=body, headers=headers
                    )
                    async with asked as reply:
                        if reply.status not in (429, 503):
                            assert reply.status < 400, (reply.status, await reply.text())
                            return await reply.json()
                await asyncio.sleep(_PAUSE)


class Load:
    """Starts instances one after the other, until it is told that it is enough."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._is_enough = asyncio.Event()
        self.started: dict[str, int] = {}
        """Instances that somebody accepted, and the number that each was given."""

    async def run(self, name: str) -> None:
        async with aiohttp.ClientSession() as session:
            client = Client(session, self._urls)
            number = 0
            while not self._is_enough.is_set():
                number += 1
                body = {"input": {"number": number}}
                answer = await client.ask(
                    "POST", "/workflows/twice/start", body, f"{name}-{number}"
                )
                self.started[answer["instanceId"]] = number
                await asyncio.sleep(_PAUSE / 5)

    async def passes(self, more: int) -> None:
        """Return once so many more were accepted."""
        wanted = len(self.started) + more
        async with asyncio.timeout(_PATIENCE):
            while len(self.started) < wanted:  # noqa: ASYNC110 - they are other processes
                await asyncio.sleep(_PAUSE)

    def enough(self) -> None:
        self._is_enough.set()

    async def all_ended(self) -> None:
        """Return once every one of them has completed."""
        async with aiohttp.ClientSession() as session, asyncio.timeout(_PATIENCE):
            client = Client(session, self._urls)
            for id in self.started:
                while not await self._has_ended(client, id):  # noqa: ASYNC110
                    await asyncio.sleep(_PAUSE)

    async def _has_ended(self, client: Client, id: str) -> bool:
        found = await client.ask("GET", f"/instances/{id}")
        return bool(found["status"] == "COMPLETED")
