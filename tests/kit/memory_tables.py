"""Every table of a disk in memory: those that it keeps itself, and those of its database."""

from __future__ import annotations

from typing import Any

from tenuto.store.memory import MemoryDisk


def memory_tables(disk: MemoryDisk) -> dict[str, dict[Any, Any]]:
    """Rows by their keys, by the name of the table."""
    own = {name: table for name, table in vars(disk).items() if isinstance(table, dict)}
    return cold_tables(disk) | own


def cold_tables(disk: MemoryDisk) -> dict[str, dict[tuple[Any, ...], tuple[Any, ...]]]:
    """The tables of the database that have rows, by their primary keys."""
    execute = disk.cold.session.connection.execute
    tables: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {}
    for (name,) in list(execute("SELECT name FROM sqlite_schema WHERE type = 'table'")):
        columns = list(execute(f"PRAGMA table_info({name})"))
        key = [place for place, *_, is_key in columns if is_key]
        rows = [tuple(row) for row in execute(f"SELECT * FROM {name}")]
        if rows:
            tables[name] = {tuple(row[place] for place in key): row for row in rows}
    return tables
