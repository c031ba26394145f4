"""Databases and stores for what only PostgreSQL has to show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest_asyncio

from tenuto.store.postgres import PostgresStore
from tests.kit.postgres_database import connected, empty_database, fresh_database
from tests.store.situations import NOON


@pytest_asyncio.fixture
async def url() -> str:
    """A database in which Tenuto's tables are empty, or not there yet."""
    return await fresh_database()


@pytest_asyncio.fixture
async def empty_url() -> str:
    """A database in which there is nothing."""
    return await empty_database("tenuto_empty")


async def waits_for_lock(url: str) -> None:
    """Returns once a store waits for a lock that the test holds."""
    async with connected(url) as connection:
        while not await connection.fetch(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND application_name = 'tenuto' AND datname = current_database()"
        ):
            await connection.fetch("SELECT pg_sleep(0.01)")


class Opener:
    """Opens stores, and leaves them when the test is over."""

    def __init__(self) -> None:
        self.stores: list[PostgresStore] = []

    async def __call__(
        self,
        url: str,
        process_id: str = "p1",
        make: Callable[..., PostgresStore] = PostgresStore,
        **options: Any,  # noqa: ANN401
    ) -> PostgresStore:
        store = make(url, **options)
        self.stores.append(store)
        await store.open(process_id, NOON)
        return store


@pytest_asyncio.fixture
async def opened() -> AsyncIterator[Opener]:
    opener = Opener()
    yield opener
    for store in opener.stores:
        store.abandon()
