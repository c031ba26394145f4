"""HTTP/1.1 as uvicorn speaks it, with an end to what stands before a body."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 64_000
"""Bytes of a request's first line and headers; what is read at once may be a little more."""


class BoundedHttp(HttpToolsProtocol):
    """Gives a request up whose headers do not end: nobody knows yet who asks."""

    _head = 0
    """Bytes of a head that has not ended; -1 while a body is read."""

    def data_received(self, data: bytes) -> None:
        if self._head >= 0:
            if self._head > MOST_HEAD:
                self.send_400_response("The headers of the request are too large.")
                return
            self._head += len(data)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._head = -1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()
