"""Closes a connection whose client takes nothing of what was written for it."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from contextlib import suppress

from tenuto.ports import Clock, Timer

if sys.platform == "linux":
    import fcntl
    import struct
    import termios

log = logging.getLogger("tenuto.api")


class SlowTaker:
    """Watches one connection while bytes of it wait to be taken.

    Nothing is written to a connection that is watched, so that its bytes only become fewer: one
    with as many as at the last look has taken nothing since.
    """

    __slots__ = ("_clock", "_left", "_seconds", "_timer", "_transport")

    def __init__(self, transport: asyncio.Transport, clock: Clock, seconds: float) -> None:
        """`seconds`: for how long a client may take nothing."""
        self._transport = transport
        self._clock = clock
        self._seconds = seconds
        self._left = 0
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Watch the connection until it has taken enough, or is closed."""
        if self._timer is None:
            self._left = _untaken(self._transport)
            self._timer = self._clock.call_later(self._seconds, self._look)

    def end(self) -> None:
        """Enough was taken, or the connection is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def hurry(self, seconds: float) -> None:
        """Be no more patient than that from now on."""
        self._seconds = min(self._seconds, seconds)
        if self._timer is not None:
            self.end()
            self.begin()

    def close_untaken(self) -> None:
        """Close the connection if it has bytes that wait."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()

    def _look(self) -> None:
        self._timer = None
        if not self._transport.get_write_buffer_size():
            return
        if _untaken(self._transport) < self._left:
            self.begin()
            return
        log.info("connection: closed, since its client took nothing for %g s", self._seconds)
        self._transport.abort()


def _untaken(transport: asyncio.Transport) -> int:
    """Bytes that were written, and are not with the client yet.

    On Linux with those that the kernel holds: it takes megabytes at once, so that a client that
    takes them slowly would seem to take nothing.
    """
    return transport.get_write_buffer_size() + _in_kernel(transport.get_extra_info("socket"))


def _in_kernel(connection: socket.socket | None) -> int:
    if sys.platform == "linux" and connection is not None:
        with suppress(OSError):
            answer = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
            return int(struct.unpack("i", answer)[0])
    return 0
