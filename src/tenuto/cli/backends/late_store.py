"""A store that is opened beside an engine, with the first call of one of its verbs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from tenuto.cli.backends.encryption import encryption_settings
from tenuto.compose import MEMORY, is_postgres, open_reader, sqlite_path
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import SystemClock, SystemIds
from tenuto.store.protocol import PARTS, Parts, Store


class LateStore(Store):
    """A store to be read, and to leave mailbox messages in; it takes no engine's lock."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_shared = is_postgres(url)
        self._store: Store | None = None
        self._opening = asyncio.Lock()
        vars(self).update(_parts(self.opened))

    async def opened(self) -> Store:
        """The store, open; StoreUnavailable where it does not exist or has an old schema."""
        async with self._opening:
            if self._store is None:
                await self.open(SystemIds().short(), SystemClock().now())
            assert self._store is not None
            return self._store

    @property
    def files_at(self) -> Path | None:
        return None if self.is_shared or self.url == MEMORY else sqlite_path(self.url)

    @property
    def is_pooled(self) -> bool:
        return self._store is not None and self._store.is_pooled

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        refuse_memory(self.url)
        store = open_reader(self.url, encryption_settings())
        latest = await store.open(process_id, now, is_guest=is_guest)
        self._store = store
        self.around = store.around
        return latest

    async def close(self, now: datetime, *, clean: bool) -> None:
        store, self._store = self._store, None
        if store is not None:
            await store.close(now, clean=clean)

    def abandon(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.abandon()

    def seen_by(self, tenant: str) -> Parts:
        async def seen() -> Parts:
            return (await self.opened()).seen_by(tenant)

        return Parts(**_parts(seen))


def refuse_memory(url: str) -> None:
    """StoreUnavailable for a store in memory: no other process can read it."""
    if url == MEMORY:
        raise StoreUnavailable(
            f"{MEMORY} belongs to one process and cannot be looked at from another",
            advice="Name a file or a database: --store sqlite:///FILE.",
        )


class _LatePart:
    """A part of a store; each of its verbs opens the store first."""

    def __init__(self, opened: Callable[[], Awaitable[Parts]], name: str) -> None:
        self._opened = opened
        self._name = name

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[object]]:
        async def call(*values: object, **named: object) -> object:
            part = getattr(await self._opened(), self._name)
            return await getattr(part, verb)(*values, **named)

        return call


def _parts(opened: Callable[[], Awaitable[Parts]]) -> dict[str, Any]:
    return {name: _LatePart(opened, name) for name in PARTS}
