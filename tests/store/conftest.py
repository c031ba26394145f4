"""One list of behaviours, every store: a test that asks for `place` or `store` runs on each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import apsw
import pytest
import pytest_asyncio

from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.memory.disk import Owner, unpack
from tenuto.store.protocol import Store
from tenuto.store.sqlite import Inline, SqliteStore
from tests.kit.postgres_database import connected, fresh_database
from tests.store.postgres_place import TestedStore, let_time_pass
from tests.store.situations import ME, NOON


class Place:
    """Where data lie, and on which any number of stores may be opened one after the other."""

    def __init__(self, make: Callable[[bool], Store]) -> None:
        self._make = make
        self._handles: list[Store] = []

    def store(self, *, shared: bool = False) -> Store:
        handle = self._make(shared)
        self._handles.append(handle)
        return handle

    async def opened(self, process_id: str, *, shared: bool = False) -> Store:
        handle = self.store(shared=shared)
        await handle.open(process_id, NOON)
        return handle

    async def bury(self, process_id: str, *, by: Store) -> None:
        """Have a process presumed dead that is not; what it owned is `by`'s from then on."""
        raise NotImplementedError

    async def owned(self, instance_id: str) -> tuple[str, int]:
        """Who owns an instance, and how often it has changed hands since somebody took it."""
        raise NotImplementedError

    def leave(self) -> None:
        for handle in self._handles:
            handle.abandon()


class PostgresPlace(Place):
    """A database that any number of processes may have open."""

    def __init__(self, url: str) -> None:
        gone: list[str] = []
        super().__init__(lambda _shared: TestedStore(url, gone))
        self.url = url

    async def bury(self, process_id: str, *, by: Store) -> None:
        await let_time_pass(self.url, process_id)
        await by.members.claim_orphans(1000)

    async def owned(self, instance_id: str) -> tuple[str, int]:
        async with connected(self.url) as connection:
            [(process_id, epoch)] = await connection.fetch(
                "SELECT process_id, epoch FROM tenuto.owners WHERE instance_id = $1", instance_id
            )
        return process_id, epoch

    def leave(self) -> None:
        for handle in self._handles:
            assert isinstance(handle, TestedStore)
            handle.leave()


class MemoryPlace(Place):
    """A disk that several engines of one process may have open."""

    def __init__(self) -> None:
        disk = self.disk = MemoryDisk()
        super().__init__(lambda shared: MemoryStore(disk, shared=shared))

    async def bury(self, process_id: str, *, by: Store) -> None:
        self.disk.declare_dead(process_id)
        await by.members.claim_orphans(1000)

    async def owned(self, instance_id: str) -> tuple[str, int]:
        owner = unpack(Owner, self.disk.owners[instance_id])
        return owner.process_id, owner.epoch


class SqlitePlace(Place):
    """A file."""

    def __init__(self, path: Path, make: Callable[[bool], Store]) -> None:
        super().__init__(make)
        self._path = path

    async def owned(self, instance_id: str) -> tuple[str, int]:
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            [(process_id, epoch)] = connection.execute(
                "SELECT process_id, epoch FROM owners WHERE instance_id = ?", (instance_id,)
            )
        finally:
            connection.close()
        return str(process_id), int(str(epoch))


async def memory_place(_folder: Path) -> Place:
    return MemoryPlace()


async def inline_sqlite_place(folder: Path) -> Place:
    path = folder / "tenuto.db"
    return SqlitePlace(path, lambda shared: SqliteStore(path, threads=Inline, shared=shared))


async def threaded_sqlite_place(folder: Path) -> Place:
    path = folder / "tenuto.db"
    return SqlitePlace(path, lambda shared: SqliteStore(path, shared=shared))


async def postgres_place(_folder: Path) -> Place:
    return PostgresPlace(await fresh_database())


PLACES = {
    "memory": memory_place,
    "sqlite": inline_sqlite_place,
    "sqlite-threads": threaded_sqlite_place,
    "postgres": postgres_place,
}


# Without threads of its own it has the same code, which every simulation on SQLite runs.
EVERYWHERE = [
    pytest.param(name, marks=[pytest.mark.soak] if name == "sqlite" else []) for name in PLACES
]

UNSHARED = [name for name in PLACES if name != "postgres"]
"""Where there is one engine at a time."""


@pytest_asyncio.fixture(params=EVERYWHERE)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    made = await PLACES[request.param](tmp_path)
    yield made
    made.leave()


@pytest_asyncio.fixture(params=[name for name in PLACES if not name.startswith("sqlite")])
async def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """Where several processes may be at work at once; a file has one engine, whatever tests do."""
    made = await PLACES[request.param](tmp_path)
    yield made
    made.leave()


@pytest_asyncio.fixture
async def store(place: Place) -> Store:
    return await place.opened(ME)
