"""The row port of cold records, over SQLite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tenuto.store.cold.port import Ask, Each, Insert, Parameters, Row, Script, Together
from tenuto.store.sqlite.session import Column, Session, as_json

T = TypeVar("T")


class Database(Protocol):
    """How a port reaches a connection: of a file, or of a store in memory."""

    async def look(self, job: Callable[[Session], T]) -> T:
        """For one statement that reads."""
        ...

    async def write_beside(self, job: Callable[[Session], T]) -> T:
        """In one transaction, also by a process beside the engine."""
        ...

    def require_writer(self) -> str:
        """The id of this process, which may write everything."""
        ...


class SqliteRowPort:
    """Statements by name; a list is JSON, a truth value is 0 or 1."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, name: str, parameters: Parameters) -> list[Row]:
        bound = _bound(parameters)
        return await self._database.look(lambda session: session.rows(name, bound))

    async def write(self, name: str, parameters: Parameters) -> list[Row]:
        self._database.require_writer()
        return await self.write_beside(name, parameters)

    async def write_beside(self, name: str, parameters: Parameters) -> list[Row]:
        asked = Ask(name, parameters)
        return await self._database.write_beside(lambda session: self._written(session, asked))

    async def transaction(
        self,
        script: Callable[[], Script[T]],
        *,
        is_pass: bool = False,  # noqa: ARG002 - there is one writer
    ) -> T:
        return await self._database.write_beside(lambda session: self.driven(session, script()))

    def driven(self, session: Session, script: Script[T]) -> T:
        """What a script returns, in the transaction under way."""
        return driven(session, script, self._written)

    def _written(self, session: Session, asked: Ask | Insert) -> list[Row]:
        """The rows of one statement of a transaction."""
        return written(session, asked)


def driven(
    session: Session, script: Script[T], write: Callable[[Session, Ask | Insert], list[Row]]
) -> T:
    """What a script returns, each of whose statements is executed by `write`."""
    asked = next(script)
    while True:
        try:
            if isinstance(asked, Together):
                asked = script.send([write(session, each) for each in asked.statements])
            elif isinstance(asked, Each):
                times = [dict(zip(asked.columns, row, strict=True)) for row in asked.rows]
                asked = script.send([write(session, Ask(asked.name, each)) for each in times])
            else:
                asked = script.send(write(session, asked))
        except StopIteration as end:
            result: T = end.value
            return result


def written(session: Session, asked: Ask | Insert) -> list[Row]:
    """The rows of one statement of a transaction."""
    if isinstance(asked, Ask):
        return session.rows(asked.name, _bound(asked.parameters))
    session.insert(asked.name, [[_column(each) for each in row] for row in asked.rows])
    return []


def _bound(parameters: Parameters) -> dict[str, Column]:
    return {name: _column(value) for name, value in parameters.items()}


def _column(value: Any) -> Column:  # noqa: ANN401 - checked as SQLite takes it
    if isinstance(value, list):
        return as_json(value)
    return int(value) if isinstance(value, bool) else value
