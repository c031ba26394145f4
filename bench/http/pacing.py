"""A process that starts instances at a steady rate, until it is told to stop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.http.load import Caller, calling
from tenuto.cli.event_loop import fast_loop

_MOST_UNDER_WAY = 200


class Paced:
    """The process, for whoever measures something beside it."""

    def __init__(self, url: str, rate: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.http.pacing", url, str(rate)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> None:
        self._line()

    def stopped(self) -> float:
        """Starts a second that it came to."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return float(self._line())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def paced(url: str, rate: float) -> Iterator[Paced]:
    """So many starts a second are under way inside."""
    process = Paced(url, rate)
    try:
        process.ready()
        yield process
    finally:
        process.kill()


async def _start_at(url: str, rate: float) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
    async with calling(url) as caller, asyncio.TaskGroup() as starts:
        await caller.start("sleeping", 0)
        print("ready", flush=True)
        began, begun = loop.time(), 0
        may_begin = asyncio.Semaphore(_MOST_UNDER_WAY)
        while not told.done():
            # Not one after the other: a slow answer does not slow the next start down.
            due = int((loop.time() - began) * rate)
            for number in range(begun, due):
                await may_begin.acquire()
                starts.create_task(_one(caller, number, may_begin))
            begun = max(begun, due)
            await asyncio.sleep(0.002)
    print(begun / (loop.time() - began), flush=True)


async def _one(caller: Caller, number: int, may_begin: asyncio.Semaphore) -> None:
    try:
        await caller.start("sleeping", number)
    finally:
        may_begin.release()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(_start_at(sys.argv[1], float(sys.argv[2])))
