"""Data sources and queries from a terminal."""

from __future__ import annotations

import json

import pytest

from tenuto.cli.records import kind_of
from tenuto.model.json import Object
from tests.cli.conftest import DOUBLE, Terminal
from tests.data.situations import sqlite_stock

QUERY = "SELECT sku, held FROM stock WHERE sku = :sku"


@pytest.mark.slow
def test_sources_and_queries_are_saved_tried_shown_and_removed(terminal: Terminal) -> None:
    sqlite_stock(terminal.folder / "data")
    terminal.environment["TENUTO_ENGINE_DATA_FOLDER"] = str(terminal.folder / "data")
    (terminal.folder / "order.json").write_text(json.dumps({"id": "order", **DOUBLE}))
    assert terminal.call("deploy", "order.json").code == 0
    (terminal.folder / "stock.json").write_text('{"kind": "sqlite", "file": "stock.db"}')
    document = {"dataSourceId": "stock", "sql": QUERY}
    (terminal.folder / "by-sku.json").write_text(json.dumps(document))
    saved = terminal.call("data-sources", "set", "stock.json")
    assert (saved.code, saved.out.strip()) == (0, "✓ data source stock@1"), saved.err
    assert terminal.call("data-queries", "set", "by-sku.json").out == "✓ data query by-sku@1\n"
    assert terminal.call("data-sources", "test", "stock").out.startswith("✓ SQLite 3.")
    ran = terminal.call("data-queries", "run", "by-sku", "--args", "sku=A-1")
    assert (ran.code, ran.out.split()) == (0, ["sku", "held", "A-1", "5"]), ran.err
    found = terminal.call("data-queries", "run", "by-sku", "-a", '{"sku": "C-3"}', "-o", "json")
    assert found.json["rows"] == [{"sku": "C-3", "held": 7}]
    wrong = terminal.call("data-queries", "run", "by-sku", "--args", "other=1")
    assert (wrong.code, "$.args" in wrong.err) == (2, True), wrong
    assert "stock" in terminal.call("data-sources", "list").out
    assert terminal.call("data-queries", "list", "-o", "id").out.strip() == "by-sku"
    shown = terminal.call("data-sources", "show", "stock").out
    assert "used by      data queries by-sku" in shown
    assert QUERY in terminal.call("data-queries", "show", "by-sku").out
    used = terminal.call("data-sources", "remove", "stock")
    assert (used.code, "the data query by-sku" in used.err) == (4, True)
    assert terminal.call("data-queries", "remove", "by-sku").code == 0
    assert terminal.call("data-sources", "remove", "stock").code == 0
    assert terminal.call("data-sources", "show", "stock").code == 3


def test_a_deployment_saves_sources_and_queries_with_the_workflows_that_run_them(
    terminal: Terminal,
) -> None:
    sqlite_stock(terminal.folder / "data")
    (terminal.folder / "tenuto.toml").write_text('[engine]\ndata_folder = "data"\n')
    look = {"stepId": "look", "type": "DATA_QUERY", "dataQueryID": "by-sku", "args": {"sku": "A-1"}}
    terminal.write("order.json", {"id": "order", "steps": [look]})
    terminal.write("by-sku.json", {"dataSourceId": "stock", "sql": QUERY})
    terminal.write("stock.json", {"kind": "sqlite", "file": "stock.db"})
    saved = terminal.call("deploy", "order.json", "by-sku.json", "stock.json")
    assert saved.code == 0, saved.err
    assert saved.out.splitlines() == ["✓ order@1", "✓ data source stock@1", "✓ data query by-sku@1"]
    assert "TEN-2780" not in saved.err, "the query is saved before the workflow"
    ran = terminal.call("data-queries", "run", "by-sku", "--args", "sku=A-1", "-o", "json")
    assert ran.json["rows"] == [{"sku": "A-1", "held": 5}]


def test_a_deployed_query_without_its_source_is_refused_with_its_place(terminal: Terminal) -> None:
    terminal.write("by-sku.json", {"dataSourceId": "stock", "sql": QUERY})
    refused = terminal.call("deploy", "by-sku.json")
    assert (refused.code, "TEN-2778" in refused.err) == (2, True), refused
    assert "by-sku.json:" in refused.err


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"dataSourceId": "stock", "sql": "SELECT 1"}, "data query"),
        ({"kind": "sqlite", "file": "stock.db"}, "data source"),
        ({"kind": "postgresql", "url": "postgresql://db.example/orders"}, "data source"),
        ({"kind": "mysql", "host": "db.example"}, "data source"),
        ({"kind": "sqlite"}, "workflow"),
        ({"sql": "SELECT 1"}, "workflow"),
        ({"steps": [], "kind": "sqlite", "file": "stock.db"}, "workflow"),
    ],
)
def test_a_document_is_recognised_by_its_fields(document: Object, kind: str) -> None:
    assert kind_of(document) == kind
