"""Queries on a PostgreSQL server: bound, bounded, and unable to write where they must not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from tenuto.data.failures import QueryFailed
from tenuto.data.source import Bounds
from tenuto.model.failure import (
    DATABASE_UNAVAILABLE,
    INVALID_INPUT,
    QUERY_FAILED,
    TIMEOUT,
    TOO_LARGE,
    TOO_MANY_ROWS,
    UNKNOWN_SECRET,
)
from tenuto.model.json import Object
from tenuto.store.postgres.driver import Connection
from tests.data.corpus import INJECTIONS, POSTGRESQL_WRITES, forms_of, was_left_behind
from tests.data.situations import (
    PASSWORD,
    STOCK,
    Asking,
    Postgres,
    Secrets,
    asking,
    postgres_stock,
)
from tests.kit.postgres_database import connected

pytestmark = pytest.mark.asyncio


async def until_asleep(beside: Connection, number: int) -> None:
    """Wait until so many sessions sleep."""
    found = -1
    while found != number:
        await asyncio.sleep(0)
        sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        [(found,)] = await beside.fetch(sql)


@pytest_asyncio.fixture
async def stock() -> Postgres:
    return await postgres_stock()


@pytest_asyncio.fixture
async def reading(stock: Postgres) -> AsyncIterator[Asking]:
    async with asking(stock.source()) as found:
        yield found


async def test_rows_are_objects_by_bound_arguments(reading: Asking) -> None:
    rows = await reading.rows(
        "SELECT sku, held - reserved AS free FROM stock WHERE held > :least ORDER BY sku",
        {"least": 1},
    )
    assert rows == [{"sku": "A-1", "free": 4}, {"sku": "C-3", "free": 5}]


async def test_no_argument_is_ever_read_as_sql(stock: Postgres, reading: Asking) -> None:
    before = await stock.everything()
    for text in INJECTIONS:
        assert await reading.rows("SELECT * FROM stock WHERE sku = :sku", {"sku": text}) == []
        assert await reading.value("SELECT :sku::text", {"sku": text}) == text
    assert await stock.everything() == before


async def test_no_statement_writes_through_a_read_only_source(
    stock: Postgres, reading: Asking
) -> None:
    """A read-only source cannot be written by any statement: the session enforces it."""
    before = await stock.everything()
    for sql in POSTGRESQL_WRITES:
        for text in forms_of(sql):
            with suppress(QueryFailed):
                await reading.rows(text)
    assert await stock.everything() == before
    assert not was_left_behind()
    assert len(await reading.rows("SELECT * FROM stock")) == len(STOCK)


async def test_a_role_that_writes_past_transactions_is_refused(stock: Postgres) -> None:
    superuser = urlsplit(stock.url).username
    async with asking(stock.source(user=superuser)) as root:
        failure = await root.failure("SELECT 1")
        assert failure.code == DATABASE_UNAVAILABLE
        assert not failure.retryable


async def test_nothing_of_a_statement_is_left_in_the_session(reading: Asking) -> None:
    await reading.rows("SELECT set_config('statement_timeout', '1', false), pg_advisory_lock(7)")
    await reading.rows("SELECT set_config('search_path', 'nowhere', false)")
    assert await reading.value("SELECT count(*) FROM stock") == len(STOCK)
    assert await reading.value("SELECT current_setting('statement_timeout')") == "30s"
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    assert await reading.value(locks) == 0


async def test_a_source_that_may_write_writes_and_rolls_back_what_fails(stock: Postgres) -> None:
    async with asking(stock.source(read_only=False)) as writing:
        insert = "INSERT INTO stock VALUES (:sku, :held, 0) RETURNING sku"
        assert await writing.rows(insert, {"sku": "D-4", "held": 1}) == [{"sku": "D-4"}]
        assert await writing.rows("UPDATE stock SET held = 2 WHERE sku = 'D-4'") == []
        failure = await writing.failure(insert, {"sku": "D-4", "held": 1})
        assert (failure.code, failure.details) == (QUERY_FAILED, {"sqlState": "23505"})
        many = (
            "INSERT INTO stock SELECT n::text, n, n FROM generate_series(1, 9) AS n RETURNING sku"
        )
        failure = await writing.failure(many, bounds=Bounds(rows=5, bytes=1000))
        assert failure.code == TOO_MANY_ROWS
        failure = await writing.failure("DELETE FROM stock; SELECT 1")
        assert failure.code == QUERY_FAILED
        rows = await writing.rows("SELECT sku, held FROM stock ORDER BY sku")
        assert len(rows) == len(STOCK) + 1
        assert rows[-1] == {"sku": "D-4", "held": 2}


async def test_types_are_those_of_json(reading: Asking) -> None:
    """`args` are bound, never spliced; rows are objects; decimals and big integers are strings,
    moments as above, bytes base64.
    """
    rows = await reading.rows(
        """
        SELECT
            9007199254740993::bigint AS big, 1.10::numeric AS price, 'NaN'::float8 AS nan,
            'NaN'::numeric AS none, true AS flag, NULL::text AS nothing,
            '2026-11-16 21:31:13.0709+01'::timestamptz AS at,
            '2026-11-16 21:31:13'::timestamp AS wall, '2026-11-16'::date AS day,
            '09:30'::time AS clock, '1 year 2 months 3 days 4 hours'::interval AS long,
            '\\x00ff'::bytea AS bytes, '0192a000-0000-7000-8000-000000000000'::uuid AS id,
            '{"a": [1, null]}'::jsonb AS doc, '[1]'::json AS list, ARRAY[1, 2] AS numbers,
            ARRAY[[1.5, 2.5]]::numeric[] AS grid, '192.0.2.1'::inet AS host,
            ROW(1, 'x') AS pair, int4range(1, 5) AS span, '10101'::bit(5) AS bits
        """
    )
    assert rows == [
        {
            "big": "9007199254740993",
            "price": "1.10",
            "nan": None,
            "none": None,
            "flag": True,
            "nothing": None,
            "at": "2026-11-16T20:31:13.070Z",
            "wall": "2026-11-16T21:31:13.000",
            "day": "2026-11-16",
            "clock": "09:30:00.000",
            "long": "P1Y2M3DT4H",
            "bytes": "AP8=",
            "id": "0192a000-0000-7000-8000-000000000000",
            "doc": {"a": [1, None]},
            "list": [1],
            "numbers": [1, 2],
            "grid": [["1.5", "2.5"]],
            "host": "192.0.2.1",
            "pair": [1, "x"],
            "span": {"lower": 1, "upper": 5, "bounds": "[)"},
            "bits": "10101",
        }
    ]


async def test_arguments_have_the_types_that_the_server_finds(reading: Asking) -> None:
    sql = (
        "SELECT :n::bigint AS n, :p::numeric AS p, :at::timestamptz AS at, :day::date AS day, "
        ":id::uuid AS id, :b::bytea AS b, :j::jsonb AS j, :many::text[] AS many, :x::interval AS x"
    )
    given: Object = {
        "n": "9007199254740993",
        "p": "1.10",
        "at": "2026-11-16T20:31:13.070Z",
        "day": "2026-11-16",
        "id": "0192a000-0000-7000-8000-000000000000",
        "b": "AP8=",
        "j": {"a": [1]},
        "many": ["a", "'b"],
        "x": "P1D",
    }
    assert await reading.rows(sql, {**given}) == [given]
    wrong: Object = {**given, "n": "x", "at": "2026-11-16T20:31:13", "b": "%", "many": "a"}
    failure = await reading.failure(sql, wrong)
    assert failure.code == INVALID_INPUT
    assert isinstance(failure.details, dict)
    problems = failure.details["problems"]
    assert isinstance(problems, list)
    assert {str(each["path"]) for each in problems if isinstance(each, dict)} == {
        *("$.args.n", "$.args.at", "$.args.b", "$.args.many")
    }


async def test_a_slow_statement_is_stopped_and_its_connection_goes_on(reading: Asking) -> None:
    pid = await reading.value("SELECT pg_backend_pid()")
    failure = await reading.failure("SELECT pg_sleep(60)", seconds=0.2)
    assert (failure.code, failure.retryable) == (TIMEOUT, True)
    assert await reading.value("SELECT 1") == 1
    busy = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND query LIKE '%sleep%'"
    assert await reading.value(f"{busy} AND state = 'active' AND pid <> pg_backend_pid()") == 0


async def test_cancelling_stops_the_statement_in_the_database(
    stock: Postgres, reading: Asking
) -> None:
    running = asyncio.ensure_future(reading.rows("SELECT pg_sleep(60)"))
    async with connected(stock.url) as beside:
        await until_asleep(beside, 1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until_asleep(beside, 0)
    assert await reading.value("SELECT 1") == 1


async def test_answers_are_bounded_while_they_are_read(reading: Asking) -> None:
    endless = (
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) "
        "SELECT n, repeat('x', 100) AS x FROM n"
    )
    failure = await reading.failure(endless, bounds=Bounds(rows=1000, bytes=10_000_000))
    assert (failure.code, failure.retryable) == (TOO_MANY_ROWS, False)
    failure = await reading.failure(endless, bounds=Bounds(rows=10_000, bytes=50_000))
    assert failure.code == TOO_LARGE
    huge = "SELECT repeat('x', 20000000) AS x"
    failure = await reading.failure(huge, bounds=Bounds(rows=10, bytes=50_000))
    assert failure.code == TOO_LARGE, "it was not read to its end"
    most = "SELECT n FROM generate_series(1, 1000) AS n"
    assert len(await reading.rows(most, bounds=Bounds(rows=1000, bytes=100_000))) == 1000


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT * FROM nothing", 'relation "nothing" does not exist'),
        ("SELECT 1 AS a, 2 AS a", "two columns of the answer are called 'a'"),
        ("SELEC 1", "syntax error"),
        ("SELECT 1/0", "division by zero"),
        ("", "syntax error"),
        ("SHOW server_version", "syntax error"),
    ],
)
async def test_what_the_database_refuses_is_not_tried_again(
    reading: Asking, sql: str, words: str
) -> None:
    failure = await reading.failure(sql)
    assert (failure.code, failure.retryable) == (QUERY_FAILED, False)
    assert words in failure.message


async def test_a_dead_database_is_retryable_and_has_no_address(stock: Postgres) -> None:
    for change in ({"port": 1}, {"host": "no-such-host.invalid"}):
        async with asking(stock.source(**change)) as dead:
            failure = await dead.failure("SELECT 1")
        assert (failure.code, failure.retryable) == (DATABASE_UNAVAILABLE, True)
        assert "127.0.0.1" not in failure.message
        assert "no-such-host" not in failure.message


async def test_a_lost_connection_is_replaced(stock: Postgres, reading: Asking) -> None:
    pid = await reading.value("SELECT pg_backend_pid()")
    async with connected(stock.url) as beside:
        await beside.execute(f"SELECT pg_terminate_backend({pid})")
    with suppress(QueryFailed):  # where the driver has not noticed yet
        await reading.value("SELECT 1")
    assert await reading.value("SELECT 1") == 1


async def test_private_addresses_need_to_be_allowed(stock: Postgres) -> None:
    async with asking(stock.source(), may_be_private=False) as outside:
        failure = await outside.failure("SELECT 1")
    assert failure.code == DATABASE_UNAVAILABLE
    assert failure.message == "the host of the data source has no address that may be used"


async def test_only_the_named_secret_is_the_password(
    stock: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "of-the-store")
    secrets = Secrets(READER=PASSWORD)
    source = stock.source(secret_ref="READER")
    async with asking(source, secrets=secrets) as reading:
        assert await reading.value("SELECT 1") == 1
        failure = await reading.failure(f"SELECT '{PASSWORD}'::int")
        assert PASSWORD not in failure.message
    assert secrets.asked == [("default", "READER", "stock")]
    async with asking(stock.source(secret_ref="OTHER"), secrets=secrets) as other:
        failure = await other.failure("SELECT 1")
    assert (failure.code, failure.message) == (UNKNOWN_SECRET, "there is no secret OTHER")


async def test_a_source_without_tls_is_not_used_where_tls_is_asked_for(stock: Postgres) -> None:
    async with asking(stock.source(tls="verify")) as strict:
        failure = await strict.failure("SELECT 1")
    assert failure.code == DATABASE_UNAVAILABLE
