"""Writes down what the migrations make, as the server tells it.

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

PAGE = Path(tenuto.store.postgres.__file__).parent / "migrations" / "made.txt"

_KINDS = ("table", "column", "index", "key", "function", "trigger")


async def made(url: str) -> str:
    """The text for a database in which nothing is yet."""
    first: dict[Item, int] = {}
    last: dict[Item, int] = {}
    async with connected(url) as connection:
        await connection.execute("CREATE SCHEMA tenuto")
        for migration in MIGRATIONS:
            await connection.execute(migration.sql)
            for row in await connection.fetch(statement("catalogue", "tenuto").sql, "tenuto"):
                item = Item(*row)
                if item.kind in _KINDS:
                    first.setdefault(item, migration.version)
                    last[item] = migration.version
    newest = MIGRATIONS[-1].version
    lines = [
        line_of(first[item], None if last[item] == newest else last[item], item)
        for item in sorted(first, key=lambda item: (first[item], _KINDS.index(item.kind), item))
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    with running_server() as server:
        PAGE.write_text(asyncio.run(made(server.url())), "utf-8")


if __name__ == "__main__":
    main()
