"""Statements by name, for the records that all SQL stores share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from tenuto.store.cold.port import Ask, Insert, Parameters, Row, RowPort, Script
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.session import Transaction

T = TypeVar("T")


class PostgresRowPort(RowPort):
    """Statements on the pool's connections. The driver's rows are as good as tuples."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, name: str, parameters: Parameters) -> list[Row]:
        return cast("list[Row]", await self._database.connections.rows(name, parameters))

    async def write(self, name: str, parameters: Parameters) -> list[Row]:
        self._database.require_writer()
        return await self.rows(name, parameters)

    async def write_beside(self, name: str, parameters: Parameters) -> list[Row]:
        return await self.rows(name, parameters)

    async def transaction(self, script: Callable[[], Script[T]]) -> T:
        return await self._database.connections.transaction(
            lambda transaction: _run(script(), transaction)
        )


async def _run(script: Script[T], transaction: Transaction) -> T:
    try:
        asked = next(script)
        while True:
            found = await transaction.rows(asked.name, _parameters(asked))
            asked = script.send(cast("list[Row]", found))
    except StopIteration as end:
        return cast("T", end.value)


def _parameters(asked: Ask | Insert) -> Parameters:
    """Those of a statement; of many rows one array for each column."""
    if isinstance(asked, Ask):
        return asked.parameters
    columns = zip(*asked.rows, strict=True) if asked.rows else ((),) * len(asked.columns)
    return {name: list(column) for name, column in zip(asked.columns, columns, strict=True)}
