"""How long a body may take: a while, and longer only for as much as has come."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from tenuto.api.problems import Refusal
from tenuto.ports import Clock, Timer

SLOWEST = 10_000
"""Bytes a second that a body has to come with, once the first while is over."""


class BodyDeadline:
    """Around the reading of a body: 408 once it has come too slowly."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        """So many seconds however little comes."""
        self._clock = clock
        self._seconds = seconds
        self._began = clock.ticks()
        self._bound = asyncio.timeout(None)
        self._timer: Timer | None = None
        self.size = 0
        """Bytes that have come."""

    async def __aenter__(self) -> Self:
        await self._bound.__aenter__()
        self._timer = self._clock.call_later(self._seconds, self._look)
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
            # What may still come is not waited for: nothing else can be asked over this connection.
            raise Refusal(
                408, "TEN-2035", "the body did not come in time", headers={"connection": "close"}
            ) from None

    def _look(self) -> None:
        passed = self._clock.ticks() - self._began
        left = self._seconds + self.size / SLOWEST - passed
        if left > 0:
            self._timer = self._clock.call_later(left, self._look)
        else:
            self._timer = None
            self._bound.reschedule(asyncio.get_running_loop().time())
