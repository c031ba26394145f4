"""A child process, seen from its parent: start, talk, kill."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from tenuto.tasks.frames import Frames, frame

_CHUNK = 1 << 16
_LOOK_MILLISECONDS = 500
"""Seconds between two checks whether a silent child is alive.

Its end closes the pipe and is seen at once, unless a process that the task started holds it open.
"""
_END_SECONDS = 1.0
_NICER = 10

WhenWoken = Callable[["Child"], None]


def niceness(more: int = 0) -> int:
    """That of processes that go after the service, whose own may have been lowered."""
    return min(os.getpriority(os.PRIO_PROCESS, 0) + _NICER + more, 19)


class ChildDied(Exception):
    """The child has ended."""


class ChildProcess:
    """A running interpreter with a pipe in each direction; started and killed, not talked to."""

    def __init__(
        self, *command: str, environment: Mapping[str, str] | None = None, goes_after: bool = False
    ) -> None:
        """Start an interpreter with these arguments, and the descriptors of its two pipes.

        With `environment` it has that one, and nothing that it prints gets out. On Linux it may ask
        to be killed when the thread ends that has started it. `goes_after`: its priority is lower
        than that of the service, in whose session it stays: Linux divides the processors between
        sessions before it looks at priorities.
        """
        is_alone = environment is not None
        printed = subprocess.DEVNULL if is_alone else None
        childs_in, self.writing = os.pipe()
        self.reading, childs_out = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, *command, str(childs_in), str(childs_out)],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=(childs_in, childs_out),
                env=environment,
                cwd="/" if is_alone else None,
                # A session or a group of its own: Ctrl-C in the terminal is for the parent, and a
                # kill reaches whatever the task has started.
                start_new_session=not goes_after,
                process_group=0 if goes_after else None,
            )
        except OSError as error:
            self.close_pipes()
            raise ChildDied(f"it cannot be started: {error}") from error
        finally:
            os.close(childs_in)
            os.close(childs_out)
        os.set_blocking(self.writing, False)
        if goes_after:
            # From here: its start computes for longer than most of its calls.
            self.set_niceness(niceness())

    @property
    def pid(self) -> int:
        return self._process.pid

    def set_niceness(self, niceness: int) -> bool:
        """Lower or raise its priority, that of a child with one thread; whether it may be."""
        try:
            os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        except OSError:
            return False
        return True

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it and everything that it started."""
        self.send_kill()
        self._process.wait()
        self.close_pipes()

    def send_kill(self) -> None:
        """Kill it and everything that it started, without waiting for its end."""
        if self._process.poll() is None:
            # It may have ended, and been waited for, in the meantime.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Let it end by itself, which an idle child does when its pipe is closed."""
        self.close_pipes()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def death(self) -> ChildDied:
        """How a child ended whose pipe is closed."""
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return ChildDied("it closed its pipe")
        if status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = str(-status)
            return ChildDied(f"signal {name}")
        return ChildDied(f"exit code {status}")

    def close_pipes(self) -> None:
        for name in ("writing", "reading"):
            descriptor = getattr(self, name)
            if descriptor >= 0:
                os.close(descriptor)
                setattr(self, name, -1)


class Child(ChildProcess):
    """A running interpreter that waits for messages; used by one thread at a time."""

    def __init__(
        self, wake: int, program: str = "tenuto.tasks.child", *, goes_after: bool = False
    ) -> None:
        """Start a module; `wake` is a descriptor that is readable when the owner has a request.

        On Linux it is killed when the thread ends that has started it.
        """
        self._wake = wake
        self.is_sending = False
        """Whether a frame is half written, so that no other may follow."""
        self._frames = Frames()
        # Without this folder before the libraries (-P): a file in it may have a library's name.
        super().__init__("-P", "-m", program, goes_after=goes_after)

    def send(self, when_woken: WhenWoken, *parts: bytes) -> None:
        """Send one message, which may be in parts."""
        self.is_sending = True
        for part in frame(*parts):
            self._send(memoryview(part), when_woken)
        self.is_sending = False

    def _send(self, data: memoryview, when_woken: WhenWoken) -> None:
        while data:
            try:
                data = data[os.write(self.writing, data) :]
            except BlockingIOError:
                self._await(self.writing, select.POLLOUT, when_woken)
            except BrokenPipeError:
                raise self.death() from None

    def receive(self, when_woken: WhenWoken) -> bytes:
        while (message := self._frames.next()) is None:
            # It may have been woken while it was sending, when it could not act on it.
            when_woken(self)
            self._await(self.reading, select.POLLIN, when_woken)
            data = os.read(self.reading, _CHUNK)
            if not data:
                raise self.death()
            self._frames.feed(data)
        return message

    def _await(self, descriptor: int, what: int, when_woken: WhenWoken) -> None:
        """Return when `descriptor` is ready; meanwhile serve the owner's requests."""
        poll = select.poll()
        poll.register(descriptor, what)
        poll.register(self._wake, select.POLLIN)
        while True:
            ready = dict(poll.poll(_LOOK_MILLISECONDS))
            if self._wake in ready:
                os.read(self._wake, _CHUNK)
                when_woken(self)
            if descriptor in ready:
                return
            if not ready and self._process.poll() is not None:
                raise self.death()
