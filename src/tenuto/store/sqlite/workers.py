"""Where a connection's work is done: in a thread of its own, or at once where the caller is.

Work goes over whole (a turn, a list), never row by row: a hop between threads costs more than a
small transaction.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Worker(Protocol):
    """Does one job after the other."""

    async def run(self, job: Callable[[], T]) -> T:
        """The result of `job`, or its exception. Once begun, a job is never interrupted."""

    def stop(self) -> None:
        """Finish the jobs in the queue, and stop."""


class Inline:
    """Does jobs at once, in the caller's thread: for simulation, where order must not vary."""

    def __init__(self, name: str) -> None:
        """The name is that of the thread there would have been."""
        self.name = name

    async def run(self, job: Callable[[], T]) -> T:
        return job()

    def stop(self) -> None:
        """Nothing is under way."""


SWITCH_INTERVAL = 0.0001
"""Seconds after which a busy thread lets another have Python's lock, while there are workers."""


class _QuickSwitching:
    """Python's switch interval, lowered while there are workers, for the whole process.

    A worker needs the lock back after each statement. Beside a busy event loop it would wait for
    the default five milliseconds every time, and a commit of four statements take twenty. It waits
    for much longer beside a loop that reads and writes sockets: that gives the lock away for some
    microseconds at each call, which is too short for a worker to wake up and take it, but begins
    its interval anew. A program that sets an interval of its own meanwhile keeps it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._before = self._ours = 0.0

    def begin(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, SWITCH_INTERVAL))
                self._ours = sys.getswitchinterval()

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and sys.getswitchinterval() == self._ours:
                sys.setswitchinterval(self._before)


_quick_switching = _QuickSwitching()


class DedicatedThread:
    """Does jobs in one thread, which starts with the first of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None

    async def run(self, job: Callable[[], T]) -> T:
        if self._thread is None:
            thread = Thread(target=self._work, name=self._name, daemon=True)
            thread.start()
            self._thread = thread
            _quick_switching.begin()
        handed_over = _Job(job, asyncio.get_running_loop())
        self._jobs.put(handed_over)
        result: T = await handed_over.done
        return result

    def stop(self) -> None:
        if self._thread is not None:
            thread, self._thread = self._thread, None
            self._jobs.put(None)
            _quick_switching.end()
            thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.do()
            # Or the last job's values would live until the next one comes.
            del job


class _Job:
    """A call on its way into the thread, and its outcome on the way back."""

    __slots__ = ("_call", "_loop", "done")

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop
        self.done: asyncio.Future[Any] = loop.create_future()

    def do(self) -> None:
        try:
            result = self._call()
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            self._answer(self._fail, error)
        else:
            self._answer(self._succeed, result)

    def _answer(self, deliver: Callable[[Any], None], value: object) -> None:
        try:
            self._loop.call_soon_threadsafe(deliver, value)
        except RuntimeError:
            # The loop was closed meanwhile: there is no caller left to notify.
            return

    def _succeed(self, result: object) -> None:
        if not self.done.done():
            self.done.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)
