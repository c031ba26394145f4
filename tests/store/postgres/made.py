"""Writes down in each migration what it makes, as the server tells it.

python -m tests.store.postgres.made
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import tenuto.store.postgres
from tenuto.store.postgres.catalogue import Item, line_of
from tenuto.store.postgres.migrations import MIGRATIONS
from tenuto.store.postgres.queries import statement
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import running_server

FOLDER = Path(tenuto.store.postgres.__file__).parent / "migrations"
HEAD = "-- Made, and removed, by it:"

_KINDS = ("table", "column", "index", "key", "function", "trigger")


async def made(url: str) -> dict[int, list[str]]:
    """The comments of each migration, found in a database in which nothing is yet."""
    comments: dict[int, list[str]] = {}
    before: set[Item] = set()
    async with connected(url) as connection:
        await connection.execute("CREATE SCHEMA tenuto")
        for migration in MIGRATIONS:
            await connection.execute(migration.sql)
            rows = await connection.fetch(statement("catalogue", "tenuto").sql, "tenuto")
            there = {item for row in rows if (item := Item(*row)).kind in _KINDS}
            changed = [("+", item) for item in _sorted(there - before)]
            changed += [("-", item) for item in _sorted(before - there)]
            comments[migration.version] = [line_of(sign, item) for sign, item in changed]
            before = there
    return comments


def written(version: int) -> list[str]:
    """The comments that a migration has."""
    _, _, listed = _file(version).read_text("utf-8").partition(HEAD)
    return listed.split("\n")[1:-1]


def main() -> None:
    with running_server() as server:
        found = asyncio.run(made(server.url()))
    for version, lines in found.items():
        file = _file(version)
        sql, _, _ = file.read_text("utf-8").partition(HEAD)
        file.write_text("\n".join([f"{sql.rstrip()}\n", HEAD, *lines]) + "\n", "utf-8")


def _sorted(items: set[Item]) -> list[Item]:
    return sorted(items, key=lambda item: (_KINDS.index(item.kind), item))


def _file(version: int) -> Path:
    [file] = FOLDER.glob(f"{version:04}_*.sql")
    return file


if __name__ == "__main__":
    main()
