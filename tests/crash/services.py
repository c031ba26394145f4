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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tenuto import Client
from tenuto.model.json import Object
from tests.kit.command_forks import ForkedCommand
from tests.kit.patience import PATIENCE

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
STEPS: Object = {
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
FOREVER: Object = {"id": "forever", "steps": [{"stepId": "a", "type": "TASK", "taskId": "forever"}]}
ROOT = Path(__file__).parents[2]
SOURCES = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
"""Of this checkout, whichever one is installed."""
_PAUSE = 0.05


class Service:
    """One process; it may be stopped, killed and begun again, on the same port."""

    def __init__(self, store: str, folder: Path, number: int, *, is_loaded: bool = False) -> None:
        self.program = "tenuto"
        """The module that is run."""
        self.settings: Sequence[str] = ()
        self._is_loaded = is_loaded
        self._store = store
        self._folder = folder
        self._said = folder / f"said-{number}.txt"
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        (folder / "tasks.py").write_text(TASKS)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def begin(self) -> None:
        """Start it, and return once it serves."""
        self._port = int(self._heard(self.begin_to_begin(), r"http://127\.0\.0\.1:(\d+)"))

    def begin_to_begin(self) -> int:
        """Start it, which it may not survive; how much was said before."""
        words = ["serve", "--tasks", "tasks.py", "--port", str(self._port)]
        words += [word for each in self.settings for word in ("--set", each)]
        before = self._said.stat().st_size if self._said.exists() else 0
        with self._said.open("ab") as said:
            options: dict[str, Any] = {
                "cwd": self._folder,
                "stderr": said,
                "env": {**os.environ, "TENUTO_STORE": self._store, "PYTHONPATH": SOURCES},
            }
            if self._is_loaded:
                self._process = ForkedCommand(words, module=self.program, **options)
            else:
                command = [sys.executable, "-m", self.program, *words]
                self._process = subprocess.Popen(command, **options)
        return before

    def tell(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def ended(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE)

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
        until = time.monotonic() + PATIENCE
        while True:
            said = self._said.read_bytes()[since:].decode()
            found = re.search(pattern, said)
            if found is not None:
                return found[found.re.groups]
            assert self._process.poll() is None, said
            assert time.monotonic() < until, f"no {pattern} within {PATIENCE:g} s: {said}"
            time.sleep(_PAUSE)


@contextmanager
def services(
    store: str, folder: Path, count: int = 2, *, is_begun: bool = True, is_loaded: bool = False
) -> Iterator[list[Service]]:
    """So many, begun or not; those that are loaded begin sooner, and are for no measurement."""
    made = [Service(store, folder, number, is_loaded=is_loaded) for number in range(count)]
    try:
        for each in made if is_begun else ():
            each.begin()
        yield made
    finally:
        for each in made:
            each.close()


class Load:
    """Starts instances one after the other, until it is told that it is enough."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._is_enough = asyncio.Event()
        self.started: dict[str, int] = {}
        """Instances that somebody accepted, and the number that each was given."""

    async def run(self, name: str) -> None:
        async with Client(self._urls, patience=PATIENCE) as client:
            number = 0
            while not self._is_enough.is_set():
                number += 1
                begun = await client.start("twice", {"number": number}, key=f"{name}-{number}")
                self.started[begun.id] = number
                await asyncio.sleep(_PAUSE / 5)

    async def passes(self, more: int) -> None:
        """Return once so many more were accepted."""
        wanted = len(self.started) + more
        async with asyncio.timeout(PATIENCE):
            while len(self.started) < wanted:  # noqa: ASYNC110 - they are other processes
                await asyncio.sleep(_PAUSE)

    def enough(self) -> None:
        self._is_enough.set()

    async def all_ended(self) -> None:
        """Return once every one of them has completed."""
        async with Client(self._urls, patience=PATIENCE) as client:
            for id in self.started:
                await client.at(id).result(timeout=PATIENCE)
