"""Reads the body of a request, within a size and a time.

A body has a fixed time, and more only in proportion to the bytes that have come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from starlette.types import Receive

from tenuto.api.call import ClientGone
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import refuse_size
from tenuto.ports import Clock, Timer

SLOWEST = 10_000
"""Bytes a second that a body needs, once its fixed time is over."""
_PLAIN = "identity"
"""The name of no content encoding."""


class BodyDeadline:
    """A context around the reading of a body: 408 once it has come too slowly."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        """`seconds` is the fixed time, however little comes."""
        self._clock = clock
        self._seconds = seconds
        self._began = clock.ticks()
        self._bound = asyncio.timeout(None)
        self._timer: Timer | None = None
        self.size = 0
        """Bytes that have come."""

    async def __aenter__(self) -> Self:
        await self._bound.__aenter__()
        self._timer = self._clock.call_later(self._seconds, self._check)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self._bound.__aexit__(kind, error, trace)
        except TimeoutError:
            # The rest is not waited for, so that the connection cannot be used again.
            raise Refusal(
                408, "TEN-2035", "the body did not come in time", headers={"connection": "close"}
            ) from None

    def _check(self) -> None:
        passed = self._clock.ticks() - self._began
        left = self._seconds + self.size / SLOWEST - passed
        if left > 0:
            self._timer = self._clock.call_later(left, self._check)
        else:
            self._timer = None
            self._bound.reschedule(asyncio.get_running_loop().time())


async def read_body(
    receive: Receive, headers: Mapping[str, str], most: int, clock: Clock, seconds: float
) -> bytes:
    """The whole body; 413 for more than `most` bytes, 408 where it comes too slowly.

    415 for one that is compressed: its size would not be known before it is unpacked.
    """
    if "content-length" not in headers and "transfer-encoding" not in headers:
        return await _read(receive, headers, most)
    _refuse_encoded(headers.get("content-encoding", _PLAIN))
    async with BodyDeadline(clock, seconds) as deadline:
        return await _read(receive, headers, most, deadline)


def _refuse_encoded(encoding: str) -> None:
    named = [each.strip().lower() for each in encoding.split(",")]
    if any(each not in ("", _PLAIN) for each in named):
        raise Refusal(
            415,
            "TEN-2036",
            f"the body is encoded as {encoding[:80]!r}, and the service decodes none",
            headers={"accept-encoding": _PLAIN},
        )


async def _read(
    receive: Receive, headers: Mapping[str, str], most: int, deadline: BodyDeadline | None = None
) -> bytes:
    length = headers.get("content-length", "")
    # A longer number cannot be read as an integer; the body itself is counted anyway.
    if length.isdecimal() and len(length) <= 18:
        refuse_size(int(length), most)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        refuse_size(size, most)
        if deadline is not None:
            deadline.size = size
        parts.append(part)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)
