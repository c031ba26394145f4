"""A process of the sandbox, seen from the event loop of the service: messages, and its end.

Nothing that it says is trusted: a message that is too long, or none of those that are expected,
is its end.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from tenuto.ports import Clock, Timer
from tenuto.sandbox.messages import (
    Broken,
    Confinement,
    FromChild,
    FromParent,
    Ready,
    encode,
    from_child,
)
from tenuto.tasks.child_process import ChildProcess, niceness
from tenuto.tasks.frames import Frames, FrameTooLong, frame

_CHUNK = 1 << 16
_SMALL = 100_000
"""The most bytes of a message of a process that runs no call."""
_NICER = 5
"""Than others: a third of their part of a processor."""
_LOOK_SECONDS = 0.05
"""How often a call is looked at."""
_LONG_SECONDS, _COSTLY_SECONDS = 0.05, 2.0
"""One that has computed for so long since its first look takes long. Where its process has to be
replaced then: for much longer than a start takes."""
_TICKS = os.sysconf("SC_CLK_TCK")


def start_process(confinement: Confinement) -> ChildProcess:
    """A new process; the calling thread must live as long as it."""
    program = (
        f"import sys; sys.path += {_folders()!r}; from tenuto.sandbox.process import main; main()"
    )
    # Not earlier: the process that made the sandbox may have forked since.
    confinement = msgspec.structs.replace(confinement, parent=os.getpid())
    wanted = msgspec.json.encode(confinement).decode()
    return ChildProcess("-I", "-S", "-c", program, wanted, environment={}, goes_after=True)


def _folders() -> list[str]:
    """Where a process finds what it imports: it has no environment that names more."""
    found = []
    for name in ("tenuto", "quickjs", "msgspec"):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"the sandbox needs the package {name!r}", name=name)
        folder = str(Path(spec.origin).parents[1])
        if folder not in found:
            found.append(folder)
    return found


class ConfinedProcess:
    """A process that has been started. Everything is called in the event loop."""

    def __init__(self, child: ChildProcess, starter: Executor) -> None:
        self._child = child
        self._starter = starter
        self._loop = asyncio.get_running_loop()
        self._frames = Frames(_SMALL)
        self._unsent: deque[memoryview] = deque()
        self._writes = False
        self.hear: Callable[[FromChild], None] | None = None
        """Called with each message of a call."""
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """How it ended, once it is gone."""
        self.is_ending = False
        """It was killed, or has closed its pipe."""
        self.ready: asyncio.Future[Ready] = self._loop.create_future()
        self.tenant: str | None = None
        self.calls = 0
        self.swept = -1
        """Its calls when idle ones were last looked for."""
        self.since = 0.0
        """Since when it is idle, or serves its tenant."""
        self._next_look: Timer | None = None
        self._computed: float | None = None
        """Seconds of processor time when its call was first looked at."""
        self._long = _LONG_SECONDS
        self._goes_last = False
        os.set_blocking(child.reading, False)
        self._loop.add_reader(child.reading, self._read)

    @property
    def pid(self) -> int:
        return self._child.pid

    def send(self, message: FromParent) -> None:
        if self.is_ending:
            return
        self._unsent += map(memoryview, frame(encode(message)))
        if not self._writes:
            self._write()

    def expect(self, most: int, hear: Callable[[FromChild], None] | None) -> None:
        """Messages of at most so many bytes."""
        self._frames.most = max(most, _SMALL)
        self.hear = hear

    def watch(self, clock: Clock, *, may_rise: bool) -> None:
        """It has a call: once that has computed for long, those of other processes go before it.

        `may_rise`: whether it can have its priority again.
        """
        self._computed = None
        self._long = _LONG_SECONDS if may_rise else _COSTLY_SECONDS
        self._look_again(clock)

    def _look_again(self, clock: Clock) -> None:
        self._next_look = clock.call_later(_LOOK_SECONDS, partial(self._look, clock))

    def _look(self, clock: Clock) -> None:
        if self.is_ending:
            return
        computed = _processor_seconds(self.pid)
        if self._computed is None:
            self._computed = computed
        if computed - self._computed >= self._long:
            self._goes_last = self._child.set_niceness(niceness(_NICER))
        else:
            self._look_again(clock)

    def go_as_before(self) -> bool:
        """Its call is over; whether it has the priority of the others again.

        To raise it takes a privilege that the service may not have.
        """
        if self._next_look is not None:
            self._next_look.cancel()
        if self._goes_last and not self.is_ending:
            self._goes_last = not self._child.set_niceness(niceness())
        return not self._goes_last

    def kill(self) -> None:
        """Kill it; `ended` follows."""
        if not self.is_ending:
            self._child.send_kill()
            self._await_end()

    def _read(self) -> None:
        try:
            data = os.read(self._child.reading, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._await_end()
            return
        self._frames.feed(data)
        try:
            while not self.is_ending and (message := self._frames.next()) is not None:
                self._take(from_child(message))
        except (FrameTooLong, msgspec.MsgspecError, RecursionError):
            self.kill()

    def _take(self, message: FromChild) -> None:
        match message:
            case Ready() if not self.ready.done():
                self.ready.set_result(message)
            case Broken() | Ready():
                self.kill()
            case _ if self.hear is not None:
                self.hear(message)
            case _:
                # It has nothing to say between two calls.
                self.kill()

    def _write(self) -> None:
        while self._unsent:
            try:
                sent = os.write(self._child.writing, self._unsent[0])
            except BlockingIOError:
                if not self._writes:
                    self._writes = True
                    self._loop.add_writer(self._child.writing, self._write)
                return
            except OSError:
                # Its end is read from the other pipe.
                self._unsent.clear()
                break
            rest = self._unsent.popleft()[sent:]
            if rest:
                self._unsent.appendleft(rest)
        if self._writes:
            self._writes = False
            self._loop.remove_writer(self._child.writing)

    def _await_end(self) -> None:
        """Wait for its end in the thread that has started it, else in another."""
        if self.is_ending:
            return
        self.is_ending = True
        self._loop.remove_reader(self._child.reading)
        if self._writes:
            self._writes = False
            self._loop.remove_writer(self._child.writing)
        self._unsent.clear()
        # The pool is closed where this process was being started when its start was cancelled.
        for executor in (self._starter, None):
            try:
                waited = self._loop.run_in_executor(executor, self._wait_for_end)
            except RuntimeError:
                continue
            waited.add_done_callback(self._gone)
            return
        # The interpreter stops, and starts no thread any more that could wait for its end.
        self._child.send_kill()
        if not self.ended.done():
            self.ended.set_result("the interpreter stops")

    def _wait_for_end(self) -> str:
        reason = str(self._child.death())
        self._child.kill()
        return reason

    def _gone(self, waited: asyncio.Future[str]) -> None:
        if self.ended.done():
            return
        reason = "it is unknown how"
        if not waited.cancelled() and waited.exception() is None:
            reason = waited.result()
        self.ended.set_result(reason)


def _processor_seconds(pid: int) -> float:
    """How long it has computed, where the system tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return 0.0
    spent = stat.rpartition(")")[2].split()
    return (int(spent[11]) + int(spent[12])) / _TICKS
