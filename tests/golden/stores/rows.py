"""The rows of a store as JSON, table by table: `python -m tests.golden.stores.rows URL`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from tests.kit.postgres_database import connected

HERE = Path(__file__).parent
_PREFIX = "hex:"


def packed(value: object) -> object:
    """A column as JSON: bytes are hexadecimal."""
    return _PREFIX + value.hex() if isinstance(value, bytes) else value


def unpacked(value: object) -> Any:  # noqa: ANN401 - a column's value
    if isinstance(value, str) and value.startswith(_PREFIX):
        return bytes.fromhex(value.removeprefix(_PREFIX))
    return value


def of_sqlite(path: str) -> dict[str, list[dict[str, object]]]:
    connection = apsw.Connection(path)
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite_%' ORDER BY 1"
    ).fetchall()
    found: dict[str, list[dict[str, object]]] = {}
    for (table,) in tables:
        columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()
        found[str(table)] = _as_dicts([str(name) for (name,) in columns], rows)
    return {table: rows for table, rows in found.items() if rows}


async def of_postgres(url: str) -> dict[str, list[dict[str, object]]]:
    async with connected(url) as connection:
        tables = await connection.fetch(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'tenuto' AND table_type = 'BASE TABLE' ORDER BY 1"
        )
        found = {}
        for (table,) in tables:
            rows = await connection.fetch(f'SELECT * FROM tenuto."{table}"')
            found[table] = [{name: packed(row[name]) for name in row.keys()} for row in rows]  # type: ignore[attr-defined]  # noqa: SIM118
    return {table: rows for table, rows in found.items() if rows}


def _as_dicts(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[dict[str, object]]:
    return [dict(zip(columns, map(packed, row), strict=True)) for row in rows]


def kept(name: str) -> Mapping[str, list[dict[str, object]]]:
    """The rows that a version before has left."""
    found: dict[str, list[dict[str, object]]] = json.loads((HERE / name).read_text("utf-8"))
    # Triggers write these too: they are replaced by the ones that were kept.
    for table in ("workflow_current_steps", "listening"):
        if table in found:
            found[table] = found.pop(table)
    return found


if __name__ == "__main__":
    url = sys.argv[1]
    path = url.removeprefix("sqlite:///")
    rows = of_sqlite(path) if path != url else asyncio.run(of_postgres(url))
    print(json.dumps(rows, indent=0, sort_keys=True))
