"""All rows of a store that speak of somebody, whichever tables there are."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterator
from pathlib import Path

import apsw

from tenuto.store.memory import MemoryDisk
from tests.kit.memory_tables import memory_tables
from tests.kit.postgres_database import connected

Dump = Callable[[], Awaitable[list[str]]]
"""Every row of every table, as text that shows what names it has."""


def of_memory(disk: MemoryDisk) -> Dump:
    async def dump() -> list[str]:
        return list(_of_memory(disk))

    return dump


def _of_memory(disk: MemoryDisk) -> Iterator[str]:
    for name, table in memory_tables(disk).items():
        yield from (f"{name} {key!r} {row!r}" for key, row in table.items())


def of_sqlite(path: Path) -> Dump:
    async def dump() -> list[str]:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            wanted = "SELECT name FROM sqlite_schema WHERE type = 'table'"
            tables = [str(name) for (name,) in connection.execute(wanted)]
            return [
                f"{table} {row!r}"
                for table in tables
                for row in connection.execute(f"SELECT * FROM {table}")
            ]
        finally:
            connection.close()

    return dump


def of_postgres(url: str) -> Dump:
    async def dump() -> list[str]:
        async with connected(url) as connection:
            wanted = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'tenuto'"
            tables = [str(name) for (name,) in await connection.fetch(wanted)]
            return [
                f"{table} {tuple(row)!r}"
                for table in tables
                for row in await connection.fetch(f"SELECT * FROM tenuto.{table}")
            ]

    return dump


async def digest_of(dump: Dump, names: Collection[str]) -> tuple[int, str]:
    """How many rows have one of these names in them, and a hash over all of them."""
    rows = sorted(row for row in await dump() if any(name in row for name in names))
    return len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest()
