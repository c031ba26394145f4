"""dataQuery nodes end to end: rows of a stored query, checked arguments, failures, limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.errors import WorkflowFailed
from tenuto.model.failure import (
    DATABASE_UNAVAILABLE,
    INVALID_INPUT,
    QUERY_FAILED,
    TIMEOUT,
    TOO_LARGE,
    TOO_MANY_ROWS,
    UNKNOWN_QUERY,
    UNKNOWN_SECRET,
    LastError,
)
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Limits
from tests.data.situations import PASSWORD, STOCK, sqlite_rows, sqlite_stock
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio

SOURCE: Object = {"id": "stock", "kind": "sqlite", "file": "stock.db"}
DEAD: Object = {
    "id": "dead",
    "kind": "postgresql",
    "host": "127.0.0.1",
    "port": 1,
    "database": "d",
    "user": "u",
    "tls": "off",
}
ENDLESS = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT count(*) FROM n"
BY_SKU: Object = {
    "id": "by-sku",
    "dataSourceId": "stock",
    "sql": "SELECT sku, held - reserved AS free FROM stock WHERE sku = :sku",
    "parameters": {"properties": {"sku": {"type": "string"}}},
}


@pytest_asyncio.fixture
async def app(tmp_path: Path) -> AsyncIterator[Tenuto]:
    sqlite_stock(tmp_path)
    settings = Settings(
        data_folder=str(tmp_path),
        private_databases={"default": ("127.0.0.0/8",)},
        limits=Limits(output_bytes=50_000),
    )
    async with Tenuto(settings=settings) as made:
        await made.data_sources.save(SOURCE)
        await made.data_queries.save(BY_SKU)
        yield made


def query(id: str = "by-sku", args: JSON = None, **fields: JSON) -> Object:
    """A workflow of one dataQuery node that is tried once, unless its fields say otherwise."""
    step: Object = {"stepId": "look", "type": "DATA_QUERY", "dataQueryID": id}
    once: Object = {"retry": {"maxAttempts": 1}}
    given: Object = {} if args is None else {"args": args}
    return {"id": "w", "steps": [{**step, **once, **given, **fields}]}


async def output(app: Tenuto, document: Object, input: JSON = None) -> Any:  # noqa: ANN401
    await app.deploy(document)
    return await (await app.start("w", input)).result(60)


async def error(app: Tenuto, document: Object, input: JSON = None) -> LastError:
    with pytest.raises(WorkflowFailed) as failed:
        await output(app, document, input)
    return failed.value.error


async def cause_of(instance: Any) -> Any:  # noqa: ANN401 - JSON
    """What holds an instance."""
    return (await instance.explain())["causes"][0]


async def test_a_node_gives_rows_by_the_arguments_that_its_templates_give(app: Tenuto) -> None:
    """`args` are bound, never spliced; rows are objects."""
    document = query(args={"sku": "{{ctx.input.sku}}"})
    assert await output(app, document, {"sku": "A-1"}) == [{"sku": "A-1", "free": 4}]
    assert await output(app, document, {"sku": "' OR 1=1 --"}) == []


async def test_a_node_of_a_graph_gives_its_rows(app: Tenuto) -> None:
    everything: Object = {"id": "all", "dataSourceId": "stock", "sql": "SELECT sku FROM stock"}
    await app.data_queries.save(everything)
    document: Object = {
        "id": "w",
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "look", "type": "dataQuery", "config": {"dataQueryID": "all"}},
            {"id": "end", "type": "end"},
        ],
        "edges": [
            {"source": "start", "target": "look"},
            {"source": "look", "target": "end"},
        ],
    }
    await app.deploy(document)
    instance = await app.start("w")
    await instance.result(60)
    state: Any = await instance.state()
    assert len(state["steps"]["look"]["output"]) == len(STOCK)


async def test_arguments_that_do_not_fit_fail_at_once_with_all_problems(app: Tenuto) -> None:
    failed = await error(app, query(args={"sku": 7, "other": 1}, retry={"maxAttempts": 5}))
    assert (failed.code, failed.attempt) == (INVALID_INPUT, 1)
    assert isinstance(failed.details, dict)
    problems: Any = failed.details["problems"]
    assert {each["path"] for each in problems} == {"$.args.sku", "$.args"}
    assert (await error(app, query())).code == INVALID_INPUT


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM nothing", QUERY_FAILED),
        ("DELETE FROM stock", QUERY_FAILED),
        ("SELECT zeroblob(60000) AS z", TOO_LARGE),
        ("SELECT a.sku || b.sku AS x FROM stock AS a, stock AS b", TOO_MANY_ROWS),
    ],
)
async def test_what_no_attempt_can_mend_is_not_tried_again(
    app: Tenuto, tmp_path: Path, sql: str, code: str
) -> None:
    before = sqlite_rows(tmp_path / "default" / "stock.db")
    await app.data_queries.save({"id": "q", "dataSourceId": "stock", "sql": sql, "maxRows": 5})
    failed = await error(app, query("q", retry={"maxAttempts": 5}))
    assert (failed.code, failed.attempt) == (code, 1)
    assert sqlite_rows(tmp_path / "default" / "stock.db") == before


async def test_an_unknown_query_is_a_warning_when_saved_and_a_failure_when_run(app: Tenuto) -> None:
    """A query that does not exist is a warning at save; at run time the step fails with
    `UNKNOWN_QUERY`.
    """
    saved = await app.save(query("by-skuu"))
    [problem] = saved.problems
    assert (problem.code, problem.path) == ("TEN-2780", "$.steps[0].dataQueryID")
    assert "Did you mean `by-sku`?" in problem.advice
    failed = await error(app, query("by-skuu"))
    assert (failed.code, failed.message) == (
        UNKNOWN_QUERY,
        "there is no data query by-skuu. Did you mean `by-sku`?",
    )


async def test_a_dead_database_is_tried_again_and_tells_no_address(app: Tenuto) -> None:
    await app.data_sources.save(DEAD)
    await app.data_queries.save({"id": "q", "dataSourceId": "dead", "sql": "SELECT 1"})
    failed = await error(app, query("q", retry={"maxAttempts": 3, "initialDelay": 1}))
    assert (failed.code, failed.attempt) == (DATABASE_UNAVAILABLE, 3)
    assert "127.0.0.1" not in failed.message


async def test_a_slow_statement_is_stopped_in_time(app: Tenuto) -> None:
    await app.data_sources.save({**SOURCE, "statementTimeout": "PT0.1S"})
    await app.data_queries.save({"id": "q", "dataSourceId": "stock", "sql": ENDLESS})
    assert (await error(app, query("q"))).code == TIMEOUT


async def test_cancelling_an_instance_stops_its_statement(app: Tenuto) -> None:
    await app.data_sources.save({**SOURCE, "maxConnections": 1})
    await app.data_queries.save({"id": "q", "dataSourceId": "stock", "sql": ENDLESS})
    await app.deploy(query("q"))
    instance = await app.start("w")
    await instance.cancel("enough")
    # The one connection is free again.
    assert (await app.data_queries.run("by-sku", {"sku": "A-1"})).row_count == 1
    assert (await instance.status()).value == "CANCELLED"


async def test_a_source_that_fails_too_often_is_left_alone_and_explain_names_it(
    app: Tenuto,
) -> None:
    """Breaker, bulkhead and rate limit exist per push target, per host and per data source."""
    breaker: Object = {"failures": 1, "openFor": "PT1H"}
    await app.data_sources.save({**DEAD, "breaker": breaker})
    await app.data_queries.save({"id": "q", "dataSourceId": "dead", "sql": "SELECT 1"})
    assert (await error(app, query("q"))).code == DATABASE_UNAVAILABLE
    waiting = await app.start("w")
    async with asyncio.timeout(60):
        while (cause := await cause_of(waiting))["kind"] != "breaker":
            await turns(1)
    assert cause["details"]["target"] == "dead"
    ran = await app.data_queries.run("q")
    assert ran.error is not None
    assert "failed too often" in ran.error.message
    await waiting.cancel("enough")


async def test_answers_are_kept_for_as_long_as_the_query_says(app: Tenuto, tmp_path: Path) -> None:
    await app.data_queries.save({**BY_SKU, "cache": {"ttl": "PT1H"}})
    document = query(args={"sku": "A-1"})
    assert await output(app, document) == [{"sku": "A-1", "free": 4}]
    (tmp_path / "default" / "stock.db").unlink()
    assert await output(app, document) == [{"sku": "A-1", "free": 4}]
    assert (await app.data_queries.run("by-sku", {"sku": "A-1"})).cached
    await app.data_queries.save({**BY_SKU, "cache": {"ttl": "PT1H"}, "maxRows": 9})
    assert not (await app.data_queries.run("by-sku", {"sku": "A-1"})).cached


async def test_the_password_of_a_source_is_a_secret_that_nothing_shows(app: Tenuto) -> None:
    await app.data_sources.save({**DEAD, "secretRef": "READER"})
    await app.data_queries.save({"id": "q", "dataSourceId": "dead", "sql": "SELECT 1"})
    failed = await error(app, query("q"))
    assert failed.code == UNKNOWN_SECRET
    assert "READER" in failed.message
    await app.secrets.put("READER", PASSWORD, destinations=["127.0.0.1"])
    failed = await error(app, query("q"))
    assert failed.code == DATABASE_UNAVAILABLE
    assert PASSWORD not in str(failed)
    [secret] = await app.secrets.list()
    assert secret.used_by.data_sources == ["dead"]
    await app.secrets.put("READER", PASSWORD, destinations=["elsewhere"])
    assert (await error(app, query("q"))).code == "SECRET_NOT_ALLOWED"


@pytest.mark.parametrize("host", ["api.example.com", "api.example.com:443"])
async def test_a_source_with_the_name_of_a_host_gets_no_secret_of_that_host(
    app: Tenuto, host: str
) -> None:
    await app.secrets.put("KEY", PASSWORD, destinations=["api.example.com", "api.example.com:443"])
    await app.data_sources.save({**DEAD, "id": host, "secretRef": "KEY"})
    await app.data_queries.save({"id": "q", "dataSourceId": host, "sql": "SELECT 1"})
    assert (await error(app, query("q"))).code == "SECRET_NOT_ALLOWED"
    await app.data_sources.save({**DEAD, "id": host})
    given: Object = {"text": "{{secrets.KEY}}"}
    await app.data_queries.save({"id": "q", "dataSourceId": host, "sql": "SELECT :text"})
    assert (await error(app, query("q", args=given))).code == "SECRET_NOT_ALLOWED"
    await app.secrets.put("KEY", PASSWORD, destinations=["127.0.0.1"])
    await app.data_sources.save({**DEAD, "id": host, "secretRef": "KEY"})
    assert (await error(app, query("q", args={"text": "a"}))).code == DATABASE_UNAVAILABLE


async def test_a_source_of_another_tenant_is_not_there(app: Tenuto) -> None:
    other = app.workspace("acme", "eve")
    await other.deploy(query(args={"sku": "A-1"}))
    instance = await other.start("w")
    with pytest.raises(WorkflowFailed) as failed:
        await instance.result(60)
    assert failed.value.error.code == UNKNOWN_QUERY
    await other.data_sources.save(SOURCE)
    await other.data_queries.save(BY_SKU)
    ran = await other.data_queries.run("by-sku", {"sku": "A-1"})
    assert ran.error is not None
    assert ran.error.code == DATABASE_UNAVAILABLE, "the folder of a tenant is its own"
