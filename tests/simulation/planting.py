"""Puts rows into the tables of a store that nobody owes anything, as a bug would leave them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import apsw

from tenuto.store.columns import InstanceColumns
from tenuto.store.memory.disk import MemoryDisk, pack, unpack
from tenuto.store.memory.outbox import StoredNotice, StoredPosting
from tenuto.store.outbox_columns import OutboxColumns, PostingColumns
from tenuto.store.parts.jobs import JobKey
from tests.kit.postgres_database import connected, in_another_thread
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.tables import OWED

_OF_TYPE = {"INTEGER": "0", "BLOB": "x''", "bigint": "0", "bytea": "''", "boolean": "false"}
"""What stands in columns that are no text."""


def plant(place: Place, ids: Sequence[str]) -> None:
    """One more row for each of these instances, in every table."""
    rows = list(product(OWED, ids))
    match place:
        case InMemory():
            for table, id in rows:
                _in_memory(place.disk, table, id)
        case InSqlite():
            _in_sqlite(place, rows)
        case InPostgres():
            in_another_thread(lambda: _in_postgres(place, rows))
        case _:
            raise AssertionError(place)


def _in_memory(disk: MemoryDisk, table: str, id: str) -> None:
    match table:
        case "jobs":
            disk.jobs[JobKey(id, "a", "", 1)] = b""
        case "mailbox":
            disk.mail_numbers["letter", id] = disk.next_number()
        case "outbox":
            notice = StoredNotice(OutboxColumns("default", 0, id, 1, 1, "", 0))
            disk.outbox[disk.next_number()] = pack(notice)
        case "owners":
            disk.owners[id] = b""
        case "slots":
            _in_tables(disk.cold.session.connection, [(table, id)])
        case "timers":
            disk.timers[id, "deadline", "", ""] = b""
        case "webhook_deliveries":
            posting = PostingColumns("listener", f"{id}:1", id, b"", 0, 0)
            disk.postings[disk.next_number()] = pack(StoredPosting(posting, 0))
        case "workflow_current_steps":
            [known, *_] = disk.instances.values()
            row = unpack(InstanceColumns, disk.instances.get(id, known))
            disk.instances[id] = pack(row._replace(id=id, current_steps='["a"]'))
        case "workflow_event_subscriptions":
            disk.waits[id, "", ""] = {"0": b""}
        case _:
            raise AssertionError(table)


def _in_sqlite(place: InSqlite, rows: Sequence[tuple[str, str]]) -> None:
    connection = apsw.Connection(str(place.path))
    try:
        _in_tables(connection, rows)
    finally:
        connection.close()


def _in_tables(connection: apsw.Connection, rows: Sequence[tuple[str, str]]) -> None:
    for table, id in rows:
        known = connection.execute(f"PRAGMA table_info({table})")
        columns = [(str(name), str(kind)) for _, name, kind, is_needed, *_ in known if is_needed]
        connection.execute(_insert(table, columns, id))


async def _in_postgres(place: InPostgres, rows: Sequence[tuple[str, str]]) -> None:
    async with connected(place.url) as connection:
        for table, id in rows:
            columns = await connection.fetch(
                "SELECT column_name::text, data_type::text FROM information_schema.columns"
                " WHERE table_schema = 'tenuto' AND table_name = $1"
                " AND is_nullable = 'NO' AND is_identity = 'NO'",
                table,
            )
            insert = _insert(f"tenuto.{table}", [(each[0], each[1]) for each in columns], id)
            await connection.execute(insert)


def _insert(table: str, columns: Sequence[tuple[str, str]], id: str) -> str:
    named = ", ".join(column for column, _ in columns)
    values = ", ".join(_OF_TYPE.get(kind, f"'{id}'") for _, kind in columns)
    return f"INSERT INTO {table} ({named}) VALUES ({values})"
