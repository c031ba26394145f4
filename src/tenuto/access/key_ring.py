"""A cache of keys, each for half a second.

A key that is revoked in one process is refused in every other within a second: half of it for the
cache, and the rest for a read of the store.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import NamedTuple

from tenuto.ports import Clock
from tenuto.store.parts.access import Access, KeyRow

FRESH = 0.5
"""Seconds for which a read counts, from its beginning."""
MOST_KEYS = 10_000


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
    """Reads each key at most every half second, however many requests need it."""

    def __init__(self, store: Access, clock: Clock, most: int = MOST_KEYS) -> None:
        """`most` keys, and as many unknown ids, are kept."""
        self._most = most
        self._store = store
        self._clock = clock
        self._known: dict[str, _Read] = {}
        self._unknown: dict[str, _Read] = {}
        """Kept apart, so that made-up ids displace no key."""
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
        # Other requests may wait for the same read.
        return await asyncio.shield(look.task)

    async def has_keys(self) -> bool:
        """Whether there has ever been a key, as of half a second ago or later."""
        now = self._clock.ticks()
        since = self._has_none_since
        # Keys are never deleted: once there are some, that needs no second read.
        if self._has_keys or (since is not None and now - since < FRESH):
            return self._has_keys
        look = self._look_for_any
        if look is None or now - look.since >= FRESH:
            look = _LookForAny(now, asyncio.ensure_future(self._store.has_keys()))
            self._look_for_any = look
            look.task.add_done_callback(partial(self._learn_of_any, look))
        # Without keys every request needs this: a thousand at once share one read.
        return await asyncio.shield(look.task)

    def forget(self, id: str) -> None:
        """The key was changed by this process: the next request reads it."""
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
            # A newer read is under way, or the key has changed since.
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
        while len(read) >= self._most:
            del read[next(iter(read))]
        read[id] = _Read(look.since, key)
