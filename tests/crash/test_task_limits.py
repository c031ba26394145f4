"""Processes that run a task with a limit are killed: the limit holds, and nothing stays taken."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tenuto import TaskLimits, Tenuto
from tests.kit.postgres_database import fresh_database

ROOT = Path(__file__).parents[2]
LIMIT = 3
STARTS = 60


def most_at_once(lines: list[list[str]], killed: dict[int, float]) -> int:
    """How many attempts ran at once; those of a killed process ended with it."""
    ends = {words[2]: float(words[3]) for words in lines if words[0] == "end"}
    changes: list[tuple[float, int]] = []
    for kind, pid, name, at in lines:
        if kind == "begin":
            changes += [(float(at), 1), (ends.get(name, killed.get(int(pid), float("inf"))), -1)]
    running = most = 0
    for _, change in sorted(changes):
        running += change
        most = max(most, running)
    return most


class Notes:
    """What the processes write into a pipe, in their order; those that are killed leave theirs."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Open for both, so that it does not end while no process writes, and none waits to open it.
        self._pipe = os.open(path, os.O_RDWR)
        self._lines: list[list[str]] = []
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, name="notes")
        self._reader.start()

    def wait_for(self, more: int) -> None:
        """Until the processes have written so many more lines."""
        with self._more:
            enough = len(self._lines) + more
            assert self._more.wait_for(lambda: len(self._lines) >= enough, timeout=300)

    def lines(self) -> list[list[str]]:
        with self._more:
            return [*self._lines]

    def close(self) -> None:
        """Read what is left: no process writes any more."""
        os.write(self._pipe, b"\n")
        self._reader.join()

    def _read(self) -> None:
        with os.fdopen(self._pipe, "rb") as pipe:
            while words := pipe.readline().decode().split():
                with self._more:
                    self._lines.append(words)
                    self._more.notify_all()


@pytest.mark.soak
@pytest.mark.asyncio
async def test_a_limit_holds_while_processes_are_killed(
    tmp_path: Path, seeds: Iterator[int]
) -> None:
    """ "zero slots held at rest, also after kills"."""
    for seed in seeds:
        url, path = await fresh_database(), tmp_path / f"{seed}.fifo"
        notes = Notes(path)
        random = Random(seed)
        killed: dict[int, float] = {}

        def started() -> subprocess.Popen[bytes]:
            args = [str(path), str(STARTS), str(LIMIT)]  # noqa: B023 - called in this round
            program = [sys.executable, "-m", "tests.crash.limited_load", url, *args]  # noqa: B023
            return subprocess.Popen(program, cwd=ROOT)

        processes = [started(), started()]
        try:
            for _ in range(3):
                notes.wait_for(random.randint(20, 60))
                killed |= _kill(processes.pop(0))
                processes.append(started())
            async with Tenuto(url) as app:

                @app.task(limits=TaskLimits(concurrency=LIMIT))
                async def busy() -> None: ...

                for kind, _, id, _ in notes.lines():
                    if kind == "started":
                        await (await app.instance(id)).result(timeout=300)
        finally:
            for process in processes:
                killed |= _kill(process)
            notes.close()
        assert 1 < most_at_once(notes.lines(), killed) <= LIMIT


def _kill(process: subprocess.Popen[bytes]) -> dict[int, float]:
    process.kill()
    process.wait()
    return {process.pid: time.monotonic()}
