"""Databases and stores for what only PostgreSQL has to show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.driver import Row
from tests.kit.postgres_database import (
    connected,
    database_url,
    empty_database,
    fresh_database,
)
from tests.store.situations import NOON

_bare: set[str] = set()


@pytest_asyncio.fixture
async def url() -> str:
    """A database in which Tenuto's tables are empty, or not there yet."""
    return await fresh_database()


@pytest_asyncio.fixture
async def empty_url() -> str:
    """A database in which there is nothing."""
    return await empty_database("tenuto_empty")


@pytest_asyncio.fixture
async def bare_url() -> str:
    """A database without schemas of ours, in which there was something before."""
    url = database_url("tenuto_bare")
    if url not in _bare:
        await empty_database("tenuto_bare")
        _bare.add(url)
    await run(url, "DROP SCHEMA IF EXISTS tenuto CASCADE; DROP SCHEMA IF EXISTS beside CASCADE")
    return url


async def waits_for_lock(url: str, how_many: int = 1) -> None:
    """Returns once stores wait for a lock that the test holds, or that one of them does."""
    async with connected(url) as connection:
        while how_many > len(
            await connection.fetch(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND application_name = 'tenuto' AND datname = current_database()"
            )
        ):
            await connection.fetch("SELECT pg_sleep(0.01)")


async def run(url: str, script: str) -> None:
    """Do something to a database, as any other program may."""
    async with connected(url) as connection:
        await connection.execute(script)


async def ask(url: str, query: str, *args: object) -> list[Row]:
    async with connected(url) as connection:
        return await connection.fetch(query, *args)


async def refusal(store: PostgresStore) -> StoreUnavailable:
    """Why a store is not opened."""
    with pytest.raises(StoreUnavailable) as refused:
        await store.open("p1", NOON)
    assert refused.value.advice
    return refused.value


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
