"""Where data survive a crash, and how to read all of it afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import apsw

from tenuto.store.columns import InstanceColumns
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.memory.disk import Owner, unpack
from tenuto.store.memory.outbox import StoredNotice, StoredPosting
from tenuto.store.outbox_columns import OutboxColumns, PostingColumns
from tenuto.store.parts.instances import UsedKey
from tenuto.store.protocol import Store
from tenuto.store.sqlite import Inline, SqliteStore
from tests.kit.checker.record import Fields
from tests.kit.simulator.tables import OWED


class Place(Protocol):
    """A disk on which one process after the other opens its store."""

    def store(self) -> Store: ...

    def reader(self) -> Store:
        """A store for whoever only looks, also while another one is open."""
        ...

    def owners(self) -> dict[str, str]:
        """Instance → the process that owns it."""
        ...

    def presume_dead(self, process_id: str) -> None:
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

    def owed(self) -> list[tuple[str, str]]:
        """Every row of the whole store that goes once it is done with: its table, and for whom."""
        ...

    def slots(self) -> SlotTables:
        """Who holds a slot and who waits for one, and what is counted."""
        ...


class SlotTables(NamedTuple):
    """The tables of slots, of all tenants."""

    slots: list[Fields]
    freed: list[Fields]
    counts: dict[str, int]


SLOTS = "SELECT instance_id, state, blocked_on, keys, own_key, own_limit FROM {}slots"
FREED = "SELECT keys, amount FROM {}slots_freed"
COUNTS = "SELECT limit_key, taken FROM {}slot_counts"


def slot_tables(read: Callable[[str], Iterable[Sequence[Any]]], schema: str = "") -> SlotTables:
    """What `read` finds by SQL."""
    slots = [
        {
            "instance": id,
            "state": state,
            "blockedOn": blocked_on,
            "keys": json.loads(keys),
            "ownKey": own_key,
            "ownLimit": own_limit,
        }
        for id, state, blocked_on, keys, own_key, own_limit in read(SLOTS.format(schema))
    ]
    freed: list[Fields] = [
        {"keys": json.loads(keys), "amount": amount} for keys, amount in read(FREED.format(schema))
    ]
    counts = {str(key): int(taken) for key, taken in read(COUNTS.format(schema))}
    return SlotTables(slots, freed, counts)


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

    def store(self) -> Store:
        return MemoryStore(self.disk, shared=self._shared)

    def reader(self) -> Store:
        return _MemoryReader(self.disk)

    def owners(self) -> dict[str, str]:
        return {id: unpack(Owner, row).process_id for id, row in self.disk.owners.items()}

    def presume_dead(self, process_id: str) -> None:
        self.disk.declare_dead(process_id)

    def mail(self) -> list[tuple[str, str]]:
        return list(self.disk.mail_numbers)

    def keys(self) -> dict[str, str]:
        return {unpack(UsedKey, row).instance_id: key for (_, key), row in self.disk.keys.items()}

    def definitions(self) -> dict[str, str]:
        rows = self.disk.instances.items()
        return {id: unpack(InstanceColumns, row).definition_id for id, row in rows}

    def owed(self) -> list[tuple[str, str]]:
        disk = self.disk
        instances = (unpack(InstanceColumns, row) for row in disk.instances.values())
        cold = disk.cold.reader.connection
        return [
            *(("jobs", key.instance_id) for key in disk.jobs),
            *(("mailbox", to) for _, to in disk.mail_numbers),
            *(("outbox", _stretch(row).instance_id) for row in disk.outbox.values()),
            *(("owners", id) for id in disk.owners),
            *(("slots", str(id)) for (id,) in cold.execute("SELECT instance_id FROM slots")),
            *(("timers", key[0]) for key in disk.timers),
            *(("webhook_deliveries", _posting(row).stream) for row in disk.postings.values()),
            *(("workflow_current_steps", each.id) for each in instances if _is_anywhere(each)),
            *(("workflow_event_subscriptions", key[0]) for key in disk.waits),
        ]

    def slots(self) -> SlotTables:
        return slot_tables(self.disk.cold.reader.connection.execute)


def _stretch(row: bytes) -> OutboxColumns:
    return unpack(StoredNotice, row).stretch


def _posting(row: bytes) -> PostingColumns:
    return unpack(StoredPosting, row).posting


def _is_anywhere(instance: InstanceColumns) -> bool:
    return instance.current_steps != "[]"


class InSqlite:
    """Keeps everything in a file, read and written where the caller is."""

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path = path
        self._shared = shared

    def store(self) -> Store:
        return SqliteStore(self.path, threads=Inline, shared=self._shared)

    def reader(self) -> Store:
        return SqliteStore.reader(self.path, threads=Inline)

    def owners(self) -> dict[str, str]:
        with self._connection() as connection:
            return dict(connection.execute("SELECT instance_id, process_id FROM owners"))

    def presume_dead(self, process_id: str) -> None:
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

    def owed(self) -> list[tuple[str, str]]:
        with self._connection() as connection:
            return [
                (table, str(row[0]))
                for table, column in OWED.items()
                for row in connection.execute(f"SELECT {column} FROM {table}")
            ]

    def slots(self) -> SlotTables:
        with self._connection() as connection:
            return slot_tables(connection.execute)

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            yield connection
        finally:
            connection.close()
