"""The time of each key's last use: to the minute, written in batches, off the request's path."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from tenuto.access.delayed_write import DelayedWrite
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import Clock
from tenuto.store.parts.access import Access, KeyRow

log = logging.getLogger(__name__)

_COARSE = timedelta(minutes=1)
_PAUSE = 5.0
"""Seconds in which the uses of many keys are collected."""
_MOST = 10_000


class LastUses:
    """Notes uses, and writes them a little later."""

    def __init__(self, store: Access, clock: Clock) -> None:
        self._store = store
        self._noted: dict[str, datetime] = {}
        self._unwritten: dict[str, datetime] = {}
        self._writing = DelayedWrite(clock, self._write)

    def note(self, key: KeyRow, now: datetime) -> None:
        """A key was used; written where the last use is a minute old."""
        last = self._noted.get(key.id, key.last_used_at)
        if last is not None and now - last < _COARSE:
            return
        if len(self._noted) >= _MOST:
            self._noted.clear()
        self._noted[key.id] = self._unwritten[key.id] = now
        self._writing.ask(_PAUSE)

    async def close(self) -> None:
        """Write all uses that are noted."""
        await self._writing.close()

    async def _write(self) -> float | None:
        used, self._unwritten = self._unwritten, {}
        if used:
            try:
                await self._store.touch_keys(used)
            except StoreUnavailable as error:
                # Only the list of keys shows it, with an older time; no decision depends on it.
                log.warning("keys: last use of %d keys not recorded: %s", len(used), error.message)
        return _PAUSE if self._unwritten else None
