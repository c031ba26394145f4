"""A clock, and a store in memory that counts what is asked of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from tenuto.model.errors import StoreUnavailable
from tenuto.store.access_protocol import AuditEntry, AuditRow, KeyRow
from tenuto.store.memory import MemoryStore
from tests.access.hand_clock import BEGIN, HandClock


class CountingStore(MemoryStore):
    """Knows how often it was asked for keys, and how many lines came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.looks_for_any = 0
        self.batches: list[int] = []
        self.is_away = False

    async def key(self, id: str) -> KeyRow | None:
        self.looks += 1
        if self.is_away:
            raise StoreUnavailable("away")
        return await super().key(id)

    async def has_keys(self) -> bool:
        self.looks_for_any += 1
        if self.is_away:
            raise StoreUnavailable("away")
        return await super().has_keys()

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        self.batches.append(len(entries))
        if self.is_away:
            raise StoreUnavailable("away")
        return await super().append_audit(entries)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest_asyncio.fixture
async def store() -> AsyncIterator[CountingStore]:
    made = CountingStore()
    await made.open("p1", BEGIN)
    yield made
    await made.close(BEGIN, clean=True)
