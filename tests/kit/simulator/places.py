"""Where data survive a crash, and how to read all of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

import apsw

from tenuto.store.columns import InstanceColumns
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.memory.disk import Owner, UsedKey, unpack
from tenuto.store.sqlite import Inline, SqliteStore
from tenuto.testing.faulty_store import Handle


class Place(Protocol):
    """A disk on which one process after the other opens its store."""

    def store(self) -> Handle: ...

    def reader(self) -> Handle:
        """A store for whoever only looks, also while another one is open."""
        ...

    def owners(self) -> dict[str, str]:
        """Instance → the process that owns it."""
        ...

    def bury(self, process_id: str) -> None:
        """Have the others take a process for dead."""
        ...

    def mail(self) -> list[tuple[str, str]]:
        """Letters, and whom they are for."""
        ...

    def keys(self) -> dict[str, str]:
        """Instance → the idempotency key that it was started with."""
        ...

    def definitions(self) -> dict[str, str]:
        """Instance → the id of its definition."""
        ...


class _MemoryReader(MemoryStore):
    """Reads without opening: nothing of it is written, and no lock is taken."""

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        """Nothing is needed."""
        return now


class InMemory:
    """Keeps everything as encoded rows in this process."""

    def __init__(self, *, shared: bool = False) -> None:
        self.disk = MemoryDisk()
        self._shared = shared

    def store(self) -> Handle:
        return MemoryStore(self.disk, shared=self._shared)

    def reader(self) -> Handle:
        return _MemoryReader(self.disk)

    def owners(self) -> dict[str, str]:
        return {id: unpack(Owner, row).process_id for id, row in self.disk.owners.items()}

    def bury(self, process_id: str) -> None:
        self.disk.bury(process_id)

    def mail(self) -> list[tuple[str, str]]:
        return list(self.disk.mail_numbers)

    def keys(self) -> dict[str, str]:
        return {unpack(UsedKey, row).instance_id: key for (_, key), row in self.disk.keys.items()}

    def definitions(self) -> dict[str, str]:
        rows = self.disk.instances.items()
        return {id: unpack(InstanceColumns, row).definition_id for id, row in rows}


class InSqlite:
    """Keeps everything in a file, read and written where the caller is."""

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path = path
        self._shared = shared

    def store(self) -> Handle:
        return SqliteStore(self.path, threads=Inline, shared=self._shared)

    def reader(self) -> Handle:
        return SqliteStore.reader(self.path, threads=Inline)

    def owners(self) -> dict[str, str]:
        with self._connection() as connection:
            return dict(connection.execute("SELECT instance_id, process_id FROM owners"))

    def bury(self, process_id: str) -> None:
        raise NotImplementedError("one process has the file, and nobody can take it for dead")

    def mail(self) -> list[tuple[str, str]]:
        with self._connection() as connection:
            return list(connection.execute("SELECT id, instance_id FROM mailbox"))

    def keys(self) -> dict[str, str]:
        with self._connection() as connection:
            return dict(connection.execute("SELECT instance_id, key FROM idempotency_keys"))

    def definitions(self) -> dict[str, str]:
        with self._connection() as connection:
            return dict(connection.execute("SELECT id, definition_id FROM workflow_instances"))

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            yield connection
        finally:
            connection.close()
