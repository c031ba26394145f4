"""Databases with a little stock in them, and queries on them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import apsw

from tenuto.data.databases import Databases, NoSecrets
from tenuto.data.failures import QueryFailed, no_secret
from tenuto.data.named_parameters import split
from tenuto.data.network import Network, Resolver
from tenuto.data.protocol import SecretValues
from tenuto.data.source import Bounds, DataSource, Rows
from tenuto.egress import Allowances
from tenuto.model.failure import UNKNOWN_SECRET, Failure
from tenuto.model.json import JSON, Object
from tenuto.ports import Clock, SystemClock
from tests.kit.postgres_database import connected, database_url, fresh_database

STOCK = [("A-1", 5, 1), ("B-2", 0, 0), ("C-3", 7, 2)]
BOUNDS = Bounds(rows=100, bytes=100_000)
PASSWORD = "p@ss/word-canary"


class Secrets:
    """Secrets by name."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked: list[tuple[str, str, str]] = []

    async def value(self, tenant: str, name: str, *, destination: str) -> str:
        self.asked.append((tenant, name, destination))
        if name not in self.values:
            raise no_secret(UNKNOWN_SECRET, f"there is no secret {name}")
        return self.values[name]


class Asking(NamedTuple):
    """A data source, and the connections to it."""

    databases: Databases
    source: DataSource

    async def rows(
        self, sql: str, args: Object | None = None, *, bounds: Bounds = BOUNDS, seconds: float = 30
    ) -> Rows:
        """The rows of a statement; QueryFailed."""
        pool = await self.databases.pool("default", self.source, (1, 1))
        statement = split(sql, self.source.kind)
        async with pool.lease(30) as lease:
            return await lease.connection.run(statement, args or {}, bounds=bounds, seconds=seconds)

    async def value(self, sql: str, args: Object | None = None) -> JSON:
        """The one value of a statement."""
        [row] = await self.rows(sql, args)
        [value] = row.values()
        return value

    async def failure(self, sql: str, args: Object | None = None, **how: object) -> Failure:
        """Why a statement fails."""
        try:
            rows = await self.rows(sql, args, **how)  # type: ignore[arg-type]
        except QueryFailed as error:
            return error.failure
        raise AssertionError(f"{sql} has given {rows}")


@asynccontextmanager
async def asking(
    source: DataSource,
    *,
    folder: Path | None = None,
    secrets: SecretValues | None = None,
    clock: Clock | None = None,
    may_be_private: bool = True,
    resolver: Resolver | None = None,
) -> AsyncIterator[Asking]:
    """Connections to a data source, as long as the block lasts."""
    private = {"default": ("127.0.0.0/8",)} if may_be_private else {}
    databases = Databases(
        clock or SystemClock(),
        secrets or NoSecrets(),
        Network(Allowances(private), resolver),
        folder=None if folder is None else str(folder),
    )
    try:
        yield Asking(databases, source)
    finally:
        await databases.close()


def sqlite_stock(folder: Path, tenant: str = "default", name: str = "stock.db") -> Path:
    """A file with some stock."""
    path = folder / tenant / name
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = apsw.Connection(str(path))
    opened.execute("CREATE TABLE stock (sku TEXT PRIMARY KEY, held INTEGER, reserved INTEGER)")
    opened.executemany("INSERT INTO stock VALUES (?, ?, ?)", STOCK)
    opened.close()
    return path


def sqlite_rows(path: Path) -> list[tuple[object, ...]]:
    """What is in the file, and its schema."""
    opened = apsw.Connection(str(path))
    rows = list(opened.execute("SELECT * FROM stock ORDER BY sku"))
    schema = list(opened.execute("SELECT name, sql FROM sqlite_schema ORDER BY name"))
    opened.close()
    return [*rows, *schema]


class Postgres(NamedTuple):
    """A database on the server of the test run, and a role that may write."""

    url: str
    user: str

    def source(self, **changes: object) -> DataSource:
        """A data source of that role."""
        parts = urlsplit(self.url)
        given: dict[str, object] = {
            "id": "stock",
            "kind": "postgresql",
            "host": parts.hostname,
            "port": parts.port,
            "database": parts.path[1:],
            "user": self.user,
            "tls": "off",
        }
        return DataSource(**(given | changes))  # type: ignore[arg-type]

    async def everything(self) -> list[object]:
        """What statements of the corpus could have changed."""
        async with connected(self.url) as connection:
            rows = await connection.fetch("SELECT * FROM public.stock ORDER BY sku")
            tables = await connection.fetch(
                "SELECT c.oid::regclass::text, c.relkind::text, c.relacl::text, a.attname::text "
                "FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid "
                "WHERE relnamespace = 'public'::regnamespace ORDER BY 1, 4"
            )
            numbers = await connection.fetch("SELECT last_value, is_called FROM numbers")
            large = await connection.fetch("SELECT count(*) FROM pg_largeobject_metadata")
            locks = await connection.fetch(
                "SELECT count(*) FROM pg_locks AS lock JOIN pg_database AS d ON d.oid = database "
                "WHERE locktype = 'advisory' AND datname = current_database()"
            )
            prepared = await connection.fetch("SELECT count(*) FROM pg_prepared_xacts")
            found = (rows, tables, numbers, large, locks, prepared)
            return [[tuple(row) for row in each] for each in found]


_FURNISH = """
DROP SCHEMA IF EXISTS public CASCADE;
CREATE SCHEMA public;
GRANT ALL ON SCHEMA public TO {user};
CREATE TABLE stock (sku text PRIMARY KEY, held int, reserved int);
INSERT INTO stock VALUES ('A-1', 5, 1), ('B-2', 0, 0), ('C-3', 7, 2);
CREATE SEQUENCE numbers;
CREATE FUNCTION writes(text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN INSERT INTO stock VALUES ($1, 1, 1); RETURN 1; END $$;
CREATE FUNCTION writes_as_owner(text) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN INSERT INTO stock VALUES ($1, 1, 1); RETURN 1; END $$;
CREATE FUNCTION writes_after_set(text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('transaction_read_only', 'off', false);
    INSERT INTO stock VALUES ($1, 1, 1); RETURN 1;
END $$;
CREATE PROCEDURE write_it(text) LANGUAGE plpgsql AS $$
BEGIN INSERT INTO stock VALUES ($1, 1, 1); END $$;
CREATE PROCEDURE commit_and_write(text) LANGUAGE plpgsql AS $$
BEGIN COMMIT; INSERT INTO stock VALUES ($1, 1, 1); COMMIT; END $$;
GRANT ALL ON ALL TABLES IN SCHEMA public TO {user};
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {user};
"""


async def postgres_stock() -> Postgres:
    """A database with some stock, which the role of its sources may change."""
    await fresh_database("tenuto_data")
    url = database_url("tenuto_data")
    user = f"tenuto_reader_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    async with connected(url) as connection:
        found = await connection.fetch("SELECT FROM pg_roles WHERE rolname = $1", user)
        if not found:
            await connection.execute(f"CREATE ROLE {user} LOGIN")
        await connection.execute(_FURNISH.format(user=user))
    return Postgres(url, user)
