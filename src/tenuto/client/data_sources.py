"""The data sources and data queries of a server."""

from __future__ import annotations

from typing import cast

from tenuto.client.operations import Operations
from tenuto.client.pages import every
from tenuto.client.schedules import of_input, tag_of
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.workspace.data_values import (
    DataQueryUses,
    DataSourceUses,
    QueryRun,
    SavedDataQuery,
    SavedDataSource,
    SourceTest,
)
from tenuto.workspace.values import Page


class RemoteDataSources:
    """Databases that data queries read: PostgreSQL, MySQL, SQLite."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedDataSource:
        """Save a data source, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is its version; Conflict.
        """
        id = document.get("id") if isinstance(document, dict) else None
        if isinstance(id, str) and id:
            put = self._operations.put_data_source(id, document, if_match=tag_of(only_after))
            return await of_input(put)
        return await of_input(self._operations.add_data_source(document))

    async def get(self, id: str) -> SavedDataSource:
        """A data source as it is saved; NotFound."""
        return await self._operations.get_data_source(id)

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedDataSource]:
        """A page of data sources, ordered by id."""
        return await self._operations.list_data_sources(limit=limit, cursor=cursor)

    async def uses(self, id: str) -> DataSourceUses:
        """The data queries that name a data source; NotFound."""
        found = await self._operations.get_data_source(id, include="uses")
        return found.used_by or DataSourceUses()

    async def test(self, id: str) -> SourceTest:
        """Connect to the database of a data source; NotFound."""
        return await self._operations.test_data_source(id)

    async def remove(self, id: str) -> None:
        """Remove a data source; Conflict while queries name it. NotFound."""
        await self._operations.remove_data_source(id)

    async def list(self) -> list[SavedDataSource]:
        """Every data source, ordered by id."""
        return await every(self._operations.list_data_sources)


class RemoteDataQueries:
    """Statements with named parameters, which workflows run by their ids."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedDataQuery:
        """Save a data query, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is its version; Conflict.
        """
        id = document.get("id") if isinstance(document, dict) else None
        if isinstance(id, str) and id:
            put = self._operations.put_data_query(id, document, if_match=tag_of(only_after))
            return await of_input(put)
        return await of_input(self._operations.add_data_query(document))

    async def get(self, id: str) -> SavedDataQuery:
        """A data query as it is saved; NotFound."""
        return await self._operations.get_data_query(id)

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[SavedDataQuery]:
        """A page of data queries, ordered by id."""
        return await self._operations.list_data_queries(limit=limit, cursor=cursor)

    async def uses(self, id: str) -> DataQueryUses:
        """The workflows that run a data query; NotFound."""
        found = await self._operations.get_data_query(id, include="uses")
        return found.used_by or DataQueryUses()

    async def run(self, id: str, args: Given = None) -> QueryRun:
        """Try a data query; NotFound. InvalidInput where the arguments do not fit."""
        given = cast("Object", {} if args is None else as_json(args))
        return await of_input(self._operations.run_data_query(id, args=given))

    async def remove(self, id: str) -> None:
        """Remove a data query; Conflict while workflows run it. NotFound."""
        await self._operations.remove_data_query(id)

    async def list(self) -> list[SavedDataQuery]:
        """Every data query, ordered by id."""
        return await every(self._operations.list_data_queries)
