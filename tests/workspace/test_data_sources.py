"""Data sources and queries are the same over an engine in this process and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Client, Conflict, InvalidInput, NotFound, Tenuto, TenutoError
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.model.quotas import Quotas
from tenuto.workspace.protocol import Workspace
from tests.api.conftest import served
from tests.data.situations import sqlite_stock

pytestmark = pytest.mark.asyncio

SOURCE: Object = {"id": "stock", "kind": "sqlite", "file": "stock.db"}
QUERY: Object = {
    "id": "by-sku",
    "dataSourceId": "stock",
    "sql": "SELECT sku, held FROM stock WHERE sku = :sku",
    "parameters": {"properties": {"sku": {"type": "string"}}},
}
FLOW: Object = {
    "id": "flow",
    "steps": [{"stepId": "a", "type": "DATA_QUERY", "dataQueryID": "by-sku", "args": {"sku": "x"}}],
}


@pytest_asyncio.fixture(params=["engine", "http"])
async def space(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Workspace]:
    sqlite_stock(tmp_path)
    quotas = Quotas(data_sources=3, data_queries=3)
    app = Tenuto(settings=Settings(data_folder=str(tmp_path), quotas=quotas))
    async with served(app=app) as caller:
        if request.param == "engine":
            yield app
            return
        async with Client(caller.url, patience=5) as client:
            yield client


async def refused(call: Any) -> TenutoError:  # noqa: ANN401 - any awaitable
    with pytest.raises(TenutoError) as caught:
        await call
    return caught.value


async def test_a_source_is_saved_read_listed_changed_and_removed(space: Workspace) -> None:
    sources = space.data_sources
    saved = await sources.save({**SOURCE, "description": "what is in stock"})
    assert (saved.id, saved.version, saved.read_only) == ("stock", 1, True)
    assert (saved.max_connections, saved.statement_timeout) == (5, "PT30S")
    assert (await sources.save({**SOURCE, "description": "what is in stock"})).version == 1
    changed = await sources.save({**SOURCE, "maxConnections": 2}, only_after=1)
    assert (changed.version, changed.max_connections) == (2, 2)
    error = await refused(sources.save({**SOURCE, "maxConnections": 3}, only_after=1))
    assert isinstance(error, Conflict)
    assert error.code == "TEN-3144"
    assert (await sources.get("stock")).metadata.created_at == saved.metadata.created_at
    named = await sources.save({"name": "Other Stock", "kind": "sqlite", "file": "o.db"})
    assert named.id == "other-stock"
    assert [each.id for each in await sources.list()] == ["other-stock", "stock"]
    page = await sources.page(limit=1)
    assert [each.id for each in page.items] == ["other-stock"]
    page = await sources.page(limit=1, cursor=page.next_cursor)
    assert ([each.id for each in page.items], page.next_cursor) == (["stock"], None)
    await sources.remove("stock")
    error = await refused(sources.get("stock"))
    assert isinstance(error, NotFound)
    assert error.code == "TEN-3142"


async def test_what_cannot_be_saved_has_all_its_problems_and_no_password(space: Workspace) -> None:
    wrong: Object = {"id": "a b", "kind": "postgresql", "url": "postgresql://u:canary@h/d"}
    error = await refused(space.data_sources.save(wrong))
    assert isinstance(error, InvalidInput)
    assert "canary" not in str(error)
    error = await refused(space.data_queries.save({**QUERY, "sql": "SELECT ?", "maxRows": 0}))
    assert isinstance(error, InvalidInput)
    assert {each.path for each in error.problems} >= {"$.dataSourceId", "$.maxRows"}


async def test_what_is_used_is_not_removed(space: Workspace) -> None:
    """A data source that a query names, and a data query that a workflow runs, are not removed."""
    await space.data_sources.save(SOURCE)
    await space.data_queries.save(QUERY)
    await space.deploy(FLOW)
    assert (await space.data_sources.uses("stock")).queries == ["by-sku"]
    assert (await space.data_queries.uses("by-sku")).workflows == ["flow"]
    error = await refused(space.data_sources.remove("stock"))
    assert (error.code, "the data query by-sku" in error.message) == ("TEN-3145", True)
    error = await refused(space.data_queries.remove("by-sku"))
    assert (error.code, "the workflow flow" in error.message) == ("TEN-3149", True)
    await space.remove_definition("flow")
    await space.data_queries.remove("by-sku")
    await space.data_sources.remove("stock")


async def test_a_query_and_a_source_can_be_tried(space: Workspace) -> None:
    """`DataSource {id, kind: postgresql|mysql|sqlite, url | fields, secretRef?, readOnly (default
    true), maxConnections, statementTimeout}`, `DataQuery {id, dataSourceId, sql with :named
    parameters, parameters: JSON Schema, maxRows (10,000), cache?}`; `POST /data-queries/{id}/run
    {args}` tries one.
    """
    await space.data_sources.save(SOURCE)
    await space.data_queries.save(QUERY)
    tested = await space.data_sources.test("stock")
    assert tested.ok
    assert str(tested.server).startswith("SQLite 3.")
    ran = await space.data_queries.run("by-sku", {"sku": "A-1"})
    assert (ran.rows, ran.row_count, ran.cached) == ([{"sku": "A-1", "held": 5}], 1, False)
    error = await refused(space.data_queries.run("by-sku", {"sku": 7, "other": 1}))
    assert isinstance(error, InvalidInput)
    assert {each.path for each in error.problems} == {"$.args", "$.args.sku"}
    error = await refused(space.data_queries.run("nothing"))
    assert error.code == "TEN-3146"


async def test_what_fails_when_tried_is_an_answer(space: Workspace) -> None:
    await space.data_sources.save({**SOURCE, "file": "nothing.db"})
    await space.data_queries.save(QUERY)
    tested = await space.data_sources.test("stock")
    assert (tested.ok, tested.server) == (False, None)
    ran = await space.data_queries.run("by-sku", {"sku": "A-1"})
    assert ran.error is not None
    assert (ran.rows, ran.error.code, ran.error.retryable) == ([], "DATABASE_UNAVAILABLE", False)


async def test_there_is_a_quota(space: Workspace) -> None:
    for number in range(3):
        await space.data_sources.save({**SOURCE, "id": f"s{number}"})
    error = await refused(space.data_sources.save({**SOURCE, "id": "more"}))
    assert "data_sources" in error.message
