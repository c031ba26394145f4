"""A town on every store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tenuto.store.memory import MemoryDisk, MemoryStore
from tests.kit.postgres_database import fresh_database
from tests.tenants.rows import of_memory, of_postgres, of_sqlite
from tests.tenants.town import Town, app_on

STORES = ("memory", "sqlite", "postgres")


@asynccontextmanager
async def opened(store: str, folder: Path) -> AsyncIterator[Town]:
    """A town with nothing in its store yet."""
    if store == "memory":
        disk = MemoryDisk()
        app, dump = app_on(MemoryStore(disk)), of_memory(disk)
    elif store == "sqlite":
        path = folder / "town.db"
        app, dump = app_on(f"sqlite:///{path}"), of_sqlite(path)
    else:
        url = await fresh_database()
        app, dump = app_on(url), of_postgres(url)
    async with app:
        yield Town(app, dump)


@pytest_asyncio.fixture(params=STORES)
async def town(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Town]:
    async with opened(request.param, tmp_path) as town:
        yield town
