"""The row port of cold records, over a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tenuto.store.cold.port import Ask, Insert, Parameters, Row, Script
from tenuto.store.sqlite.file import File
from tenuto.store.sqlite.session import Column, Session, as_json

T = TypeVar("T")


class SqliteRowPort:
    """Statements by name; a list is JSON, a truth value is 0 or 1."""

    def __init__(self, file: File) -> None:
        self._file = file

    async def rows(self, name: str, parameters: Parameters) -> list[Row]:
        bound = _bound(parameters)
        return await self._file.look(lambda session: session.rows(name, bound))

    async def write(self, name: str, parameters: Parameters) -> list[Row]:
        self._file.require_writer()
        return await self.write_beside(name, parameters)

    async def write_beside(self, name: str, parameters: Parameters) -> list[Row]:
        bound = _bound(parameters)
        return await self._file.write_beside(lambda session: session.rows(name, bound))

    async def transaction(self, script: Callable[[], Script[T]]) -> T:
        return await self._file.write_beside(lambda session: _driven(session, script()))


def _driven(session: Session, script: Script[T]) -> T:
    rows: list[Row] = []
    asked = next(script)
    while True:
        if isinstance(asked, Insert):
            session.insert(asked.name, [[_column(each) for each in row] for row in asked.rows])
            rows = []
        else:
            assert isinstance(asked, Ask)
            rows = session.rows(asked.name, _bound(asked.parameters))
        try:
            asked = script.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result


def _bound(parameters: Parameters) -> dict[str, Column]:
    return {name: _column(value) for name, value in parameters.items()}


def _column(value: Any) -> Column:  # noqa: ANN401 - checked as SQLite takes it
    if isinstance(value, list):
        return as_json(value)
    return int(value) if isinstance(value, bool) else value
