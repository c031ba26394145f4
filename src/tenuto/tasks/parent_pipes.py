"""A child process's end of the pipes to its parent, with which it ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import NoReturn, Self

from tenuto.tasks.frames import Frames, frame

_CHUNK = 1 << 16
_PR_SET_PDEATHSIG = 1


class ParentPipes:
    """Messages from and to the parent: in pipes that nothing printed gets into."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._sending = threading.Lock()
        self._unsent: deque[bytes] = deque()

    @classmethod
    def of_program(cls) -> Self:
        """The pipes that a program was started with; it is killed when its parent ends."""
        reading, writing = int(sys.argv[1]), int(sys.argv[2])
        for descriptor in (reading, writing):
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - takes no keywords
        _die_with_parent()
        return cls(reading, writing)

    def send(self, message: bytes) -> None:
        # A finalizer may print, which sends a line, while its thread sends a message or notes a
        # line: a message never waits, it is sent by the thread that sends already.
        self._unsent.append(b"".join(frame(message)))
        while self._unsent and self._sending.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._sending.release()

    def listen(self, hear: Callable[[bytes], None], end: Callable[[], NoReturn]) -> None:
        """Read messages in a thread, until the parent ends."""
        threading.Thread(
            target=self._listen, args=(hear, end), name="tenuto-parent", daemon=True
        ).start()

    def _listen(self, hear: Callable[[bytes], None], end: Callable[[], NoReturn]) -> NoReturn:
        frames = Frames()
        while True:
            try:
                data = os.read(self._reading, _CHUNK)
            except OSError:
                data = b""
            if not data:
                end()
            frames.feed(data)
            while (message := frames.next()) is not None:
                hear(message)

    def _write(self) -> None:
        while self._unsent:
            data = memoryview(self._unsent.popleft())
            while data:
                data = data[os.write(self._writing, data) :]


def _die_with_parent() -> None:
    """Let the kernel kill this process when the parent ends, even while it is busy."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
