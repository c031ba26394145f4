"""One durable server for everything that is measured, and a new database for each measurement."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count

from tenuto.store.postgres.driver import connect
from tests.kit.postgres_server import PostgresServer

_numbers = count(1)


@cache
def server() -> PostgresServer:
    """Started by the first measurement that needs it, with fsync on; ended with the program."""
    started = PostgresServer(durable=True)
    atexit.register(started.remove)
    started.start()
    return started


@contextmanager
def new_database() -> Iterator[str]:
    """The URL of a database in which there is nothing; what came before it is on disk."""
    name = f"bench_{next(_numbers)}"
    asyncio.run(_administer(f"CREATE DATABASE {name} TEMPLATE template0", "CHECKPOINT"))
    try:
        yield server().url(name)
    finally:
        asyncio.run(_administer(f"DROP DATABASE {name} WITH (FORCE)"))


async def _administer(*commands: str) -> None:
    connection = await connect(server().url(), settings={}, keeps_statements=False, patience=30)
    for command in commands:
        await connection.execute(command)
    await connection.close()
