"""Data sources and queries from a terminal."""

from __future__ import annotations

import json

import pytest

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
