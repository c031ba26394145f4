"""MySQL and MariaDB by aiomysql, with statements that the server prepares.

A statement of a read-only source runs in a transaction that is read-only, in a session whose
transactions are read-only unless a statement says otherwise; one statement is prepared for each
call, one that gives rows, and the session is reset after it. Users that could write past a
transaction, with the privilege FILE or SUPER, are refused.
"""

from __future__ import annotations

import asyncio
import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from pymysql.constants import FIELD_TYPE  # type: ignore[import-untyped]
from pymysql.err import Error, MySQLError  # type: ignore[import-untyped]

from tenuto.data.answers import Answer
from tenuto.data.drivers.mysql_protocol import (
    Column,
    StrictConnection,
    one_statement_at_a_time,
    prepare,
)
from tenuto.data.drivers.received import most_received
from tenuto.data.failures import QueryFailed, refused, told, too_large, too_slow, unavailable
from tenuto.data.named_parameters import Statement
from tenuto.data.network import tls_context
from tenuto.data.protocol import Names
from tenuto.data.source import Bounds, Rows, Server
from tenuto.model.json import JSON

_CLOSING: Final = 2.0
_MOST_ADDRESSES: Final = 3
_RESET: Final = 0x1F
_LARGEST: Final = 2**64 - 1
_SMALLEST: Final = -(2**63)
_POWERFUL: Final = re.compile(r"^GRANT .*\b(?:FILE|SUPER|ALL PRIVILEGES)\b.* ON \*\.\*", re.DOTALL)

_NOT_LET_IN: Final = frozenset({1044, 1045, 1049, 1130, 1251, 1698, 2026, 2054, 2061})
_STOPPED: Final = frozenset({1317, 1969, 3024})
_AGAIN: Final = frozenset({1205, 1213, 3572})
_UNAVAILABLE: Final = frozenset(
    {1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1203, 1226, 1927, 2002, 2003, 2006, 2013, 2027}
)


class MysqlDriver:
    """Opens connections to a server of MySQL or MariaDB."""

    def __init__(
        self,
        server: Server,
        *,
        names: Names,
        password: str,
        read_only: bool,
        statement_seconds: float,
    ) -> None:
        self._server = server
        self._names = names
        self._password = password
        self._read_only = read_only
        self._statement_seconds = statement_seconds

    async def connect(self, seconds: float) -> MysqlConnection:
        """A connection; QueryFailed."""
        server = self._server
        addresses = await self._names.addresses(server.host, server.port)
        hidden = (self._password, server.host, *addresses)
        context = await tls_context(server)
        error: QueryFailed | None = None
        for address in addresses[:_MOST_ADDRESSES]:
            driven = StrictConnection(
                host=address,
                port=server.port,
                user=server.user,
                password=self._password,
                db=server.database,
                charset="utf8mb4",
                ssl=context,
                local_infile=False,
                autocommit=None,
                program_name="tenuto",
                connect_timeout=seconds,
            )
            connection = MysqlConnection(driven, hidden, read_only=self._read_only)
            try:
                async with asyncio.timeout(seconds):
                    await driven._connect()  # noqa: SLF001 - `connect` makes another class
                    await connection.prepare(self._statement_seconds)
            except TimeoutError:
                driven.close()
                error = unavailable("the database does not answer")
            except (OSError, Error, ValueError, struct.error) as raised:
                driven.close()
                error = _failure(raised, hidden, seconds)
                if not error.failure.retryable:
                    raise error from None
            except BaseException:
                driven.close()
                raise
            else:
                return connection
        assert error is not None
        raise error


class MysqlConnection:
    """A connection to a server of MySQL or MariaDB."""

    def __init__(self, driven: Any, hidden: tuple[str, ...], *, read_only: bool) -> None:  # noqa: ANN401
        self._driven = driven
        self._hidden = hidden
        self._read_only = read_only
        self._is_clean = True
        self._settings = ""

    @property
    def is_usable(self) -> bool:
        return self._is_clean and not self._driven.closed

    async def prepare(self, statement_seconds: float) -> None:
        """Make it ready; QueryFailed if a source that is read-only could write."""
        milliseconds = max(int(statement_seconds * 1000), 1)
        only = int(self._read_only)
        more = (
            f"max_statement_time = {milliseconds / 1000}, tx_read_only = {only}"
            if "MariaDB" in self._driven.get_server_info()
            else f"max_execution_time = {milliseconds}, transaction_read_only = {only}"
        )
        self._settings = f"SET SESSION time_zone = '+00:00', {more}"
        await one_statement_at_a_time(self._driven)
        await self._driven.query(self._settings)
        if self._read_only:
            granted = await self._texts("SHOW GRANTS FOR CURRENT_USER")
            if any(_POWERFUL.search(each) for each in granted):
                raise unavailable(
                    "the user of a read-only data source has the privilege FILE, SUPER or all: "
                    "name another user",
                    retryable=False,
                )

    async def version(self) -> str:
        # MariaDB tells old clients to be another version first.
        info = str(self._driven.get_server_info()).removeprefix("5.5.5-")
        return f"{'MariaDB' if 'MariaDB' in info else 'MySQL'} {info.partition('-')[0]}"

    async def run(
        self, statement: Statement, args: Mapping[str, JSON], *, bounds: Bounds, seconds: float
    ) -> Rows:
        """The rows of a statement."""
        self._is_clean = False
        self._driven.most = most_received(bounds)
        bound = [_argument(name, args.get(name)) for name in statement.places]
        try:
            async with asyncio.timeout(seconds):
                mode = "READ ONLY" if self._read_only else "READ WRITE"
                await self._driven.query(f"START TRANSACTION {mode}")
                rows = await self._answer(statement, bound, bounds)
                if not self._read_only:
                    await self._driven.query("COMMIT")
                await self._forget()
        except TimeoutError:
            raise too_slow(seconds) from None
        except (OSError, Error, ValueError, struct.error) as error:
            if self._driven.is_exceeded:
                raise too_large(bounds.bytes) from None
            raise _failure(error, self._hidden, seconds) from None
        else:
            self._is_clean = True
            return rows
        finally:
            if not self._is_clean:
                # What the statement still does, or has left, ends with its connection.
                self._driven.close()

    async def close(self) -> None:
        self._is_clean = False
        try:
            with suppress(Exception):
                async with asyncio.timeout(_CLOSING):
                    await self._driven.ensure_closed()
        finally:
            self._driven.close()

    async def _answer(self, statement: Statement, args: list[object], bounds: Bounds) -> Rows:
        prepared = await prepare(self._driven, statement.marked())
        if prepared.parameters != len(args):
            raise refused("the database finds other parameters in the statement than there are")
        if self._read_only and not prepared.columns:
            # A procedure could end the transaction, and begin one that writes.
            raise refused("a statement of a read-only data source gives rows: a SELECT does")
        columns = await prepared.execute(args)
        if not columns:
            await prepared.close()
            return []
        answer = Answer([each.name for each in columns], bounds)
        async for row in prepared.rows(columns):
            answer.add(
                [[_shown(value, column) for value, column in zip(row, columns, strict=True)]]
            )
        await prepared.close()
        return answer.rows

    async def _forget(self) -> None:
        """Roll back, and reset the session: variables, locks, temporary tables, settings."""
        await self._driven._execute_command(_RESET, b"")  # noqa: SLF001
        await self._driven._read_packet()  # noqa: SLF001
        await self._driven.query(self._settings)

    async def _texts(self, sql: str) -> list[str]:
        await self._driven.query(sql)
        rows = self._driven._result.rows or ()  # noqa: SLF001
        return [str(row[0]) for row in rows]


def _argument(name: str, value: JSON) -> object:
    match value:
        case bool():
            return value
        case int() if not _SMALLEST <= value <= _LARGEST:
            raise refused(f":{name} is a whole number of more than 64 bits")
        case list() | dict():
            return msgspec.json.encode(value).decode()
        case _:
            return value


def _shown(value: object, column: Column) -> object:
    if isinstance(value, datetime) and column.type == FIELD_TYPE.TIMESTAMP:
        return value.replace(tzinfo=UTC)
    if column.type == FIELD_TYPE.JSON and isinstance(value, str):
        return msgspec.json.decode(value)
    return value


def _failure(error: Exception, hidden: tuple[str, ...], seconds: float) -> QueryFailed:
    """The failure of a step, by what the driver says."""
    if not isinstance(error, MySQLError):
        return unavailable("the database cannot be reached, or has closed the connection")
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    if number in _STOPPED:
        return too_slow(seconds)
    if number in _NOT_LET_IN:
        return unavailable("the database refuses its user or password", retryable=False)
    if number in _UNAVAILABLE or not number:
        return unavailable("the database is not available, or has too much to do")
    words = told(str(error.args[1]) if len(error.args) > 1 else "", hidden)
    return refused(words, details={"errorNumber": number}, retryable=number in _AGAIN)
