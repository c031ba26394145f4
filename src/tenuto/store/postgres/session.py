"""One connection: statements by name, and transactions that leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.errors import CommitUnknown
from tenuto.store.postgres.driver import Connection, Row
from tenuto.store.postgres.faults import (
    READ_ONLY,
    first_line,
    is_broken,
    may_go_again,
    sqlstate,
    translated,
)
from tenuto.store.postgres.queries import Column, Parameters, Statement, commands, statement
from tenuto.store.postgres.server import Server
from tenuto.store.retry_budget import RetryBudget

T = TypeVar("T")

Recorder: TypeAlias = Callable[[str, Sequence[Column]], None]

NO_BUDGET = "TEN-4023"
TRIES = 5
"""How often a transaction that was rolled back by a conflict is tried."""

_GOODBYE_PATIENCE = 2.0


async def repeated(work: Callable[[], Awaitable[T]], budget: RetryBudget) -> T:
    """Do `work`, and repeat it while it is rolled back by conflicts and there is a budget."""
    budget.tried()
    for attempt in range(1, TRIES + 1):
        try:
            return await work()
        except StoreUnavailable as error:
            cause = error.__cause__
            if cause is None or not may_go_again(cause) or attempt == TRIES:
                raise
            if not budget.take():
                raise no_budget(error) from cause
    raise AssertionError("a loop that returns or raises")


def no_budget(error: StoreUnavailable) -> StoreUnavailable:
    """The error of an operation that would be repeated, had there not been too many retries."""
    return StoreUnavailable(f"{error.message}; too many operations are repeated", code=NO_BUDGET)


class Session:
    """A connection to the server, used by one task at a time; it comes back by itself."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.schema = server.address.schema
        self.statements = 0
        """How many statements were sent: tests measure the cost of an idle store with it."""
        self.recorder: Recorder | None = None
        """Receives the statements that are sent, for measurements."""
        self._connection: Connection | None = None
        self._in_use = asyncio.Lock()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            try:
                await connection.close(timeout=_GOODBYE_PATIENCE)
            except Exception as error:
                connection.terminate()
                if not is_broken(error):
                    raise

    def abandon(self) -> None:
        """Close the socket without a goodbye message."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        return await self.fetch(statement(name, self.schema), parameters or {})

    async def fetch(self, sent: Statement, parameters: Parameters) -> list[Row]:
        """One statement that may be repeated, so that a connection that broke is no matter."""
        return await self._repeatable(
            lambda connection: self._alone(connection, sent, parameters), sent
        )

    async def look(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Do `work`, which only reads: all its statements see the same moment."""

        async def once(connection: Connection) -> T:
            await self._command(connection, "begin_look")
            found = await work(Transaction(self, connection))
            await self._command(connection, "rollback")
            return found

        return await self._repeatable(once)

    async def commit(self, sent: Statement, parameters: Parameters) -> list[Row]:
        """One statement that is a transaction by itself, durable when this returns.

        CommitUnknown when the connection broke before the answer came.
        """
        if self.server.is_pooled:
            return await self.transaction(lambda inner: inner.fetch(sent, parameters))
        async with self._in_use:
            connection = await self._connected()
            try:
                return await self._send(connection, sent, parameters)
            except BaseException as error:
                await self._fail(connection, error, may_be_durable=True)
                raise

    async def transaction(
        self,
        work: Callable[[Transaction], Awaitable[T]],
        *,
        begin: str | None = None,
        first: str | None = None,
    ) -> T:
        """Do `work` in one transaction that is durable when this returns.

        `first`: statements without parameters that are sent with its beginning.
        """
        async with self._in_use:
            connection = await self._connected()
            try:
                begins = (begin or self._begin, first) if first else (begin or self._begin,)
                await self._command(connection, *begins)
                result = await work(Transaction(self, connection))
            except BaseException as error:
                await self._fail(connection, error)
                raise
            try:
                await self._command(connection, "commit")
            except BaseException as error:
                await self._fail(connection, error, may_be_durable=True)
                raise
            return result

    async def _repeatable(
        self, work: Callable[[Connection], Awaitable[T]], sent: Statement | None = None
    ) -> T:
        has_been_broken = False
        budget = self.server.budget
        budget.tried()
        async with self._in_use:
            for attempt in range(1, TRIES + 1):
                try:
                    connection = await self._connected()
                except StoreUnavailable as error:
                    if has_been_broken and sent is not None and sent.writes:
                        raise _in_doubt(error) from error
                    raise
                try:
                    return await work(connection)
                except BaseException as error:
                    await self._leave(connection, error)
                    if not isinstance(error, Exception):
                        raise
                    is_cut = is_broken(error)
                    is_first_cut = is_cut and not has_been_broken
                    has_been_broken = has_been_broken or is_cut
                    may_repeat = attempt < TRIES and (is_first_cut or may_go_again(error))
                    if may_repeat and budget.take():
                        continue
                    known = translated(error, self.server.address)
                    if isinstance(known, StoreUnavailable):
                        known = no_budget(known) if may_repeat else known
                        if has_been_broken and sent is not None and sent.writes:
                            known = _in_doubt(known)
                    _raise_instead(known, error)
                    raise
        raise AssertionError("a loop that returns or raises")

    @property
    def _begin(self) -> str:
        return "begin_pooled" if self.server.is_pooled else "begin"

    async def _alone(
        self, connection: Connection, sent: Statement, parameters: Parameters
    ) -> list[Row]:
        if not self.server.is_pooled:
            return await self._send(connection, sent, parameters)
        await self._command(connection, self._begin)
        found = await self._send(connection, sent, parameters)
        await self._command(connection, "commit")
        return found

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self.server.connect()
        return self._connection

    async def _command(self, connection: Connection, *names: str) -> None:
        """Statements without parameters, sent as one."""
        self.statements += 1
        sql = commands(names, self.schema)
        if self.recorder is not None:
            self.recorder(sql, ())
        await connection.execute(sql)

    async def _send(
        self, connection: Connection, sent: Statement, parameters: Parameters
    ) -> list[Row]:
        self.statements += 1
        arguments = sent.arguments(parameters)
        if self.recorder is not None:
            self.recorder(sent.sql, arguments)
        return await connection.fetch(sent.sql, *arguments)

    async def _leave(self, connection: Connection, error: BaseException) -> None:
        """After an error no transaction stays open; a connection in doubt is given up."""
        is_usable = isinstance(error, Exception) and not is_broken(error)
        # A server that has become read-only is the wrong one by now: ask for another.
        if is_usable and sqlstate(error) != READ_ONLY and not connection.is_closed():
            if not connection.is_in_transaction():
                return
            try:
                await self._command(connection, "rollback")
                return
            except Exception as second:
                if not is_broken(second):
                    raise
        self.abandon()

    async def _fail(
        self, connection: Connection, error: BaseException, *, may_be_durable: bool = False
    ) -> None:
        """Leave, and raise the store protocol's error, unless `error` is no failure."""
        await self._leave(connection, error)
        if may_be_durable and is_broken(error):
            raise CommitUnknown(first_line(error) or type(error).__name__) from error
        if isinstance(error, Exception):
            self._raise_translated(error)

    def _raise_translated(self, error: Exception) -> None:
        """Raise the store protocol's error, if `error` translates to another one."""
        _raise_instead(translated(error, self.server.address), error)


def _raise_instead(known: Exception, error: Exception) -> None:
    if known is not error:
        raise known from error


def _in_doubt(error: StoreUnavailable) -> StoreUnavailable:
    """A connection broke under a write: it may be durable."""
    return may_be_written(f"not known to be written: {error.message}", error.advice)


class Transaction:
    """Statements of one transaction."""

    def __init__(self, session: Session, connection: Connection) -> None:
        self._session = session
        self._connection = connection
        self.schema = session.schema

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        return await self.fetch(statement(name, self.schema), parameters or {})

    async def fetch(self, sent: Statement, parameters: Parameters) -> list[Row]:
        return await self._session._send(self._connection, sent, parameters)  # noqa: SLF001

    async def run_script(self, sql: str, *, patience: float) -> None:
        """Several statements without parameters."""
        self._session.statements += 1
        await self._connection.execute(sql, timeout=patience)
