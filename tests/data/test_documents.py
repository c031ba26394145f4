"""Documents of data sources and queries: what is read, and all that is wrong at once."""

from __future__ import annotations

import pytest

from tenuto.data.arguments import argument_problems
from tenuto.data.documents import (
    read_query,
    read_source,
    stored_query,
    write_query,
    write_source,
)
from tenuto.data.named_parameters import split
from tenuto.model.json import JSON, Object

SOURCE: Object = {
    "id": "stock",
    "kind": "postgresql",
    "url": "postgresql://reader@db.example.com/stock",
}
QUERY: Object = {
    "id": "by-sku",
    "dataSourceId": "stock",
    "sql": "SELECT * FROM stock WHERE sku = :sku AND at > :at",
    "parameters": {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "at": {"type": "string"}},
        "required": ["sku"],
    },
}


SOURCES: list[Object] = [
    SOURCE,
    {"id": "a", "kind": "mysql", "host": "db.example.com", "database": "d", "user": "u"},
    {"id": "a", "kind": "mysql", "url": "mariadb://u@[2001:db8::1]:3307/d?tls=require"},
    {"id": "a", "kind": "sqlite", "url": "sqlite:///orders/stock.db"},
    {"id": "a", "kind": "sqlite", "file": "stock.db", "readOnly": False},
    {
        **SOURCE,
        "secretRef": "STOCK_PASSWORD",
        "maxConnections": 3,
        "statementTimeout": "PT5S",
        "limits": {"concurrency": 10},
        "breaker": {"failures": 3, "openFor": "PT1M"},
    },
]


@pytest.mark.parametrize("document", SOURCES)
def test_what_is_read_is_written_again(document: Object) -> None:
    read = read_source(document)
    assert read.problems == ()
    assert read.source is not None
    written = write_source(read.source)
    assert read_source(written).source == read.source
    assert {name: document[name] for name in written} == written


SECRET = "hunter2-canary"
WRONG: list[tuple[Object, str, str]] = [
    ({"url": f"postgresql://u:{SECRET}@h/d"}, "TEN-2774", "$.url"),
    ({"url": f"postgresql://u@h/d?password={SECRET}"}, "TEN-2774", "$.url"),
    ({"url": f"postgresql://u:a@b{SECRET}@h/d"}, "TEN-2774", "$.url"),
    ({"password": SECRET}, "TEN-2774", "$.password"),
    ({"url": "http://h/d"}, "TEN-2775", "$.url"),
    ({"url": "mysql://u@h/d"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@h"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://h/d"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@/d"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@h,i/d"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@%2Ftmp/d"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@h/d?host=/tmp"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@h/d?sslrootcert=/etc/passwd"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@h:99999/d"}, "TEN-2775", "$.url"),
    ({"url": "postgresql://u@h/d#x"}, "TEN-2775", "$.url"),
    ({"host": "h"}, "TEN-2775", "$.host"),
    ({"file": "x.db"}, "TEN-2775", "$.file"),
    ({"kind": "sqlite", "url": "sqlite:///../x.db"}, "TEN-2775", "$.url"),
    ({"kind": "sqlite", "url": "sqlite:////etc/passwd"}, "TEN-2775", "$.url"),
    ({"kind": "sqlite", "url": "sqlite:///a/%2e%2e/b"}, "TEN-2775", "$.url"),
    ({"kind": "sqlite", "url": "sqlite:///:memory:"}, "TEN-2775", "$.url"),
    ({"kind": "sqlite", "url": "sqlite:///x.db?mode=rwc"}, "TEN-2775", "$.url"),
    ({"kind": "oracle"}, "TEN-1013", "$.kind"),
    ({"maxConnections": 0}, "TEN-1014", "$.maxConnections"),
    ({"statementTimeout": "P1D"}, "TEN-1014", "$.statementTimeout"),
    ({"id": "a b"}, "TEN-1020", "$.id"),
    ({"other": 1}, "TEN-1012", "$.other"),
]


@pytest.mark.parametrize(("change", "code", "path"), WRONG)
def test_a_source_that_cannot_be_used_is_refused_without_its_password(
    change: Object, code: str, path: str
) -> None:
    read = read_source({**SOURCE, **change})
    assert read.source is None
    found = [(each.code, each.path) for each in read.problems]
    assert (code, path) in found
    assert not any(SECRET in each.message + each.advice for each in read.problems)


def test_all_problems_of_a_source_are_told_at_once() -> None:
    read = read_source({"kind": "oracle", "maxConnections": "x", "readOnly": 1, "b": 1})
    assert {each.path for each in read.problems} == {
        *("$", "$.kind", "$.maxConnections", "$.readOnly", "$.b")
    }


def test_a_query_is_read_and_written_again() -> None:
    read = read_query(QUERY, "postgresql")
    assert read.problems == ()
    assert read.query is not None
    assert write_query(read.query) == QUERY
    assert stored_query(QUERY) == read.query


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"sql": "SELECT :other"}, "TEN-2776", "$.parameters"),
        ({"sql": "SELECT $1"}, "TEN-2777", "$.sql"),
        ({"sql": ""}, "TEN-1017", "$.sql"),
        ({"parameters": {"type": "array"}}, "TEN-2776", "$.parameters.type"),
        ({"parameters": {"properties": {"sku": {"type": "nothing"}}}}, "TEN-1060", None),
        ({"parameters": {"$ref": "https://example.com/x"}}, "TEN-1061", None),
        ({"maxRows": 0}, "TEN-1014", "$.maxRows"),
        ({"cache": {}}, "TEN-1011", "$.cache"),
        ({"cache": {"ttl": "P2D"}}, "TEN-1014", "$.cache.ttl"),
    ],
)
def test_a_query_that_cannot_be_run_is_refused(change: Object, code: str, path: str | None) -> None:
    read = read_query({**QUERY, **change}, "postgresql")
    assert read.query is None
    found = {(each.code, each.path) for each in read.problems if each.severity == "error"}
    assert (code, path) in found or (path is None and code in {each for each, _ in found})


def test_a_property_without_a_parameter_is_a_warning() -> None:
    schema: Object = {"properties": {"sku": {}, "at": {}, "old": {}}}
    read = read_query({**QUERY, "parameters": schema}, "postgresql")
    assert read.query is not None
    assert [(each.path, each.severity) for each in read.problems] == [
        ("$.parameters.properties.old", "warning")
    ]


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        ({"sku": "A-1"}, set()),
        ({"sku": "A-1", "at": "2026-01-01"}, set()),
        ({}, {"$.args"}),
        ({"sku": 1, "at": 2, "other": 3}, {"$.args.sku", "$.args.at", "$.args"}),
        ([], {"$.args"}),
        ("A-1", {"$.args"}),
    ],
)
def test_missing_additional_and_wrong_arguments_are_told_at_once(
    args: JSON, paths: set[str]
) -> None:
    query = stored_query(QUERY)
    assert query is not None
    statement = split(query.sql, "postgresql")
    problems = argument_problems(query, statement, args)
    assert {each.path for each in problems} == paths


def test_without_a_schema_each_parameter_is_needed_and_no_other() -> None:
    query = stored_query({key: QUERY[key] for key in ("id", "dataSourceId", "sql")})
    assert query is not None
    statement = split("SELECT :a, :b", "sqlite")
    assert argument_problems(query, statement, {"a": 1, "b": None}) == ()
    assert len(argument_problems(query, statement, {"c": 1})) == 3
