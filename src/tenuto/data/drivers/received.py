"""Bounds what a server may send for one statement: a single value can be larger than all memory."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from tenuto.data.source import Bounds

_BESIDE: Final = 1_000_000
"""Bytes beside the rows: names of columns, notices, answers to statements of our own."""


def most_received(bounds: Bounds) -> int:
    """The most bytes of an answer: what may be shown, as a protocol sends it."""
    return 4 * bounds.bytes + _BESIDE


class Received(asyncio.Protocol):
    """A protocol before that of a driver: it counts bytes, and ends the connection beyond a bound.

    It is set on the transport of an open connection, under whatever TLS there is.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._inner = cast("asyncio.Protocol", transport.get_protocol())
        self._left = 0
        self.is_exceeded = False
        self.reset(_BESIDE)
        transport.set_protocol(self)

    def reset(self, most: int) -> None:
        """From now on so many bytes may come."""
        self._left = most

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self.is_exceeded = True
            self._transport.abort()
        else:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the driver asks of its own
        return getattr(self._inner, name)
