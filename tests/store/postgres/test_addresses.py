"""A wrong address is explained, and a password is never shown."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres import PostgresStore
from tenuto.store.postgres.address import identifier
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import GUARDED_ROLE, SECRETIVE_ROLE, PostgresServer, running_server
from tests.store.situations import NOON

SECRET = "s3cr3t-w0rd"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_server() as made:
        yield made


async def refused(url: str) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as refusal:
        await PostgresStore(url).open("p1", NOON)
    shown = "".join(traceback.format_exception(refusal.value))
    assert SECRET not in shown
    assert SECRET not in repr(refusal.value)
    assert refusal.value.advice
    return refusal.value


@pytest.mark.asyncio
async def test_a_wrong_password_user_or_database_is_named(
    server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with connected(server.url()) as connection:
        await connection.execute(f"CREATE ROLE {GUARDED_ROLE} LOGIN PASSWORD 'right'")
    address = f"127.0.0.1:{server.port}"
    wrong = await refused(f"postgresql://{GUARDED_ROLE}:{SECRET}@{address}/postgres")
    assert (wrong.code, "password" in wrong.message) == ("TEN-4009", True)
    unknown = await refused(f"postgresql://nobody-known:{SECRET}@{address}/postgres")
    assert (unknown.code, "nobody-known" in unknown.message) == ("TEN-4009", True)
    nowhere = await refused(f"postgresql://tenuto:{SECRET}@{address}/nowhere")
    assert (nowhere.code, "nowhere" in nowhere.message) == ("TEN-4009", True)
    assert "createdb" in nowhere.advice
    assert SECRET not in caplog.text


@pytest.mark.asyncio
async def test_a_database_that_lets_nobody_in_is_named(server: PostgresServer) -> None:
    async with connected(server.url()) as connection:
        await connection.execute("CREATE DATABASE closed ALLOW_CONNECTIONS false")
    closed = await refused(f"postgresql://tenuto:{SECRET}@127.0.0.1:{server.port}/closed")
    assert (closed.code, "refuses connections" in closed.message) == ("TEN-4009", True)
    assert "ALTER DATABASE closed WITH ALLOW_CONNECTIONS true" in closed.advice


@pytest.mark.asyncio
async def test_a_user_who_may_not_come_in_is_told_what_to_run(server: PostgresServer) -> None:
    async with connected(server.url()) as connection:
        await connection.execute('CREATE ROLE "Not-Yet" NOLOGIN')
        await connection.execute("CREATE ROLE outsider LOGIN")
        await connection.execute('CREATE DATABASE "the-orders"')
        await connection.execute('REVOKE CONNECT ON DATABASE "the-orders" FROM PUBLIC')
    address = f"127.0.0.1:{server.port}/the-orders"
    outside = await refused(f"postgresql://outsider:{SECRET}@{address}")
    assert outside.code == "TEN-4009"
    assert 'GRANT CONNECT ON DATABASE "the-orders" TO outsider' in outside.advice
    sleeping = await refused(f"postgresql://Not-Yet:{SECRET}@{address}")
    assert sleeping.code == "TEN-4009"
    assert 'ALTER ROLE "Not-Yet" LOGIN' in sleeping.advice


@pytest.mark.asyncio
async def test_a_server_that_wants_tls_says_so(server: PostgresServer) -> None:
    async with connected(server.url()) as connection:
        await connection.execute(f"CREATE ROLE {SECRETIVE_ROLE} LOGIN")
    address = f"postgresql://{SECRETIVE_ROLE}:{SECRET}@127.0.0.1:{server.port}/postgres"
    open_to_all = await refused(f"{address}?sslmode=disable")
    assert open_to_all.code == "TEN-4017"
    assert "is not encrypted, as sslmode=disable asks for" in open_to_all.message
    assert "sslmode=require" in open_to_all.advice


@pytest.mark.asyncio
async def test_a_server_that_is_not_there_is_named(server: PostgresServer) -> None:
    closed = await refused(f"postgresql://ada:{SECRET}@127.0.0.1:1/orders")
    assert closed.code == "TEN-4008"
    assert "ada@127.0.0.1:1/orders" in closed.message
    unknown = await refused(f"postgresql://ada:{SECRET}@no-such-host.invalid/orders")
    assert unknown.code == "TEN-4008"
    assert "host" in unknown.message


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://ada:{SECRET}@db/orders",
        f"ada:{SECRET}@db/orders",
        f"postgresql://ada:{SECRET}/x@db/orders",
        f"postgresql://ada:x@[{SECRET}/orders",
        f"postgresql:///{SECRET}",
        f"postgresql://ada:12/{SECRET}@db/orders",
        f"postgresql://ada@db:{SECRET}/orders",
        f"postgresql://ada:se@{SECRET}@db/orders",
        f"postgresql://ada@{SECRET}:x@db/orders",
        f"postgresql://ada:{SECRET}@db:0/orders",
        f"postgresql://ada:{SECRET}@db:65536/orders",
        f"postgresql://ada:{SECRET}@db:5432,db2:99999/orders",
        f"postgresql://ada:{SECRET}@db/orders?port=99999",
        f"postgresql://ada:{SECRET}@db/orders?port=5432,x",
        "",
    ],
)
def test_an_address_that_cannot_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(StoreUnavailable) as refusal:
        PostgresStore(url)
    assert SECRET not in "".join(traceback.format_exception(refusal.value))
    assert "postgresql://user:password@host:5432/database" in refusal.value.advice


@pytest.mark.asyncio
async def test_an_option_that_cannot_be_used_is_not_repeated(server: PostgresServer) -> None:
    url = f"postgresql://ada:{SECRET}@127.0.0.1:{server.port}/x?sslmode={SECRET}"
    assert (await refused(url)).code == "TEN-4008"


@pytest.mark.asyncio
async def test_a_setting_that_the_server_does_not_take_is_named(server: PostgresServer) -> None:
    address = f"postgresql://tenuto:{SECRET}@127.0.0.1:{server.port}/postgres"
    unknown = await refused(f"{address}?bogus={SECRET}")
    assert unknown.code == "TEN-4008"
    assert "sets bogus, which the server does not know" in unknown.message
    wrong = await refused(f"{address}?work_mem={SECRET}")
    assert wrong.code == "TEN-4008"
    assert "sets work_mem to what the server does not take" in wrong.message


@pytest.mark.asyncio
async def test_a_name_that_is_a_word_of_sql_is_quoted(server: PostgresServer) -> None:
    async with connected(server.url()) as connection:
        words = await connection.fetch(
            "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')"
        )
    assert [word for (word,) in words if identifier(word) != f'"{word}"'] == []
    assert (identifier("orders"), identifier("Orders")) == ("orders", '"Orders"')


@pytest.mark.parametrize("schema", ["1st", "a b", 'x"; DROP SCHEMA public; --', "x" * 51, "é"])
def test_a_schema_has_a_plain_name(schema: str) -> None:
    with pytest.raises(StoreUnavailable, match="schema"):
        PostgresStore("postgresql://ada@db/orders", schema=schema)


@pytest.mark.parametrize(
    "hosts",
    [
        "db",
        "db:5433",
        "db:1",
        "db:65535",
        "db1:5432,db2:5433",
        "[::1]:5432",
        "10.0.0.1",
        "db.example",
    ],
)
def test_one_host_or_several_may_be_named(hosts: str) -> None:
    assert hosts in repr(PostgresStore(f"postgresql://ada:{SECRET}@{hosts}/orders"))


def test_an_escaped_at_sign_belongs_to_the_password() -> None:
    store = PostgresStore(f"postgresql://ada:se%40{SECRET}@db/orders")
    assert repr(store) == "<PostgresStore postgresql://ada@db/orders>"


def test_a_store_shows_where_it_is_and_not_its_password() -> None:
    store = PostgresStore(f"postgres://ada:{SECRET}@db.example:5433/orders?schema=flow&x={SECRET}")
    assert repr(store) == "<PostgresStore postgresql://ada@db.example:5433/orders?schema=flow>"
    assert SECRET not in repr(store._database.address)
