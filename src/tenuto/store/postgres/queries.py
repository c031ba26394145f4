"""The statements of `queries.sql`, by name, for one schema; cold records' ones among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

from tenuto.store.sql import queries_of

Column: TypeAlias = object
"""The types of parameters: text, whole number, bytes, boolean, None, or an array."""
Parameters: TypeAlias = Mapping[str, Column]

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_CHANGES = re.compile(r"\bINSERT INTO\b|\bDELETE FROM\b|(?<!FOR )(?<!KEY )\bUPDATE\b")
_SCHEMA = re.compile(r"\btenuto(?=[.;])")


class Statement(NamedTuple):
    """A statement as the server gets it, with the names of its parameters in their order."""

    sql: str
    parameters: tuple[str, ...]

    @property
    def writes(self) -> bool:
        """Whether it changes anything: then it matters that it may have been sent twice."""
        return _CHANGES.search(self.sql) is not None

    def arguments(self, values: Parameters) -> list[Column]:
        return [values[name] for name in self.parameters]


QUERIES = queries_of("tenuto.store.cold") | queries_of("tenuto.store.postgres")
"""Statements with `:name` parameters; those of this database override the shared ones."""


def in_schema(sql: str, schema: str) -> str:
    """The same SQL for the tables of another schema; its name is an identifier, never a value."""
    quoted = schema.replace('"', '""')
    return _SCHEMA.sub(f'"{quoted}"', sql)


def numbered(sql: str) -> Statement:
    """`:name` as `$1`, `$2` and so on, the same name always with the same number."""
    names: dict[str, int] = {}
    text = _PARAMETER.sub(lambda found: f"${names.setdefault(found.group(1), len(names) + 1)}", sql)
    return Statement(text, tuple(names))


@cache
def statement(name: str, schema: str) -> Statement:
    return numbered(in_schema(QUERIES[name].sql, schema))


@cache
def commands(names: tuple[str, ...], schema: str) -> str:
    """Statements without parameters, one after the other."""
    return "\n".join(in_schema(QUERIES[name].sql, schema) for name in names)


@cache
def page_of_instances(positions: str, schema: str) -> Statement:
    """The list whose positions come from the statement of that name."""
    inner = QUERIES[positions].sql.rstrip(";")
    text = QUERIES["page_of_instances"].sql.replace("/* positions */", inner)
    return numbered(in_schema(text, schema))


@cache
def turn_statement(frame: str, parts: tuple[str, ...], schema: str) -> Statement:
    """`frame` with these parts; parameters are called `part__name`, unless all share them."""
    bodies: list[str] = []
    checks: list[str] = []
    results: list[str] = []
    for part in parts:
        bodies += [
            f", {name} AS (\n{_of_part(part, name)}\n)"
            for name in (part, f"{part}_then", f"{part}_then_too")
            if name in QUERIES
        ]
        if f"{part}_check" in QUERIES and frame != "turn_of_winners":
            checks.append(_of_part(part, f"{part}_check"))
        if f"{part}_result" in QUERIES:
            results.append(f", {_of_part(part, f'{part}_result')}")
    text = (
        QUERIES[frame]
        .sql.replace("/* parts */", "\n".join(bodies))
        .replace("/* checks */", "\n".join(checks))
        .replace("/* results */", "\n".join(results))
    )
    return numbered(in_schema(text, schema))


@cache
def statements_together(names: tuple[str, ...], schema: str) -> Statement:
    """Statements as one, whose row has an array of the rows of each; NULL: it gives none.

    Parameters are called as those of the part with the place of the statement.
    """
    parts, results = [], []
    for place, name in enumerate(names):
        part = part_name(place)
        body = _PARAMETER.sub(
            lambda found, part=part: f":{part}__{found.group(1)}",  # type: ignore[misc]
            QUERIES[name].sql.rstrip().rstrip(";"),
        )
        parts.append(f"{part} AS (\n{body}\n)")
        gives_rows = not _CHANGES.search(body) or "RETURNING" in body
        rows = QUERIES["together_result"].sql.rstrip(";").replace("part", part)
        results.append(rows if gives_rows else "NULL")
    text = (
        QUERIES["together"]
        .sql.replace("/* parts */", ",\n".join(parts))
        .replace("/* results */", ",\n".join(results))
    )
    return numbered(in_schema(text, schema))


@cache
def statement_for_each(name: str, columns: tuple[tuple[str, str], ...], schema: str) -> Statement:
    """A statement for each row of parameters; each row of its own has an array of what it gives.

    `columns`: the names and types of the parameters. A statement gets one array for each.
    """
    body = _PARAMETER.sub(r"wanted.\1", QUERIES[name].sql.rstrip().rstrip(";"))
    arrays = ", ".join(f":{name}::{type}[]" for name, type in columns)
    names = ", ".join(f'"{name}"' for name, _ in columns)
    text = (
        QUERIES["for_each"]
        .sql.replace("/* arrays */", arrays)
        .replace("/* names */", names)
        .replace("/* statement */", re.sub(r"wanted\.(\w+)", r'wanted."\1"', body))
    )
    return numbered(in_schema(text, schema))


def part_name(place: int) -> str:
    """What a statement is called among others."""
    return f"part_{place}"


SHARED = frozenset({"process_id", "claimed_by"})
"""Parameters that are the same for all parts of a turn."""


def _of_part(part: str, name: str) -> str:
    return _PARAMETER.sub(
        lambda found: found.group() if found.group(1) in SHARED else f":{part}__{found.group(1)}",
        QUERIES[name].sql.rstrip(";"),
    )
