"""Queries on a server of MySQL or MariaDB of your own: what the tests show on other databases.

python -m tests.data.on_mysql mysql://ADMIN@HOST:PORT/DATABASE

The password of the user is in MYSQL_PASSWORD. It makes the database's table `stock` anew, and users
`tenuto_reader` and `tenuto_filer`. No test of `make test` needs such a server, and none has one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

import aiomysql  # type: ignore[import-untyped]

from tenuto.data.failures import QueryFailed
from tenuto.data.source import Bounds, DataSource
from tenuto.model.failure import (
    DATABASE_UNAVAILABLE,
    QUERY_FAILED,
    TIMEOUT,
    TOO_LARGE,
    TOO_MANY_ROWS,
)
from tests.data.corpus import INJECTIONS, MYSQL_WRITES, forms_of, was_left_behind
from tests.data.situations import PASSWORD, STOCK, Asking, Secrets, asking

_READER, _FILER = "tenuto_reader", "tenuto_filer"
_SECRETS = Secrets(PASSWORD=PASSWORD)


class Server(NamedTuple):
    """The server, as its administrator sees it."""

    url: str

    def source(self, user: str = _READER, **changes: object) -> DataSource:
        parts = urlsplit(self.url)
        given: dict[str, object] = {
            "id": "stock",
            "kind": "mysql",
            "host": parts.hostname,
            "port": parts.port,
            "database": parts.path[1:],
            "user": user,
            "tls": "off",
            "secret_ref": "PASSWORD",
        }
        return DataSource(**(given | changes))  # type: ignore[arg-type]

    async def execute(self, *statements: str) -> list[tuple[object, ...]]:
        """The rows of the last statement."""
        parts = urlsplit(self.url)
        connection = await aiomysql.connect(
            host=parts.hostname,
            port=parts.port,
            user=parts.username,
            password=os.environ.get("MYSQL_PASSWORD", ""),
            db=parts.path[1:],
            autocommit=True,
        )
        try:
            async with connection.cursor() as cursor:
                for each in statements:
                    await cursor.execute(each)
                return list(await cursor.fetchall() or ())
        finally:
            connection.close()

    async def everything(self) -> object:
        """What statements of the corpus could have changed."""
        rows = await self.execute("SELECT * FROM stock ORDER BY sku")
        tables = await self.execute("SHOW TABLES")
        columns = await self.execute("SHOW COLUMNS FROM stock")
        grants = await self.execute(f"SHOW GRANTS FOR {_READER}")
        users = await self.execute("SELECT count(*) FROM mysql.user")
        return (rows, tables, columns, grants, users)


async def furnished(url: str) -> Server:
    """The server with some stock."""
    server = Server(url)
    database = urlsplit(url).path[1:]
    values = ", ".join(str(each) for each in STOCK)
    await server.execute(
        "DROP TABLE IF EXISTS stock",
        "CREATE TABLE stock (sku varchar(40) PRIMARY KEY, held int, reserved int) "
        "CHARACTER SET utf8mb4",
        f"INSERT INTO stock VALUES {values}",
        "DROP PROCEDURE IF EXISTS write_it",
        "CREATE PROCEDURE write_it(s text) BEGIN INSERT INTO stock VALUES (s, 1, 1); END",
        "DROP PROCEDURE IF EXISTS commit_and_write",
        "CREATE PROCEDURE commit_and_write(s text) BEGIN COMMIT; "
        "START TRANSACTION READ WRITE; INSERT INTO stock VALUES (s, 1, 1); COMMIT; END",
        "DROP FUNCTION IF EXISTS writes",
        "CREATE FUNCTION writes(s text) RETURNS int MODIFIES SQL DATA "
        "BEGIN INSERT INTO stock VALUES (s, 1, 1); RETURN 1; END",
        *(f"DROP USER IF EXISTS {user}" for user in (_READER, _FILER)),
        *(f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}'" for user in (_READER, _FILER)),
        f"GRANT ALL ON {database}.* TO {_READER}",
        f"GRANT SELECT ON {database}.* TO {_FILER}",
        f"GRANT FILE ON *.* TO {_FILER}",
    )
    return server


async def rows_are_objects_by_bound_arguments(reading: Asking, _: Server) -> None:
    sql = "SELECT sku, held - reserved AS free FROM stock WHERE held > :least ORDER BY sku"
    found = await reading.rows(sql, {"least": 1})
    assert found == [{"sku": "A-1", "free": 4}, {"sku": "C-3", "free": 5}], found
    like = "SELECT count(*) AS n FROM stock WHERE sku LIKE '%s' OR sku LIKE :like"
    assert await reading.value(like, {"like": "A%"}) == 1


async def no_argument_is_ever_read_as_sql(reading: Asking, server: Server) -> None:
    before = await server.everything()
    for text in INJECTIONS:
        assert await reading.rows("SELECT * FROM stock WHERE sku = :sku", {"sku": text}) == [], text
        assert await reading.value("SELECT :sku AS it", {"sku": text}) == text
    assert await server.everything() == before


async def no_statement_writes_through_a_read_only_source(reading: Asking, server: Server) -> None:
    before = await server.everything()
    for sql in MYSQL_WRITES:
        for text in forms_of(sql):
            with suppress(QueryFailed):
                await reading.rows(text)
            assert await server.everything() == before, text
    assert not was_left_behind()
    assert len(await reading.rows("SELECT * FROM stock")) == len(STOCK)


async def nothing_of_a_statement_is_left_in_the_session(reading: Asking, _: Server) -> None:
    await reading.rows("SELECT GET_LOCK('a', 0), @x := 7")
    assert await reading.value("SELECT @x AS x") is None
    assert await reading.value("SELECT IS_FREE_LOCK('a') AS free") == 1
    assert await reading.value("SELECT @@session.time_zone AS zone") == "+00:00"


async def a_source_that_may_write_writes(_: Asking, server: Server) -> None:
    source = server.source(read_only=False)
    async with asking(source, secrets=_SECRETS) as writing:
        assert await writing.rows("INSERT INTO stock VALUES (:sku, 1, 1)", {"sku": "D-4"}) == []
        failure = await writing.failure("INSERT INTO stock VALUES (:sku, 1, 1)", {"sku": "D-4"})
        assert (failure.code, failure.details) == (QUERY_FAILED, {"errorNumber": 1062})
        assert await writing.rows("DELETE FROM stock WHERE sku = 'D-4'") == []


async def types_are_those_of_json(reading: Asking, _: Server) -> None:
    found = await reading.rows(
        "SELECT CAST(9007199254740993 AS SIGNED) AS big, CAST(1.10 AS DECIMAL(5, 2)) AS price, "
        "18446744073709551615 AS most, CAST('x' AS BINARY) AS bytes, 'é😀' AS text, "
        "NULL AS none, CAST('2026-11-16 21:31:13.07' AS DATETIME(3)) AS wall, "
        "CAST('2026-11-16' AS DATE) AS day, CAST('-25:00:01' AS TIME) AS span, 1.5e0 AS `double`, "
        "FROM_UNIXTIME(0) AS epoch, :n AS n, :f AS f, :t AS t, :u AS u, :j AS j",
        {"n": -5, "f": 1.5, "t": True, "u": None, "j": {"a": [1]}},
    )
    assert found == [
        {
            "big": "9007199254740993",
            "price": "1.10",
            "most": "18446744073709551615",
            "bytes": "eA==",
            "text": "é😀",
            "none": None,
            "wall": "2026-11-16T21:31:13.070",
            "day": "2026-11-16",
            "span": "-PT25H0M1S",
            "double": 1.5,
            "epoch": "1970-01-01T00:00:00.000",
            "n": -5,
            "f": 1.5,
            "t": 1,
            "u": None,
            "j": '{"a":[1]}',
        }
    ], found


async def slow_statements_and_large_answers_are_stopped(reading: Asking, server: Server) -> None:
    failure = await reading.failure("SELECT SLEEP(60)", seconds=0.2)
    assert failure.code == TIMEOUT, failure
    short = server.source(statement_timeout=timedelta(milliseconds=200))
    async with asking(short, secrets=_SECRETS) as strict:
        table = "information_schema.COLUMNS"
        endless = f"SELECT count(*) AS n FROM {table} a, {table} b, {table} c"
        failure = await strict.failure(endless)
        assert failure.code == TIMEOUT, failure
    many = "SELECT a.COLUMN_NAME AS x FROM information_schema.COLUMNS a, information_schema.COLUMNS"
    failure = await reading.failure(many, bounds=Bounds(rows=1000, bytes=10_000_000))
    assert failure.code == TOO_MANY_ROWS, failure
    failure = await reading.failure(many, bounds=Bounds(rows=100_000, bytes=5_000))
    assert failure.code == TOO_LARGE, failure
    huge = "SELECT REPEAT('x', 10000000) AS x"
    failure = await reading.failure(huge, bounds=Bounds(rows=10, bytes=50_000))
    assert failure.code == TOO_LARGE, failure
    assert await reading.value("SELECT 1 AS one") == 1


async def failures_have_no_password_and_no_address(_: Asking, server: Server) -> None:
    for source in (
        server.source("tenuto_nobody"),
        server.source(port=1),
        server.source(_FILER),
        server.source(str(urlsplit(server.url).username), secret_ref=None),
        server.source(tls="require"),
    ):
        async with asking(source, secrets=_SECRETS) as wrong:
            failure = await wrong.failure("SELECT 1 AS one")
        assert failure.code == DATABASE_UNAVAILABLE, failure
        assert PASSWORD not in failure.message
        assert str(source.host) not in failure.message


CHECKS: tuple[Callable[[Asking, Server], Awaitable[None]], ...] = (
    rows_are_objects_by_bound_arguments,
    no_argument_is_ever_read_as_sql,
    no_statement_writes_through_a_read_only_source,
    nothing_of_a_statement_is_left_in_the_session,
    a_source_that_may_write_writes,
    types_are_those_of_json,
    slow_statements_and_large_answers_are_stopped,
    failures_have_no_password_and_no_address,
)


async def main(url: str) -> None:
    """Check everything."""
    server = await furnished(url)
    async with asking(server.source(), secrets=_SECRETS) as reading:
        driver = await reading.databases.driver("default", reading.source)
        connection = await driver.connect(5)
        print(await connection.version())
        await connection.close()
        for check in CHECKS:
            await check(reading, server)
            print("✓", check.__name__)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
