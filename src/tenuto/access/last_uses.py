"""When keys were last used: to the minute, written together, and never while anybody waits."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta

from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock, Timer
from tenuto.store.parts.access import Access, KeyRow

log = logging.getLogger(__name__)

_COARSE = timedelta(minutes=1)
_PAUSE = 5.0
"""Seconds in which uses of many keys come together."""
_MOST = 10_000


class LastUses:
    """Notes uses, and writes them down a little later."""

    def __init__(self, store: Access, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._noted: dict[str, datetime] = {}
        self._waiting: dict[str, datetime] = {}
        self._timer: Timer | None = None
        self._writing: asyncio.Task[None] | None = None

    def note(self, key: KeyRow, now: datetime) -> None:
        """A key was used; only what is new by a minute is written."""
        last = self._noted.get(key.id, key.last_used_at)
        if last is not None and now - last < _COARSE:
            return
        if len(self._noted) >= _MOST:
            self._noted.clear()
        self._noted[key.id] = self._waiting[key.id] = now
        if self._timer is None:
            self._timer = self._clock.call_later(_PAUSE, self._begin)

    async def close(self) -> None:
        """Write down what is noted."""
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await self._writing
        await self._write()

    def _begin(self) -> None:
        self._timer = None
        self._writing = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        used, self._waiting = self._waiting, {}
        if not used:
            return
        try:
            await self._store.touch_keys(used)
        except StoreUnavailable as error:
            # Somebody who looks sees an older moment; nothing else rests on it.
            log.warning("when %d keys were used is not recorded: %s", len(used), error.message)
