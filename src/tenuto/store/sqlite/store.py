"""A store over one SQLite file: opened, closed, and the record of its parts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from tenuto.model.errors import StoreUnavailable
from tenuto.store.cold.record import cold_parts
from tenuto.store.parts.members import BEAT_EVERY
from tenuto.store.protocol import Parts, Store
from tenuto.store.sqlite.dead_letters import SqliteDeadLetters
from tenuto.store.sqlite.definitions import SqliteDefinitions
from tenuto.store.sqlite.faults import translated
from tenuto.store.sqlite.file import File, RequestedFile
from tenuto.store.sqlite.inbox import SqliteInbox
from tenuto.store.sqlite.instances import SqliteInstances
from tenuto.store.sqlite.jobs import SqliteJobs
from tenuto.store.sqlite.listeners import SqliteListeners
from tenuto.store.sqlite.lock import EngineLock
from tenuto.store.sqlite.mailbox import SqliteMailbox
from tenuto.store.sqlite.members import SqliteMembers, enter, leave
from tenuto.store.sqlite.migrations import NEWEST, checked_version, migrate
from tenuto.store.sqlite.outbox import SqliteOutbox
from tenuto.store.sqlite.outbox_writes import heard
from tenuto.store.sqlite.row_port import SqliteRowPort
from tenuto.store.sqlite.session import Recorder, Session
from tenuto.store.sqlite.stats import SqliteStats
from tenuto.store.sqlite.timers import SqliteTimers
from tenuto.store.sqlite.turns import SqliteTurns
from tenuto.store.sqlite.upkeep import SqliteUpkeep
from tenuto.store.sqlite.waits import SqliteWaits
from tenuto.store.sqlite.workers import DedicatedThread, Worker
from tenuto.store.tenant_view import tenant_view

SAFE_SQLITE = 3_051_003
"""Older ones can damage a database when a checkpoint races a commit (fixed in 3.51.3)."""


_SETTINGS = (
    "journal_mode",
    "synchronous",
    "page_size",
    "cache_size",
    "sqlite_version",
)


class SqliteStore(Store):
    """Keeps everything in one file; a sidecar lock keeps a second engine away from it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threads: Callable[[str], Worker] = DedicatedThread,
        shared: bool = False,
        lanes: int = 1,
    ) -> None:
        """With `shared`, engines of this process that also say so may open the file at once.

        There is one writer, whatever `lanes` says; with two, one is decided on while the other is
        written.
        """
        self.lanes = lanes
        self.beat_every = BEAT_EVERY
        self.is_shared = shared
        self.path = os.fspath(path)
        self._threads = threads
        self._recorder: Recorder | None = None
        file = self._file = File(self.path, threads, is_shared=shared)
        super().__init__(**_parts(file))
        self._view: Parts | None = None
        """What tenants see, made when it is first asked for, and anew with another `around`."""
        self._viewed: Callable[[Parts], Parts] | None = None

    @classmethod
    def reader(
        cls, path: str | os.PathLike[str], *, threads: Callable[[str], Worker] = DedicatedThread
    ) -> SqliteStore:
        """A store for processes beside the engine: it reads, and sends mailbox messages."""
        store = cls(path, threads=threads)
        store._file.may_write = False
        return store

    @property
    def files_at(self) -> Path | None:
        return Path(self.path)

    @property
    def is_pooled(self) -> bool:
        return False

    @property
    def statements(self) -> int:
        """How many statements were executed since the store was opened."""
        self._file.require_open()
        file = self._file
        return file.writing.statements + file.reading.statements + file.asking.statements

    @property
    def recorder(self) -> Recorder | None:
        """Sees each statement that writes, with its parameters, in the thread that executes it."""
        return self._recorder

    @recorder.setter
    def recorder(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        if self._file.process_id is not None:
            self._file.writing.recorder = recorder

    async def open(
        self,
        process_id: str,
        now: datetime,
        *,
        is_guest: bool = False,  # noqa: ARG002
    ) -> datetime:
        file = self._file
        if file.process_id is not None:
            raise StoreUnavailable("the store is open already", code="TEN-4002")
        if apsw.SQLITE_VERSION_NUMBER < SAFE_SQLITE:
            message = f"SQLite {apsw.sqlite_lib_version()} can damage databases; update apsw"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        if file.may_write:
            file.lock = EngineLock.take(self.path, process_id, shared=self.is_shared)
        file.start(process_id, self._recorder)
        try:
            return await file.writer.run(lambda: self._enter(process_id, now))
        except BaseException:
            self.abandon()
            raise

    async def close(self, now: datetime, *, clean: bool) -> None:
        file = self._file
        process_id = file.process_id
        if process_id is None:
            return
        try:
            if file.may_write:
                await file.transaction(lambda session: leave(session, process_id, now, clean=clean))
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Like SIGKILL: nothing is handed over, only the lock is released."""
        self._file.stop()

    async def migrate(self) -> list[str]:
        """Migrate the schema of a store that is not open; returns the names of the migrations."""
        lock = EngineLock.take(self.path, "migrate", shared=False)
        session = Session(self.path, "writer_settings", may_create=True)
        worker = self._threads("tenuto-migrate")
        try:
            done = await worker.run(lambda: _migrate(session))
        finally:
            worker.stop()
            session.close()
            lock.release("migrate")
        return done

    def seen_by(self, tenant: str) -> Parts:  # noqa: ARG002
        if self._view is None or self._viewed is not self.around:
            self._viewed = self.around
            reads = Parts(**_parts(RequestedFile(self._file)))
            if self.around is not None:
                reads = self.around(reads)
            self._view = tenant_view(self, reads)
        return self._view

    async def settings(self) -> dict[str, str]:
        """The settings that decide how fast and how safe this is, for people to see."""
        file = self._file
        file.require_open()
        rows = await file.writer.run(lambda: file.writing.rows("settings_in_force"))
        return dict(zip(_SETTINGS, (str(value) for (value,) in rows), strict=True))

    def _enter(self, process_id: str, now: datetime) -> datetime:
        file = self._file
        session = file.writing
        with translated(self.path):
            if not file.may_write:
                _require_newest(session)
                return now
            migrate(session)
        living = frozenset(file.lock.living if file.lock else ())
        file.heard = session.read(lambda: heard(session))
        return session.write(lambda: enter(session, process_id, now, living))


def _parts(file: File) -> dict[str, Any]:
    return {
        "members": SqliteMembers(file),
        "turns": SqliteTurns(file),
        "instances": SqliteInstances(file),
        "definitions": SqliteDefinitions(file),
        "waits": SqliteWaits(file),
        "inbox": SqliteInbox(file),
        "timers": SqliteTimers(file),
        "mailbox": SqliteMailbox(file),
        "jobs": SqliteJobs(file),
        "dead_letters": SqliteDeadLetters(file),
        "listeners": SqliteListeners(file),
        "outbox": SqliteOutbox(file),
        "stats": SqliteStats(file),
        "upkeep": SqliteUpkeep(file),
        **cold_parts(SqliteRowPort(file)),
    }


def _migrate(session: Session) -> list[str]:
    with translated(session.path):
        return [f"{each.version:04} {each.name}" for each in migrate(session)]


def _require_newest(session: Session) -> None:
    version = checked_version(session)
    if version < NEWEST:
        raise StoreUnavailable(
            f"{session.path} has an older schema ({version}; this program needs {NEWEST})",
            code="TEN-4005",
            advice="Run `tenuto migrate`, or start the engine once.",
        )
