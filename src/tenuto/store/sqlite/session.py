"""One connection: statements by name, many rows at once, transactions that leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import apsw
import msgspec

from tenuto.store.sqlite.faults import translated, translated_commit
from tenuto.store.sqlite.permissions import make_private
from tenuto.store.sqlite.queries import QUERIES

T = TypeVar("T")

Column: TypeAlias = str | int | bytes | None
Parameters: TypeAlias = Sequence[Column] | Mapping[str, Column]
Recorder: TypeAlias = Callable[[str, Parameters], None]

_unpack = msgspec.json.Decoder(list[Any]).decode


def as_json(value: object) -> str:
    """A list as one parameter."""
    return msgspec.json.encode(value).decode()


MOST_LOG_PAGES = 10_000
"""From here on a commit moves the write-ahead log into the database itself (40 MB): what is written
faster than that can be done beside it has to wait."""
IN_MEMORY = ":memory:"
"""The path of a database that is no file."""


class Session:
    """A connection to one database file, used by one thread at a time."""

    def __init__(self, path: str, settings: str, *, may_create: bool = False) -> None:
        self.path = path
        self.statements = 0
        """How many statements were executed: tests measure the cost of an idle store with it."""
        self.recorder: Recorder | None = None
        """Sees each statement with its parameters, for benchmarks that replay them."""
        self.log_pages = 0
        """How many pages the write-ahead log has since it was last begun anew."""
        self._settings = settings
        self._flags = apsw.SQLITE_OPEN_READWRITE
        if may_create:
            self._flags |= apsw.SQLITE_OPEN_CREATE
        self._connection: apsw.Connection | None = None

    @property
    def connection(self) -> apsw.Connection:
        """Opened when it is first needed, and again after it became unusable."""
        if self._connection is None:
            if self._flags & apsw.SQLITE_OPEN_CREATE and self.path != IN_MEMORY:
                make_private(self.path)
            connection = apsw.Connection(self.path, flags=self._flags, statementcachesize=300)
            try:
                connection.execute(QUERIES["settings"].sql).fetchall()
                connection.execute(QUERIES[self._settings].sql).fetchall()
                if self._settings == "writer_settings":
                    connection.set_wal_hook(self._logged)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def execute(self, sql: str, parameters: Parameters) -> apsw.Cursor:
        self.statements += 1
        if self.recorder is not None:
            self.recorder(sql, parameters)
        return self.connection.execute(sql, parameters)

    def run(self, name: str, parameters: Parameters = ()) -> None:
        self.execute(QUERIES[name].sql, parameters)

    def rows(self, name: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        return self.execute(QUERIES[name].sql, parameters).fetchall()

    def packed(self, name: str, parameters: Parameters = ()) -> list[Any]:
        """The rows of a statement that gives them as one JSON array."""
        return _unpack(self.execute(QUERIES[name].sql, parameters).get)

    def insert(self, name: str, rows: Sequence[Sequence[Column]]) -> int:
        """Write many rows with few statements; how many were changed."""
        return self.insert_values(name, list(chain.from_iterable(rows)), len(rows))

    def insert_values(self, name: str, values: list[Column], count: int) -> int:
        """Write `count` rows whose values follow one another; how many were changed."""
        if not count:
            return 0
        columns = len(values) // count
        done = changed = 0
        for width, sql in QUERIES[name].fitting(count):
            together = values[done : done + width * columns]
            if len(together) < width * columns:
                together += [None] * (width * columns - len(together))
            self.execute(sql, together)
            changed += self.connection.changes()
            done += width * columns
        return changed

    def write_durable_later(self, work: Callable[[], T]) -> T:
        """Do `work` in one transaction that is durable with the next one that is.

        The process may be killed; a power cut takes it back with all that came after it.
        """
        with translated(self.path):
            self.run("sync_later")
            try:
                return self.write(work)
            finally:
                self._sync_each()

    def write(self, work: Callable[[], T]) -> T:
        """Do `work` in one transaction that is durable when this returns."""
        with translated(self.path):
            self.run("begin_write")
            try:
                result = work()
            except BaseException:
                self._roll_back()
                raise
            try:
                self.run("commit")
            except apsw.Error as error:
                self._roll_back()
                raise translated_commit(error) from error
            return result

    def _sync_each(self) -> None:
        try:
            self.run("sync_each")
        except apsw.Error:
            # The next statement opens another connection, which has the settings of its kind.
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close(force=True)

    def look(self, work: Callable[[], T]) -> T:
        """Do `work`, which is one statement: it needs no transaction to see one moment."""
        with translated(self.path):
            return work()

    def read(self, work: Callable[[], T]) -> T:
        """Do `work` in one snapshot of the database."""
        with translated(self.path):
            self.run("begin_read")
            try:
                return work()
            finally:
                self._roll_back()

    def checkpoint(self) -> int:
        """Move the write-ahead log into the database; returns how many of its pages are there.

        It waits for no other connection, and moves no page that one of them still needs to read
        the past.
        """
        with translated(self.path):
            _, moved = self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return moved

    def _logged(self, connection: apsw.Connection, _: str, pages: int) -> int:
        self.log_pages = pages
        if pages >= MOST_LOG_PAGES:
            # The transaction is durable: a checkpoint that fails here, such as beside another one,
            # must not be taken for its failure.
            with suppress(apsw.Error):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return apsw.SQLITE_OK

    def _roll_back(self) -> None:
        # SQLite has rolled back by itself after some errors. A connection that cannot even do that
        # is given up; the next statement opens another.
        try:
            if self.connection.in_transaction:
                self.run("rollback")
        except apsw.Error:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close(force=True)
