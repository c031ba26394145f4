"""A clock, and a store in memory that counts what is asked of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tenuto.model.errors import StoreUnavailable
from tenuto.testing.wrapped_store import Call
from tests.access.hand_clock import BEGIN, HandClock
from tests.kit.scripted_store import ScriptedStore


class CountingStore(ScriptedStore):
    """Knows how often it was asked for keys, and how many lines came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.looks_for_any = 0
        self.batches: list[int] = []
        self.is_away = False

    async def on_access_key(self, call: Call) -> object:
        self.looks += 1
        if self.is_away:
            raise StoreUnavailable("away")
        return await call()

    async def on_access_has_keys(self, call: Call) -> object:
        self.looks_for_any += 1
        if self.is_away:
            raise StoreUnavailable("away")
        return await call()

    async def on_audit_append(self, call: Call) -> object:
        entries = call.args[0]
        self.batches.append(len(entries))
        if self.is_away:
            raise StoreUnavailable("away")
        return await call()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest_asyncio.fixture
async def store() -> AsyncIterator[CountingStore]:
    made = CountingStore()
    await made.open("p1", BEGIN)
    yield made
    await made.close(BEGIN, clean=True)
