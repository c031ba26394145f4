"""Reads the documents of data sources and data queries, with all problems, and writes them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, cast

from msgspec import Struct

from tenuto.data.address import AddressFault, file_of, read_url, server_of
from tenuto.data.named_parameters import SqlFault, Statement, split
from tenuto.data.source import (
    KINDS,
    DatabaseKind,
    DataQuery,
    DataSource,
    QueryCache,
    SourceBreaker,
    SourceLimits,
)
from tenuto.definition.fields import UNUSABLE, Field, Fields, Record, is_object
from tenuto.definition.json_check import is_sound
from tenuto.definition.plain_kinds import Flag, Id, Number, OneOf, Text, Whole
from tenuto.definition.report import Place, Report, shown
from tenuto.definition.schemas import Schema
from tenuto.definition.time_kinds import Span
from tenuto.model.errors import Problem
from tenuto.model.json import JSON, Object
from tenuto.model.secret_place import NAME

ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}\Z")
SECRET_NAME: Final = re.compile(NAME.pattern + r"\Z")
_READ_ONLY: Final = frozenset({"version", "metadata", "usedBy", "problems", "state"})
_LONGEST_TEXT: Final = 1_000
MOST_OF_A_SOURCE: Final = 100
"""Connections."""
MOST_ROWS_OF_ALL: Final = 100_000
_LONGEST_STATEMENT: Final = timedelta(hours=1)
_LONGEST_CACHED: Final = timedelta(days=1)


class ReadSource(Struct, frozen=True, kw_only=True):
    """The result of reading a document: its problems, and the source if it has no errors."""

    source: DataSource | None
    problems: tuple[Problem, ...]


class ReadQuery(Struct, frozen=True, kw_only=True):
    """The same of a query."""

    query: DataQuery | None
    problems: tuple[Problem, ...]


class _ShortText(Text):
    """Text for people."""

    def read(self, value: JSON, place: Place) -> object:
        text = super().read(value, place)
        if isinstance(text, str) and len(text) > _LONGEST_TEXT:
            place.wrong("TEN-1014", f"it has {len(text):,} characters of {_LONGEST_TEXT:,}")
            return UNUSABLE
        return text


class _BoundedSpan(Span):
    """A duration up to a longest one."""

    def __init__(self, longest: timedelta) -> None:
        super().__init__(may_be_zero=False)
        self._longest = longest

    def read(self, value: JSON, place: Place) -> object:
        found = super().read(value, place)
        if isinstance(found, timedelta) and found > self._longest:
            hours = self._longest / timedelta(hours=1)
            place.wrong("TEN-1014", f"it is longer than {hours:g} hours")
            return UNUSABLE
        return found


_BREAKER = Fields(
    Field("failures", "failures", Whole(1, 10_000)),
    Field("openFor", "open_for", _BoundedSpan(timedelta(days=1))),
)
_LIMITS = Fields(
    Field("concurrency", "concurrency", Whole(1, 10_000)),
    Field("ratePerSecond", "rate_per_second", Number(0.001)),
)
SOURCE_FIELDS: Final = Fields(
    Field("id", "id", Id(ID, "the id of a data source"), required=True),
    Field("kind", "kind", OneOf(*KINDS), required=True),
    Field("name", "name", _ShortText()),
    Field("description", "description", _ShortText(may_be_empty=True)),
    Field("url", "url", Text()),
    Field("host", "host", Text()),
    Field("port", "port", Whole(1, 65_535)),
    Field("database", "database", Text()),
    Field("user", "user", Text()),
    Field("tls", "tls", OneOf("verify", "require", "off")),
    Field("file", "file", Text()),
    Field("secretRef", "secret_ref", Id(SECRET_NAME, "the name of a secret")),
    Field("readOnly", "read_only", Flag()),
    Field("maxConnections", "max_connections", Whole(1, MOST_OF_A_SOURCE)),
    Field("statementTimeout", "statement_timeout", _BoundedSpan(_LONGEST_STATEMENT)),
    Field("limits", "limits", Record(SourceLimits, _LIMITS)),
    Field("breaker", "breaker", Record(SourceBreaker, _BREAKER)),
)
QUERY_FIELDS: Final = Fields(
    Field("id", "id", Id(ID, "the id of a data query"), required=True),
    Field("dataSourceId", "data_source_id", Text(), required=True),
    Field("sql", "sql", Text(), required=True),
    Field("name", "name", _ShortText()),
    Field("description", "description", _ShortText(may_be_empty=True)),
    Field("parameters", "parameters", Schema()),
    Field("maxRows", "max_rows", Whole(1, MOST_ROWS_OF_ALL)),
    Field(
        "cache",
        "cache",
        Record(
            QueryCache, Fields(Field("ttl", "ttl", _BoundedSpan(_LONGEST_CACHED), required=True))
        ),
    ),
)
_PLACES: Final = ("host", "port", "database", "user", "tls")
_PASSWORDS: Final = ("password", "passwd", "pwd")


def read_source(document: JSON) -> ReadSource:
    """The data source of a document."""
    report = Report()
    place = Place("$", report)
    found = _read(document, SOURCE_FIELDS, place)
    if found is None:
        return ReadSource(source=None, problems=report.problems)
    source = DataSource(**found)  # type: ignore[arg-type]  # as its fields have read them
    _check_address(source, cast("Object", document), place)
    return ReadSource(source=None if report.has_errors else source, problems=report.problems)


def read_query(document: JSON, kind: DatabaseKind | None) -> ReadQuery:
    """The data query of a document; `kind`: of the database of its source, where that is known."""
    report = Report()
    place = Place("$", report)
    found = _read(document, QUERY_FIELDS, place)
    if found is None:
        return ReadQuery(query=None, problems=report.problems)
    query = DataQuery(**found)  # type: ignore[arg-type]  # as its fields have read them
    _check_sql(query, kind or "postgresql", place)
    return ReadQuery(query=None if report.has_errors else query, problems=report.problems)


def write_source(source: DataSource) -> Object:
    """The document that reads as a data source."""
    return SOURCE_FIELDS.write(source)


def write_query(query: DataQuery) -> Object:
    """The document that reads as a data query."""
    return QUERY_FIELDS.write(query)


def stored_source(document: JSON) -> DataSource | None:
    """The data source of a document that was saved before; None if it cannot be read any more."""
    return read_source(document).source


def stored_query(document: JSON) -> DataQuery | None:
    """The data query of a document that was saved before; None if it cannot be read any more."""
    report = Report(is_saved=True)
    found = _read(document, QUERY_FIELDS, Place("$", report))
    if found is None or report.has_errors:
        return None
    return DataQuery(**found)  # type: ignore[arg-type]  # as its fields have read them


def _read(document: JSON, fields: Fields, place: Place) -> dict[str, object] | None:
    if not is_object(document, place, fields) or not is_sound(document, place):
        return None
    given = {name: value for name, value in document.items() if name not in _READ_ONLY}
    for name in _PASSWORDS:
        if given.pop(name, None) is not None:
            place.at(name).wrong("TEN-2774", "a document has no password in it")
    return fields.read(given, place)


def _check_address(source: DataSource, document: Object, place: Place) -> None:
    is_file = source.kind == "sqlite"
    beside = [name for name in (*_PLACES, "file") if name in document]
    if source.url is not None and beside:
        message = f"`{beside[0]}` stands beside `url`, which says the same"
        place.at(beside[0]).wrong("TEN-2775", message, "Write either `url` or single fields.")
        return
    odd = [name for name in (_PLACES if is_file else ("file",)) if name in document]
    for name in odd:
        place.at(name).wrong("TEN-2775", f"`{name}` is not for a source of kind {source.kind}")
    if is_file and source.secret_ref is not None:
        place.at("secretRef").wrong("TEN-2775", "a file has no password")
    try:
        if source.url is not None and read_url(source.url).kind != source.kind:
            place.at("url").wrong("TEN-2775", f"it is not the URL of a {source.kind} database")
        elif is_file:
            file_of(source)
        else:
            server_of(source)
    except AddressFault as fault:
        code = "TEN-2774" if fault.has_password else "TEN-2775"
        place.at(fault.field).wrong(code, str(fault))


def _check_sql(query: DataQuery, kind: DatabaseKind, place: Place) -> None:
    try:
        statement = split(query.sql, kind)
    except SqlFault as fault:
        place.at("sql").wrong("TEN-2777", str(fault))
        return
    if query.parameters is None:
        return
    there = place.at("parameters")
    if not isinstance(query.parameters, dict):
        there.wrong("TEN-2776", "it is no schema of an object", "Write an object of properties.")
        return
    if query.parameters.get("type", "object") != "object":
        there.at("type").wrong("TEN-2776", "parameters are the properties of an object")
        return
    _compare(statement, query.parameters, there)


def _compare(statement: Statement, schema: Object, place: Place) -> None:
    properties = schema.get("properties")
    known = list(properties) if isinstance(properties, dict) else []
    if known or schema.get("additionalProperties") is False:
        for name in statement.names:
            if name not in known:
                place.wrong(
                    "TEN-2776",
                    f"the statement has the parameter :{name}, and the schema does not",
                    place.did_you_mean(name, known, f"Add the property `{name}`."),
                )
    required = schema.get("required")
    for needed in required if isinstance(required, list) else ():
        if needed not in statement.names:
            message = f"{shown(needed)} is required, and the statement has no such parameter"
            place.at("required").wrong("TEN-2776", message, "Remove it from `required`.")
    for name in known:
        if name not in statement.names:
            place.at("properties").at(name).warn(
                "TEN-2776",
                f"the statement has no parameter :{shown(name)[1:-1]}",
                "Remove the property, or write the parameter into the statement.",
            )
