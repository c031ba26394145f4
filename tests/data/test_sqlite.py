"""Queries on SQLite files: bound, bounded, confined to their folder, and unable to write."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
import pytest_asyncio

from tenuto.data.source import Bounds, DataSource
from tenuto.model.failure import (
    DATABASE_UNAVAILABLE,
    QUERY_FAILED,
    TIMEOUT,
    TOO_LARGE,
    TOO_MANY_ROWS,
)
from tenuto.store.sqlite import SqliteStore
from tests.data.corpus import INJECTIONS, SQLITE_WRITES, forms_of
from tests.data.situations import STOCK, Asking, asking, sqlite_rows, sqlite_stock

pytestmark = pytest.mark.asyncio

SOURCE = DataSource(id="stock", kind="sqlite", file="stock.db")
ENDLESS = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT "


@pytest_asyncio.fixture
async def reading(tmp_path: Path) -> AsyncIterator[Asking]:
    sqlite_stock(tmp_path)
    async with asking(SOURCE, folder=tmp_path) as found:
        yield found


async def test_rows_are_objects_by_bound_arguments(reading: Asking) -> None:
    sql = "SELECT sku, held - reserved AS free FROM stock WHERE held > :least ORDER BY sku"
    rows = await reading.rows(sql, {"least": 1})
    assert rows == [{"sku": "A-1", "free": 4}, {"sku": "C-3", "free": 5}]
    assert await reading.rows("SELECT * FROM stock WHERE sku = 'none'") == []


async def test_no_argument_is_ever_read_as_sql(tmp_path: Path, reading: Asking) -> None:
    before = sqlite_rows(tmp_path / "default" / "stock.db")
    for text in INJECTIONS:
        assert await reading.rows("SELECT * FROM stock WHERE sku = :sku", {"sku": text}) == []
        assert await reading.value("SELECT :sku", {"sku": text}) == text
    assert sqlite_rows(tmp_path / "default" / "stock.db") == before


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
async def test_no_statement_writes_through_a_read_only_source(tmp_path: Path, mode: str) -> None:
    path = sqlite_stock(tmp_path)
    apsw.Connection(str(path)).execute(f"PRAGMA journal_mode = {mode}")
    before, content = sqlite_rows(path), path.read_bytes()
    async with asking(SOURCE, folder=tmp_path) as reading:
        for sql in SQLITE_WRITES:
            for text in forms_of(sql):
                assert (await reading.failure(text)).code == QUERY_FAILED, text
        assert len(await reading.rows("SELECT * FROM stock")) == len(STOCK)
    assert sqlite_rows(path) == before
    assert path.read_bytes() == content
    left = {each.name for each in path.parent.iterdir()}
    assert left <= {"stock.db", "stock.db-wal", "stock.db-shm"}


async def test_a_source_that_may_write_writes_rows_and_reaches_no_other_file(
    tmp_path: Path,
) -> None:
    path = sqlite_stock(tmp_path)
    async with asking(
        DataSource(id="stock", kind="sqlite", file="stock.db", read_only=False), folder=tmp_path
    ) as writing:
        insert = "INSERT INTO stock VALUES (:sku, 1, 1) RETURNING sku"
        assert await writing.rows(insert, {"sku": "D-4"}) == [{"sku": "D-4"}]
        assert (await writing.failure(insert, {"sku": "D-4"})).code == QUERY_FAILED
        many = "INSERT INTO stock SELECT sku || 'x', 1, 1 FROM stock RETURNING sku"
        failure = await writing.failure(many, bounds=Bounds(rows=2, bytes=1000))
        assert failure.code == TOO_MANY_ROWS
        for sql in (
            "ATTACH DATABASE 'x.db' AS x",
            "VACUUM INTO 'x.db'",
            "PRAGMA journal_mode = DELETE",
            "COMMIT",
            "DELETE FROM stock; SELECT 1",
            "SELECT load_extension('x')",
        ):
            assert (await writing.failure(sql)).code == QUERY_FAILED, sql
    rows = [row for row in sqlite_rows(path) if len(row) == 3]
    assert rows == [*STOCK, ("D-4", 1, 1)], "what failed was rolled back"


async def test_types_are_those_of_json(reading: Asking) -> None:
    rows = await reading.rows(
        "SELECT 9007199254740993 AS big, 1.5 AS real, x'00ff' AS bytes, NULL AS none, "
        "9e999 AS endless, :flag AS flag, :list AS list",
        {"flag": True, "list": [1, {"a": None}]},
    )
    assert rows == [
        {
            "big": "9007199254740993",
            "real": 1.5,
            "bytes": "AP8=",
            "none": None,
            "endless": None,
            "flag": 1,
            "list": '[1,{"a":null}]',
        }
    ]
    failure = await reading.failure("SELECT :n", {"n": 2**64})
    assert "64 bits" in failure.message


async def test_a_statement_that_takes_too_long_is_stopped(reading: Asking) -> None:
    failure = await reading.failure(f"{ENDLESS} count(*) FROM n", seconds=0.05)
    assert (failure.code, failure.retryable) == (TIMEOUT, True)
    assert await reading.value("SELECT 1") == 1


async def test_cancelling_stops_the_statement(reading: Asking) -> None:
    running = asyncio.ensure_future(reading.rows(f"{ENDLESS} count(*) FROM n"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await reading.value("SELECT 1") == 1


async def test_answers_are_bounded_while_they_are_read(reading: Asking) -> None:
    failure = await reading.failure(f"{ENDLESS} n FROM n", bounds=Bounds(rows=10, bytes=10_000))
    assert failure.code == TOO_MANY_ROWS
    failure = await reading.failure(f"{ENDLESS} n FROM n", bounds=Bounds(rows=10_000, bytes=100))
    assert failure.code == TOO_LARGE
    assert (await reading.failure("SELECT zeroblob(1000000000)")).code == QUERY_FAILED


async def test_a_file_is_below_the_folder_of_its_tenant(tmp_path: Path) -> None:
    sqlite_stock(tmp_path, tenant="other", name="theirs.db")
    outside = sqlite_stock(tmp_path / "elsewhere", tenant="x")
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "link.db").symlink_to(outside)
    (tmp_path / "default" / "folder.db").mkdir()
    for file in ("theirs.db", "link.db", "none.db", "folder.db"):
        source = DataSource(id="stock", kind="sqlite", file=file)
        async with asking(source, folder=tmp_path) as reading:
            failure = await reading.failure("SELECT 1")
        assert (failure.code, failure.retryable) == (DATABASE_UNAVAILABLE, False), file
    async with asking(SOURCE) as reading:
        failure = await reading.failure("SELECT 1")
    assert "engine.data_folder" in failure.message


async def test_neither_a_store_nor_another_file_is_a_data_source(tmp_path: Path) -> None:
    folder = tmp_path / "default"
    folder.mkdir()
    await SqliteStore(folder / "stock.db").migrate()
    async with asking(SOURCE, folder=tmp_path) as reading:
        assert "a store of Tenuto" in (await reading.failure("SELECT 1")).message
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "stock.db").write_text("not a database " * 1000)
    async with asking(SOURCE, folder=tmp_path) as reading:
        assert "not a database" in (await reading.failure("SELECT 1")).message
