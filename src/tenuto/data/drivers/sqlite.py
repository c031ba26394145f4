"""SQLite by apsw, in threads of their own.

A file of a read-only source is opened for reading, the session refuses writes, and an authorizer
allows nothing but reading: no other files, no settings, no extensions. A statement that takes too
long, or is cancelled, is stopped from inside.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import apsw
import msgspec

from tenuto.data.answers import Answer
from tenuto.data.failures import QueryFailed, refused, told, too_slow, unavailable
from tenuto.data.named_parameters import Statement
from tenuto.data.source import Bounds, Rows
from tenuto.model.json import JSON

T = TypeVar("T")

_STORE: Final = 0x54656E75
"""The `application_id` of a store of this product."""
_STEPS: Final = 10_000
"""Steps of the engine between looks at the time."""
_BUSY_MS: Final = 1_000
_LARGEST: Final = 2**63 - 1
_LONGEST_VALUE: Final = 1_000_000
"""Bytes of a value on the way to an answer, at least; a row is read as a whole."""
_MOST_COLUMNS: Final = 256

_NOTHING: Final = re.compile(r"(?:\s|;|--[^\n]*|/\*.*?\*/)*", re.DOTALL)
"""What may stand behind a statement."""
_READS: Final = frozenset(
    {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE}
)
_NEVER: Final = frozenset(
    {
        apsw.SQLITE_ATTACH,
        apsw.SQLITE_DETACH,
        apsw.SQLITE_PRAGMA,
        apsw.SQLITE_TRANSACTION,
        apsw.SQLITE_SAVEPOINT,
        apsw.SQLITE_CREATE_VTABLE,
        apsw.SQLITE_DROP_VTABLE,
    }
)
_FORBIDDEN_FUNCTIONS: Final = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "zipfile"}
)


class SqliteDriver:
    """Opens a file."""

    def __init__(
        self,
        folder: Path,
        file: str,
        threads: ThreadPoolExecutor,
        ticks: Callable[[], float],
        *,
        read_only: bool,
    ) -> None:
        """`folder`: of the tenant; `file` is below it."""
        self._ticks = ticks
        self._folder = folder
        self._file = file
        self._threads = threads
        self._read_only = read_only

    async def connect(self, seconds: float) -> SqliteConnection:  # noqa: ARG002 - a file is there
        """A connection; QueryFailed."""
        loop = asyncio.get_running_loop()
        opened = await loop.run_in_executor(self._threads, self._open)
        return SqliteConnection(opened, self._threads, self._ticks, read_only=self._read_only)

    def _open(self) -> apsw.Connection:
        path = os.path.realpath(self._folder / self._file)
        root = os.path.realpath(self._folder)
        if os.path.commonpath((root, path)) != root or not os.path.isfile(path):  # noqa: PTH113
            raise unavailable("the file of the data source is not there", retryable=False)
        mode = apsw.SQLITE_OPEN_READONLY if self._read_only else apsw.SQLITE_OPEN_READWRITE
        try:
            opened = apsw.Connection(path, flags=mode | apsw.SQLITE_OPEN_NOFOLLOW)
        except apsw.Error:
            raise unavailable("the file of the data source cannot be opened") from None
        try:
            self._confine(opened)
        except apsw.Error:
            opened.close()
            message = "the file of the data source is not a database of SQLite, or is locked"
            raise unavailable(message) from None
        except QueryFailed:
            opened.close()
            raise
        return opened

    def _confine(self, opened: apsw.Connection) -> None:
        opened.set_busy_timeout(_BUSY_MS)
        opened.enable_load_extension(False)  # noqa: FBT003 - of apsw
        opened.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        opened.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        opened.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
        opened.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        opened.limit(apsw.SQLITE_LIMIT_WORKER_THREADS, 0)
        opened.limit(apsw.SQLITE_LIMIT_COLUMN, _MOST_COLUMNS)
        [(application,)] = opened.execute("PRAGMA application_id")
        if application == _STORE:
            raise unavailable("a store of Tenuto is not a data source", retryable=False)
        if self._read_only:
            opened.execute("PRAGMA query_only = 1")
        opened.authorizer = _allows_reading if self._read_only else _allows_writing


class SqliteConnection:
    """An open file."""

    def __init__(
        self,
        opened: apsw.Connection,
        threads: ThreadPoolExecutor,
        ticks: Callable[[], float],
        *,
        read_only: bool,
    ) -> None:
        self._ticks = ticks
        self._opened = opened
        self._threads = threads
        self._read_only = read_only
        self._stop_at = math.inf
        self.is_usable = True
        opened.set_progress_handler(self._is_over, _STEPS)

    async def run(
        self, statement: Statement, args: Mapping[str, JSON], *, bounds: Bounds, seconds: float
    ) -> Rows:
        """The rows of a statement."""
        self._stop_at = self._ticks() + seconds
        bound = {name: _argument(name, value) for name, value in args.items()}
        try:
            return await self._aside(lambda: self._rows(statement, bound, bounds))
        except apsw.InterruptError:
            raise too_slow(seconds) from None
        except (apsw.BusyError, apsw.LockedError, apsw.CantOpenError, apsw.IOError):
            raise unavailable("the file of the data source is locked, or cannot be read") from None
        except (apsw.Error, UnicodeDecodeError, ValueError, TypeError, KeyError) as error:
            raise refused(_words(error)) from None

    async def version(self) -> str:
        return f"SQLite {apsw.sqlite_lib_version()}"

    async def close(self) -> None:
        self.is_usable = False
        with suppress(RuntimeError):  # the threads have ended with the process
            await self._aside(self._opened.close)

    async def _aside(self, work: Callable[[], T]) -> T:
        """Work in a thread; cancelled, it is stopped, and waited for."""
        doing = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            self._stop_at = -math.inf
            with suppress(Exception):
                await asyncio.shield(doing)
            raise

    def _rows(
        self, statement: Statement, args: dict[str, apsw.SQLiteValue], bounds: Bounds
    ) -> Rows:
        if self._read_only:
            return self._read(statement, args, bounds)
        with self._unauthorized():
            self._opened.execute("BEGIN IMMEDIATE")
        try:
            rows = self._read(statement, args, bounds)
        except BaseException:
            with self._unauthorized(), suppress(apsw.Error):
                self._opened.execute("ROLLBACK")
            raise
        with self._unauthorized():
            self._opened.execute("COMMIT")
        return rows

    def _read(
        self, statement: Statement, args: dict[str, apsw.SQLiteValue], bounds: Bounds
    ) -> Rows:
        self._opened.limit(apsw.SQLITE_LIMIT_LENGTH, max(_LONGEST_VALUE, bounds.bytes))
        cursor = self._opened.cursor()
        try:
            cursor.exec_trace = _OneStatement()
            cursor.execute(statement.named(), args)
            answer: Answer | None = None
            for row in cursor:
                if answer is None:
                    answer = Answer([each[0] for each in cursor.get_description()], bounds)
                answer.add((row,))
            return [] if answer is None else answer.rows
        finally:
            cursor.close(force=True)

    def _unauthorized(self) -> _Unauthorized:
        return _Unauthorized(self._opened)

    def _is_over(self) -> bool:
        return self._ticks() > self._stop_at


class _Unauthorized:
    """For statements of our own: transactions."""

    def __init__(self, opened: apsw.Connection) -> None:
        self._opened = opened

    def __enter__(self) -> None:
        self._opened.authorizer = None

    def __exit__(self, *_: object) -> None:
        self._opened.authorizer = _allows_writing


class _OneStatement:
    """Lets one statement of a text pass."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, _cursor: object, sql: str, *_: object) -> bool:
        self._count += 1
        if self._count > 1 and not _NOTHING.fullmatch(sql):
            raise refused("a query is one statement")
        return True


def _allows_reading(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action not in _READS or _is_forbidden(action, first, second):
        return apsw.SQLITE_DENY
    return apsw.SQLITE_OK


def _allows_writing(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in _NEVER or _is_forbidden(action, first, second):
        return apsw.SQLITE_DENY
    return apsw.SQLITE_OK


def _is_forbidden(action: int, first: str | None, second: str | None) -> bool:
    if action != apsw.SQLITE_FUNCTION:
        return False
    return bool({(first or "").lower(), (second or "").lower()} & _FORBIDDEN_FUNCTIONS)


def _argument(name: str, value: JSON) -> apsw.SQLiteValue:
    match value:
        case bool():
            return int(value)
        case int() if not -_LARGEST - 1 <= value <= _LARGEST:
            raise refused(f":{name} is a whole number of more than 64 bits")
        case list() | dict():
            return msgspec.json.encode(value).decode()
        case _:
            return value


def _words(error: Exception) -> str:
    text = str(error)
    if isinstance(error, apsw.AuthError):
        return "the statement does what a query of this data source may not do"
    return told(text, ())
