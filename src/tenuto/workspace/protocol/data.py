"""Data sources and data queries of a workspace."""

from __future__ import annotations

from typing import Protocol

from tenuto.model.json import JSON, Given
from tenuto.workspace.data_values import (
    DataQueryUses,
    DataSourceUses,
    QueryRun,
    SavedDataQuery,
    SavedDataSource,
    SourceTest,
)
from tenuto.workspace.values import Page


class DataSources(Protocol):
    """Databases that data queries read: PostgreSQL, MySQL, SQLite."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedDataSource:
        """Save a data source, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is its version; Conflict.
        """
        ...

    async def get(self, id: str) -> SavedDataSource:
        """A data source as it is saved; NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedDataSource]:
        """A page of data sources, ordered by id."""
        ...

    async def uses(self, id: str) -> DataSourceUses:
        """The data queries that name a data source; NotFound."""
        ...

    async def test(self, id: str) -> SourceTest:
        """Connect to the database of a data source; NotFound."""
        ...

    async def remove(self, id: str) -> None:
        """Remove a data source; Conflict while queries name it. NotFound."""
        ...

    async def list(self) -> list[SavedDataSource]:
        """Every data source, ordered by id."""
        ...


class DataQueries(Protocol):
    """Statements with named parameters, which workflows run by their ids."""

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedDataQuery:
        """Save a data query, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is its version; Conflict.
        """
        ...

    async def get(self, id: str) -> SavedDataQuery:
        """A data query as it is saved; NotFound."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedDataQuery]:
        """A page of data queries, ordered by id."""
        ...

    async def uses(self, id: str) -> DataQueryUses:
        """The workflows that run a data query; NotFound."""
        ...

    async def run(self, id: str, args: Given = None) -> QueryRun:
        """Try a data query; NotFound. InvalidInput where the arguments do not fit."""
        ...

    async def remove(self, id: str) -> None:
        """Remove a data query; Conflict while workflows run it. NotFound."""
        ...

    async def list(self) -> list[SavedDataQuery]:
        """Every data query, ordered by id."""
        ...
