"""Statements by name, for the records that all SQL stores share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from tenuto.store.cold.port import Ask, Each, Insert, Parameters, Row, RowPort, Script, Together
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.queries import part_name, statement_for_each, statements_together
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

    async def transaction(self, script: Callable[[], Script[T]], *, is_pass: bool = False) -> T:
        return await self._database.connections.transaction(
            lambda transaction: _run(script(), transaction), first="begin_pass" if is_pass else None
        )


async def _run(script: Script[T], transaction: Transaction) -> T:
    try:
        asked = next(script)
        while True:
            if isinstance(asked, Together):
                asked = script.send(await _all_of(asked.statements, transaction))
            elif isinstance(asked, Each):
                asked = script.send(await _for_each(asked, transaction))
            else:
                found = await transaction.rows(asked.name, _parameters(asked))
                asked = script.send(cast("list[Row]", found))
    except StopIteration as end:
        return cast("T", end.value)


async def _all_of(statements: Sequence[Ask | Insert], transaction: Transaction) -> list[list[Row]]:
    """The rows of each of these statements, which are sent as one."""
    names = tuple(each.name for each in statements)
    parameters = {
        f"{part_name(place)}__{name}": value
        for place, each in enumerate(statements)
        for name, value in _parameters(each).items()
    }
    [found] = await transaction.fetch(statements_together(names, transaction.schema), parameters)
    return [list(rows or ()) for rows in found]


async def _for_each(asked: Each, transaction: Transaction) -> list[list[Row]]:
    if not asked.rows:
        return []
    types = tuple("bigint" if isinstance(value, int) else "text" for value in asked.rows[0])
    columns = tuple(zip(asked.columns, types, strict=True))
    sent = statement_for_each(asked.name, columns, transaction.schema)
    values = dict(zip(asked.columns, map(list, zip(*asked.rows, strict=True)), strict=True))
    return [list(rows or ()) for (rows,) in await transaction.fetch(sent, values)]


def _parameters(asked: Ask | Insert) -> Parameters:
    """Those of a statement; of many rows one array for each column."""
    if isinstance(asked, Ask):
        return asked.parameters
    columns = zip(*asked.rows, strict=True) if asked.rows else ((),) * len(asked.columns)
    return {name: list(column) for name, column in zip(asked.columns, columns, strict=True)}
