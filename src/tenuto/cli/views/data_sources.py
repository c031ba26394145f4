"""Data sources, data queries and rows as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import say, show
from tenuto.model.json import Object
from tenuto.model.moments import spelled
from tenuto.workspace.data_values import (
    DataQueryUses,
    DataSourceUses,
    QueryError,
    QueryRun,
    SavedDataQuery,
    SavedDataSource,
)

if TYPE_CHECKING:
    from rich.text import Text

_MOST_SHOWN = 20
_WIDEST = 40


def sources_table(found: Sequence[SavedDataSource]) -> Text:
    """Data sources, a line each."""
    cells: list[list[str | Text]] = [
        [
            each.id,
            str(each.version),
            each.kind,
            "read-only" if each.read_only else "writes",
            address(each),
            each.secret_ref or "",
        ]
        for each in found
    ]
    return table_of(("ID", "VERSION", "KIND", "MODE", "ADDRESS", "SECRET"), cells, whole=2)


def queries_table(found: Sequence[SavedDataQuery]) -> Text:
    """Data queries, a line each."""
    cells: list[list[str | Text]] = [
        [each.id, str(each.version), each.data_source_id, " ".join(each.sql.split())]
        for each in found
    ]
    return table_of(("ID", "VERSION", "SOURCE", "STATEMENT"), cells, whole=2)


def show_source(found: SavedDataSource, uses: DataSourceUses) -> None:
    """One data source, and what uses it."""
    show(f"{found.id}@{found.version}  {found.name or ''}".rstrip())
    show(f"  kind         {found.kind}")
    show(f"  address      {address(found)}")
    if found.secret_ref is not None:
        show(f"  password     the secret {found.secret_ref}")
    show(f"  mode         {'read-only' if found.read_only else 'reads and writes'}")
    show(f"  connections  at most {found.max_connections} of one process")
    show(f"  statements   at most {found.statement_timeout}")
    if uses.queries:
        show(f"  used by      data queries {', '.join(uses.queries)}")


def show_query(found: SavedDataQuery, uses: DataQueryUses) -> None:
    """One data query, and what uses it."""
    show(f"{found.id}@{found.version}  {found.name or ''}".rstrip())
    show(f"  source   {found.data_source_id}")
    show(f"  rows     at most {found.max_rows:,}")
    if found.cache is not None:
        show(f"  cache    {found.cache.get('ttl')}")
    if uses.workflows:
        show(f"  used by  workflows {', '.join(uses.workflows)}")
    show(found.sql)


def show_run(found: QueryRun) -> None:
    """The rows of a query that was tried."""
    if found.rows:
        names = list(found.rows[0])
        cells: list[list[str | Text]] = [
            [cell(row.get(name), _WIDEST) for name in names] for row in found.rows[:_MOST_SHOWN]
        ]
        show(table_of(names, cells, whole=1))
    rows = "1 row" if found.row_count == 1 else f"{found.row_count:,} rows"
    more = "; -o json gives all" if found.row_count > _MOST_SHOWN else ""
    say(f"{rows} in {found.duration_ms} ms{' from the cache' if found.cached else ''}{more}")


def show_error(error: QueryError) -> None:
    """Why a query, or a connection, failed."""
    say(f"✗ {error.code}: {error.message}", style="red")


def address(found: SavedDataSource) -> str:
    """Where a data source is, on one line."""
    if found.url is not None or found.file is not None:
        return found.url or found.file or ""
    port = "" if found.port is None else f":{found.port}"
    return f"{found.user}@{found.host}{port}/{found.database}"


def as_json(found: object) -> Object:
    """A value with the names of the API."""
    return cast("Object", spelled(found))
