"""Databases on the test run's server: one for each test worker, emptied before each test."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from tenuto.store.postgres.driver import Connection, connect
from tenuto.store.postgres.migrations import MIGRATIONS, tables_of
from tests.kit.postgres_plugin import server_url

T = TypeVar("T")

TABLES = sorted({table for each in MIGRATIONS for table in tables_of(each)} - {"schema_info"})
_made: set[str] = set()


def database_url(name: str = "tenuto_test") -> str:
    """The URL of this worker's database of that name."""
    return f"{server_url()}/{name}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """A plain connection, as any program beside Tenuto may have one."""
    settings = {"application_name": "test"}
    connection = await connect(url, settings=settings, keeps_statements=True, patience=30)
    try:
        yield connection
    finally:
        await connection.close()


async def fresh_database(name: str = "tenuto_test", schema: str = "tenuto") -> str:
    """The URL of a database in which Tenuto has nothing; its tables may be there."""
    url = database_url(name)
    if url not in _made:
        await _make(url)
        _made.add(url)
    async with connected(url) as connection:
        await clear(connection, schema)
    return url


async def empty_database(name: str) -> str:
    """The URL of a database in which there is nothing at all."""
    url = database_url(name)
    await _make(url)
    _made.discard(url)
    return url


async def clear(connection: Connection, schema: str = "tenuto") -> None:
    """Deleting is faster than truncating as long as there is little."""
    found = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", schema)
    there = {name for (name,) in found}
    if there and not there.issuperset(TABLES):
        # An older schema, which the next test shall not find.
        await connection.execute(f"DROP SCHEMA {schema} CASCADE")
    elif there:
        deletes = [f"DELETE FROM {schema}.{table}" for table in TABLES]
        restarts = [
            f"SELECT setval('{schema}.{table}_number_seq', 1, false)"
            for table in ("events", "mailbox")
        ]
        # Passes over slots lock this row, which a migration has written.
        limits = f"INSERT INTO {schema}.concurrency VALUES ('', '{{}}', 0, 0)"
        await connection.execute("; ".join([*deletes, *restarts, limits]))


def in_another_thread(work: Callable[[], Awaitable[T]]) -> T:
    """For what must be done between two lines that cannot wait."""
    answers: list[T] = []

    async def job() -> None:
        answers.append(await work())

    thread = threading.Thread(target=lambda: asyncio.run(job()))
    thread.start()
    thread.join()
    return answers[0]


async def _make(url: str) -> None:
    server, _, name = url.rpartition("/")
    async with connected(f"{server}/postgres") as connection:
        await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
