"""PostgreSQL by asyncpg.

A statement of a read-only source runs in a transaction that is read-only, as the body of a cursor:
the grammar of the server allows nothing there but a query, and one statement alone. The transaction
has taken its snapshot before, so that it cannot be made a writing one, and is always rolled back.
Roles that could write past a transaction, such as superusers, are refused.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import asyncpg  # type: ignore[import-untyped]
import msgspec

from tenuto.data.answers import Answer
from tenuto.data.drivers.postgresql_arguments import Misfit, argument
from tenuto.data.drivers.received import Received, most_received
from tenuto.data.failures import (
    QueryFailed,
    refused,
    told,
    too_large,
    too_slow,
    unavailable,
    wrong_arguments,
)
from tenuto.data.named_parameters import Statement
from tenuto.data.network import tls_context
from tenuto.data.protocol import Names
from tenuto.data.source import Bounds, Rows, Server
from tenuto.model.errors import Problem
from tenuto.model.json import JSON

_AT_ONCE: Final = 500
"""Rows of one round trip."""
_FETCH: Final = "FETCH FORWARD 500 FROM tenuto_answer"
_READING: Final = "BEGIN TRANSACTION READ ONLY; SELECT 1"
"""With a snapshot: from then on the transaction cannot be made one that writes."""
_WRITING: Final = "BEGIN TRANSACTION READ WRITE"
_CLOSING: Final = 2.0
_MOST_ADDRESSES: Final = 3
_RESET: Final = (
    "ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL"
)
_WRITES_ELSEWHERE: Final = """
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_roles AS role
    WHERE
        (
            role.rolsuper OR role.rolreplication
            OR role.rolname IN ('pg_execute_server_program', 'pg_write_server_files')
        )
        AND pg_catalog.pg_has_role(session_user, role.oid, 'MEMBER')
)
"""
_UNAVAILABLE: Final = ("08", "53", "57", "58", "XX")
"""Classes of errors that are about the server, and not about the statement."""
_AGAIN: Final = ("40",)
_STOPPED: Final = "57014"
_NOT_LET_IN: Final = "28"
_NO_DATABASE: Final = "3D000"
_ERRORS: Final = (
    *(OSError, EOFError, ValueError, asyncpg.PostgresError),
    *(asyncpg.InterfaceError, asyncpg.InternalClientError),
)
"""What the driver raises, also where a server does not speak its protocol."""


class PostgresqlDriver:
    """Opens connections to a PostgreSQL server."""

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

    async def connect(self, seconds: float) -> PostgresqlConnection:
        """A connection; QueryFailed."""
        server = self._server
        addresses = await self._names.addresses(server.host, server.port)
        hidden = (self._password, server.host, *addresses)
        context = await tls_context(server)
        error: QueryFailed | None = None
        for address in addresses[:_MOST_ADDRESSES]:
            try:
                found = await self._open(address, context, seconds)
            except _ERRORS as raised:
                error = _failure(raised, hidden, seconds)
                if not error.failure.retryable:
                    raise error from None
                continue
            connection = PostgresqlConnection(found, hidden, read_only=self._read_only)
            try:
                async with asyncio.timeout(seconds):
                    await connection.prepare()
            except BaseException:
                await connection.close()
                raise
            return connection
        assert error is not None
        raise error

    async def _open(self, address: str, context: Any, seconds: float) -> Any:  # noqa: ANN401
        """Every value is named: those of the environment are for the store."""
        settings = {
            "application_name": "tenuto",
            "TimeZone": "UTC",
            "IntervalStyle": "iso_8601",
            "statement_timeout": str(int(self._statement_seconds * 1000)),
            "default_transaction_read_only": "on" if self._read_only else "off",
        }
        return await asyncpg.connect(
            host=address,
            port=self._server.port,
            user=self._server.user,
            password=self._password,
            passfile="",
            database=self._server.database,
            ssl=context or False,
            direct_tls=False,
            target_session_attrs="any",
            timeout=seconds,
            statement_cache_size=0,
            server_settings=settings,
        )


class PostgresqlConnection:
    """A connection to a PostgreSQL server."""

    def __init__(self, driven: Any, hidden: tuple[str, ...], *, read_only: bool) -> None:  # noqa: ANN401
        self._driven = driven
        self._hidden = hidden
        self._read_only = read_only
        self._is_clean = True
        self._received = Received(driven._transport)  # noqa: SLF001 - nothing else counts bytes

    @property
    def is_usable(self) -> bool:
        return self._is_clean and not self._driven.is_closed()

    async def prepare(self) -> None:
        """Make it ready; QueryFailed if a source that is read-only could write."""
        try:
            for name in ("json", "jsonb"):
                await self._driven.set_type_codec(
                    name, schema="pg_catalog", encoder=_encoded, decoder=_decoded, format="text"
                )
            await self._driven.set_type_codec(
                "interval", schema="pg_catalog", encoder=str, decoder=str, format="text"
            )
            if self._read_only and await self._driven.fetchval(_WRITES_ELSEWHERE):
                raise unavailable(
                    "the user of a read-only data source is a superuser, or may write files or "
                    "run programs on the server: name another user",
                    retryable=False,
                )
        except _ERRORS as error:
            raise _failure(error, self._hidden, 0) from None

    async def version(self) -> str:
        version = self._driven.get_server_version()
        return f"PostgreSQL {version.major}.{version.minor}"

    async def run(
        self, statement: Statement, args: Mapping[str, JSON], *, bounds: Bounds, seconds: float
    ) -> Rows:
        """The rows of a statement."""
        self._is_clean = False
        self._received.reset(most_received(bounds))
        try:
            async with asyncio.timeout(seconds):
                await self._driven.execute(_READING if self._read_only else _WRITING)
                rows = await self._answer(statement, args, bounds)
                if not self._read_only:
                    await self._driven.execute("COMMIT")
                await self._driven.execute(_RESET)
        except TimeoutError:
            raise too_slow(seconds) from None
        except _ERRORS as error:
            if self._received.is_exceeded:
                raise too_large(bounds.bytes) from None
            raise _failure(error, self._hidden, seconds) from None
        else:
            self._is_clean = True
            return rows
        finally:
            if not self._is_clean:
                await self._clean()

    async def close(self) -> None:
        self._is_clean = False
        try:
            with suppress(Exception):
                await self._driven.close(timeout=_CLOSING)
        finally:
            self._driven.terminate()

    async def _answer(self, statement: Statement, args: Mapping[str, JSON], bounds: Bounds) -> Rows:
        if not self._read_only:
            prepared = await self._driven.prepare(statement.numbered())
            bound = _bound(statement, args, prepared.get_parameters())
            names = [each.name for each in prepared.get_attributes()]
            answer = Answer(names, bounds)
            cursor = await prepared.cursor(*bound)
            while rows := await cursor.fetch(_AT_ONCE):
                answer.add(rows)
            return answer.rows
        declared = await self._driven.prepare(_cursor_of(statement))
        await declared.fetch(*_bound(statement, args, declared.get_parameters()))
        fetched = await self._driven.prepare(_FETCH)
        answer = Answer([each.name for each in fetched.get_attributes()], bounds)
        while True:
            rows = await fetched.fetch()
            answer.add(rows)
            if len(rows) < _AT_ONCE:
                return answer.rows

    async def _clean(self) -> None:
        """After a failure: the session is as it was, or the connection is not used again."""
        try:
            async with asyncio.timeout(_CLOSING):
                await self._driven.execute(_RESET)
        except Exception:  # noqa: BLE001 - whatever it is, the connection is of no use
            self._driven.terminate()
        except BaseException:
            self._driven.terminate()
            raise
        else:
            self._is_clean = True


def _cursor_of(statement: Statement) -> str:
    """A cursor whose body is the statement of the user: no value is part of the text."""
    return f"DECLARE tenuto_answer NO SCROLL CURSOR FOR {statement.numbered()}"


def _bound(
    statement: Statement, args: Mapping[str, JSON], types: tuple[asyncpg.Type, ...]
) -> list[object]:
    """Arguments for the driver; QueryFailed with all that do not fit their types."""
    problems: list[Problem] = []
    found: list[object] = []
    for name, type_ in zip(statement.names, types, strict=True):
        try:
            found.append(argument(args.get(name), type_.name))
        except Misfit as error:
            problems.append(
                Problem(
                    code="TEN-2779",
                    path=f"$.args.{name}",
                    message=f"{error} (the database takes {type_.name})",
                    advice="Give a value of that type, or cast the parameter in the statement.",
                )
            )
    if problems:
        raise wrong_arguments(problems)
    return found


def _failure(error: Exception, hidden: tuple[str, ...], seconds: float) -> QueryFailed:
    """The failure of a step, by what the driver says."""
    if not isinstance(error, asyncpg.PostgresError):
        return unavailable("the database cannot be reached, or has closed the connection")
    state = error.sqlstate or ""
    message = told(getattr(error, "message", None) or str(error), hidden)
    details: JSON = {"sqlState": state}
    if state == _STOPPED:
        return too_slow(seconds)
    if state.startswith(_NOT_LET_IN) or state == _NO_DATABASE:
        return unavailable("the database refuses its user or password", retryable=False)
    if state.startswith(_UNAVAILABLE) or isinstance(error, asyncpg.PostgresConnectionError):
        return unavailable("the database is not available, or has too much to do")
    return refused(message, details=details, retryable=state.startswith(_AGAIN))


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        # A number beyond those of a double: it is shown as an infinity is.
        return json.loads(text)
