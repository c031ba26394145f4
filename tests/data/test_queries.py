"""Running queries: kept connections, kept answers, rooms of tenants."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenuto import Settings, Tenuto
from tenuto.data.cache import AnswerCache
from tenuto.data.failures import QueryFailed
from tenuto.data.pool import Pool
from tenuto.model.failure import TIMEOUT
from tenuto.model.json import Object
from tests.data.situations import asking, postgres_stock, sqlite_stock
from tests.data.test_sqlite import ENDLESS, SOURCE
from tests.kit.postgres_database import connected

pytestmark = pytest.mark.asyncio


async def test_a_kept_connection_that_was_lost_costs_no_attempt() -> None:
    stock = await postgres_stock()
    here = stock.source()
    document: Object = {
        "id": "stock",
        "kind": "postgresql",
        "host": here.host,
        "port": here.port,
        "database": here.database,
        "user": here.user,
        "tls": "off",
    }
    settings = Settings(private_databases={"*": ("127.0.0.0/8",)})
    async with Tenuto(settings=settings) as app:
        await app.data_sources.save(document)
        sql = "SELECT pg_backend_pid() AS pid"
        await app.data_queries.save({"id": "q", "dataSourceId": "stock", "sql": sql})
        first = await app.data_queries.run("q")
        again = await app.data_queries.run("q")
        assert again.rows == first.rows, "the connection was kept"
        async with connected(stock.url) as beside:
            await beside.execute(f"SELECT pg_terminate_backend({first.rows[0]['pid']})")
        other = await app.data_queries.run("q")
        assert other.error is None
        assert other.rows != first.rows


async def test_a_tenant_that_fills_its_connections_delays_no_other(tmp_path: Path) -> None:
    sqlite_stock(tmp_path)
    sqlite_stock(tmp_path, tenant="acme")
    async with asking(SOURCE, folder=tmp_path) as ours:
        endless = [
            asyncio.ensure_future(ours.rows(f"{ENDLESS} count(*) FROM n")) for _ in range(20)
        ]
        await asyncio.sleep(0)
        pool = await ours.databases.pool("default", SOURCE, (1, 1))
        with pytest.raises(QueryFailed) as refused:
            async with pool.lease(0.05):
                pass
        assert refused.value.failure.code == TIMEOUT
        theirs: Pool = await ours.databases.pool("acme", SOURCE, (1, 1))
        async with theirs.lease(30) as lease:
            assert await lease.connection.version()
        for each in endless:
            each.cancel()
        await asyncio.gather(*endless, return_exceptions=True)


async def test_answers_are_kept_for_their_time_and_within_their_bytes() -> None:
    cache = AnswerCache(most=40_000)
    rows: list[Object] = [{"x": "y" * 1_000}]
    cache.put(("a",), rows, until=10)
    kept = cache.get(("a",), now=9)
    assert kept == rows
    assert kept is not rows
    assert cache.get(("a",), now=10) is None
    cache.put(("large",), [{"x": "y" * 10_000}], until=10)
    assert cache.get(("large",), now=1) is None, "it is too large beside the others"
    for number in range(100):
        cache.put((number,), rows, until=10)
    found = [number for number in range(100) if cache.get((number,), now=1)]
    assert found == list(range(100 - len(found), 100)), "the newest are kept"
    assert 10 < len(found) < 40


async def test_a_statement_without_a_connection_says_nothing_of_the_database(
    tmp_path: Path,
) -> None:
    """Else a breaker would never open where more statements wait than a slow database takes."""
    sqlite_stock(tmp_path)
    slow: Object = {
        "id": "stock",
        "kind": "sqlite",
        "file": "stock.db",
        "maxConnections": 1,
        "statementTimeout": "PT0.1S",
        "breaker": {"failures": 3, "openFor": "PT1H"},
    }
    async with Tenuto(settings=Settings(data_folder=str(tmp_path))) as app:
        await app.data_sources.save(slow)
        sql = f"{ENDLESS} count(*) FROM n"
        await app.data_queries.save({"id": "q", "dataSourceId": "stock", "sql": sql})
        for _ in range(3):
            ran = await asyncio.gather(*(app.data_queries.run("q") for _ in range(3)))
            assert all(each.error is not None for each in ran)
        last = await app.data_queries.run("q")
        assert last.error is not None
        assert "failed too often" in last.error.message
