"""Keys at hand: what was read of them, for half a second.

A key that is revoked in one process is refused in every other within a second: half of one for
what is remembered, and the rest for a look at the store.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NamedTuple

from tenuto.ports import Clock
from tenuto.store.parts.access import Access, KeyRow

FRESH = 0.5
"""Seconds for which what was read counts, from when it was asked for."""
_MOST = 10_000


class _Read(NamedTuple):
    since: float
    key: KeyRow | None


class _Look(NamedTuple):
    since: float
    task: asyncio.Task[KeyRow | None]


class _LookForAny(NamedTuple):
    since: float
    task: asyncio.Task[bool]


class KeyRing:
    """Asks the store for each key at most every half second, however many ask here."""

    def __init__(self, store: Access, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, _Read] = {}
        self._unknown: dict[str, _Read] = {}
        """Apart: whoever makes ids up drives no key out."""
        self._looks: dict[str, _Look] = {}
        self._has_keys = False
        self._has_none_since: float | None = None
        self._look_for_any: _LookForAny | None = None

    async def find(self, id: str) -> KeyRow | None:
        """A key, as it was half a second ago or later; StoreUnavailable."""
        now = self._clock.ticks()
        read = self._known.get(id) or self._unknown.get(id)
        if read is not None and now - read.since < FRESH:
            return read.key
        look = self._looks.get(id)
        if look is None or now - look.since >= FRESH:
            look = _Look(now, asyncio.ensure_future(self._store.key(id)))
            self._looks[id] = look
            look.task.add_done_callback(partial(self._learn, id, look))
        # Others may wait for the same look.
        return await asyncio.shield(look.task)

    async def has_keys(self) -> bool:
        """Whether there has ever been a key, as of half a second ago or later."""
        now = self._clock.ticks()
        since = self._has_none_since
        # None is ever forgotten: that there are some needs no second look.
        if self._has_keys or (since is not None and now - since < FRESH):
            return self._has_keys
        look = self._look_for_any
        if look is None or now - look.since >= FRESH:
            look = _LookForAny(now, asyncio.ensure_future(self._store.has_keys()))
            self._look_for_any = look
            look.task.add_done_callback(partial(self._learn_of_any, look))
        # Where nobody needs a key everybody waits for this: a thousand requests at once are one.
        return await asyncio.shield(look.task)

    def forget(self, id: str) -> None:
        """It has changed here: the next who asks looks."""
        self._known.pop(id, None)
        self._unknown.pop(id, None)
        self._looks.pop(id, None)
        self._has_none_since = None
        self._look_for_any = None

    def _learn_of_any(self, look: _LookForAny, task: asyncio.Task[bool]) -> None:
        failed = task.cancelled() or task.exception() is not None
        self._has_keys = self._has_keys or (not failed and task.result())
        if self._look_for_any is look:
            self._look_for_any = None
            if not failed:
                self._has_none_since = look.since

    def _learn(self, id: str, look: _Look, task: asyncio.Task[KeyRow | None]) -> None:
        failed = task.cancelled() or task.exception() is not None
        if self._looks.get(id) is not look:
            # A newer look is under way, or what this one saw has changed.
            return
        del self._looks[id]
        if failed:
            return
        key = task.result()
        read, other = (self._known, self._unknown)
        if key is None:
            read, other = other, read
        other.pop(id, None)
        read.pop(id, None)
        while len(read) >= _MOST:
            del read[next(iter(read))]
        read[id] = _Read(look.since, key)
