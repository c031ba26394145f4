"""Runs a service with two tenants: a small one that is measured, and one that throws a bomb."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import aiohttp

from tenuto.model.json import JSON, Object
from tests.bombs.attack import CLOSED, DOUBLE, Attack
from tests.crash.services import ROOT, Service

TASKS = """
import time
from tenuto import task

@task
async def double(input: dict) -> int:
    return input["number"] * 2

@task
def double_in_thread(input: dict) -> int:
    return input["number"] * 2

@task
def nap(input: dict) -> None:
    time.sleep(1)
"""
CONFIG = """
# What the one who attacks calls is on this machine.
[engine.private_networks]
bomber = ["127.0.0.0/8"]
"""


def little(step: Object) -> Object:
    """A workflow of two steps."""
    one: Object = {"stepId": "one", **step, "transitions": {"default": "two"}}
    steps: list[JSON] = [one, {"stepId": "two", **step}]
    return {"id": "little", "steps": steps}


LITTLE = little(DOUBLE)
_PATIENCE = 60.0
_HEALTH_EVERY = 0.05


class Thrown(NamedTuple):
    """How the thrower was answered."""

    statuses: dict[str, int]
    """Answers after the preparation, by status."""
    seconds: float
    """From the first request after the preparation to the newest of these answers."""
    odd: list[str]
    """Answers that the attack does not accept."""

    @property
    def taken(self) -> int:
        return sum(count for status, count in self.statuses.items() if 200 <= int(status) < 300)

    @property
    def refused(self) -> int:
        return sum(self.statuses.values()) - self.taken

    @property
    def unfit(self) -> list[str]:
        """The same without those of a service that stops, which refuses everything."""
        return [each for each in self.odd if not each.startswith((f"{CLOSED} ", "503 "))]


class Small:
    """The small tenant: it starts one little workflow after the other, and asks for health."""

    def __init__(self, urls: Sequence[str], key: str, step: Object) -> None:
        self._urls = urls
        self._step = step
        self._headers = {"authorization": f"Bearer {key}"}
        self.seconds: list[float] = []
        """From start to end of each."""
        self.health: list[float] = []
        self.wrong: list[str] = []
        """Answers other than a completed instance, or a healthy process."""

    async def deploy(self) -> None:
        async with self._session() as session:
            url = f"{self._urls[0]}/api/v1/workflows/little"
            async with session.put(url, json=little(self._step)) as answer:
                assert answer.status in {200, 201}, await answer.text()

    async def work_until(self, enough: asyncio.Event) -> None:
        polls = [self._ask_for_health(url, enough) for url in self._urls]
        await asyncio.gather(self._start_until(enough), *polls)

    async def work_for(self, seconds: float, at_least: int = 20) -> None:
        enough = asyncio.Event()
        working = asyncio.ensure_future(self.work_until(enough))
        await asyncio.sleep(seconds)
        while len(self.seconds) < at_least and not self.wrong and not working.done():  # noqa: ASYNC110 - the service is another process
            await asyncio.sleep(0.05)
        enough.set()
        await working

    async def _start_until(self, enough: asyncio.Event) -> None:
        urls = cycle(self._urls)
        async with self._session() as session:
            while not enough.is_set():
                url = f"{next(urls)}/api/v1/workflows/little/start?wait=30"
                begun = time.perf_counter()
                try:
                    async with session.post(url, json={"input": {"number": 1}}) as answer:
                        body = await answer.json()
                except (aiohttp.ClientError, TimeoutError) as error:
                    self.wrong.append(f"no answer to a start: {error!r}")
                    break
                self.seconds.append(time.perf_counter() - begun)
                if body.get("status") != "COMPLETED":
                    self.wrong.append(f"{answer.status}: {json.dumps(body)[:300]}")

    async def _ask_for_health(self, url: str, enough: asyncio.Event) -> None:
        async with self._session() as session:
            while not enough.is_set():
                begun = time.perf_counter()
                try:
                    async with session.get(f"{url}/health") as answer:
                        await answer.read()
                except (aiohttp.ClientError, TimeoutError) as error:
                    self.wrong.append(f"no answer of /health: {error!r}")
                    break
                self.health.append(time.perf_counter() - begun)
                if answer.status != 200:
                    self.wrong.append(f"/health: {answer.status}")
                await asyncio.sleep(_HEALTH_EVERY)

    def _session(self) -> aiohttp.ClientSession:
        patience = aiohttp.ClientTimeout(total=_PATIENCE)
        return aiohttp.ClientSession(headers=self._headers, timeout=patience)


class Beside:
    """A service that is begun, bombed, stopped and begun again."""

    def __init__(self, services: Sequence[Service], folder: Path, store: str) -> None:
        self._services = services
        for each in services:
            # Webhooks of the corpus lead to this machine, and to no other.
            each.settings = ("engine.private_webhooks=true",)
        self._store = store
        (folder / "tasks.py").write_text(TASKS)
        (folder / "tenuto.toml").write_text(CONFIG)
        self._said("migrate")
        self.small_key, self.bomber_key = (self._key(tenant) for tenant in ("small", "bomber"))

    @property
    def urls(self) -> list[str]:
        return [each.url for each in self._services]

    @property
    def peak_bytes(self) -> int:
        """The most memory that one of the processes has had."""
        return max(_peak_bytes(each.pid) for each in self._services)

    async def begin(self) -> float:
        """Begin all; the seconds until the last of them serves."""
        begun = time.perf_counter()
        await asyncio.gather(*(asyncio.to_thread(each.begin) for each in self._services))
        return time.perf_counter() - begun

    async def stop(self) -> float:
        """End all in good order; the seconds until the last of them has ended."""
        begun = time.perf_counter()
        codes = await asyncio.gather(*(asyncio.to_thread(each.stop) for each in self._services))
        assert set(codes) == {0}, codes
        return time.perf_counter() - begun

    def small(self, step: Object = DOUBLE) -> Small:
        return Small(self.urls, self.small_key, step)

    async def throw(self, attack: Attack) -> Throwing:
        """Let another process throw the attack, from now on."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.bombs.thrower", attack.name, *self.urls),
            cwd=ROOT,
            env={**os.environ, "TENUTO_KEY": self.bomber_key},
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
        )
        return Throwing(process)

    def _key(self, tenant: str) -> str:
        words = ("keys", "create", tenant, "--role", "admin", "--tenant", tenant, "-o", "json")
        return str(json.loads(self._said(*words))["key"])

    def _said(self, *words: str) -> bytes:
        command = [sys.executable, "-m", "tenuto", *words, "--store", self._store]
        return subprocess.run(command, check=True, capture_output=True).stdout


class Throwing:
    """An attack under way."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdout is not None
        self._said = process.stdout

    async def begun(self) -> None:
        """Return once all is prepared and the attack itself begins."""
        assert await self._said.readline() == b"begun\n"

    def count_no_more(self) -> None:
        """Later answers are not counted: they are those of a service that stops."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGUSR1)

    async def end(self) -> Thrown:
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        said = await self._said.read()
        await self._process.wait()
        told = json.loads(said.splitlines()[-1])
        return Thrown(told["statuses"], told["seconds"], told["odd"])


def _peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system does not tell how much memory a process has had")
