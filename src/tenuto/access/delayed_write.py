"""Delayed writes: the one background loop of this package."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tenuto.ports import Clock, Timer


class DelayedWrite:
    """Runs `write` some seconds after it was asked for, once for all that came meanwhile."""

    def __init__(self, clock: Clock, write: Callable[[], Awaitable[float | None]]) -> None:
        """`write` returns the seconds after which to write again; None: once it is asked for."""
        self._clock = clock
        self._write = write
        self._timer: Timer | None = None
        self._writing: asyncio.Task[None] | None = None

    def ask(self, seconds: float) -> None:
        """Write in so many seconds, unless it is due already or under way."""
        is_writing = self._writing is not None and not self._writing.done()
        if self._timer is None and not is_writing:
            self._arm(seconds)

    async def close(self) -> None:
        """Write a last time, now."""
        self._disarm()
        if self._writing is not None:
            await self._writing
            self._disarm()
        await self._write()

    def _arm(self, seconds: float) -> None:
        self._timer = self._clock.call_later(seconds, self._begin)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        self._timer = None
        self._writing = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        pause = await self._write()
        if pause is not None:
            self._arm(pause)
