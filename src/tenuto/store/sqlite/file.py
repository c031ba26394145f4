"""The open database file, as the parts of a store share it.

One connection writes, one reads for the engine, one reads for requests of tenants and one moves the
write-ahead log into the database (`checkpoints.py`), each in a thread of its own, so that reads do
not wait for commits, nor the engine for long lists: with write-ahead logging a reader sees the last
commit and blocks no writer. What was committed before a read was asked for is in it, so "commit,
then look again" holds across them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.store.errors import CommitUnknown
from tenuto.store.sqlite.checkpoints import Checkpoints
from tenuto.store.sqlite.lock import EngineLock
from tenuto.store.sqlite.outbox_writes import UNHEARD
from tenuto.store.sqlite.rows import OwnerRow
from tenuto.store.sqlite.session import MOST_LOG_PAGES, Recorder, Session
from tenuto.store.sqlite.workers import Worker

T = TypeVar("T")


class File:
    """The connections and their threads, and the state of the file that is kept in memory."""

    def __init__(self, path: str, threads: Callable[[str], Worker], *, is_shared: bool) -> None:
        self.path = path
        self.is_shared = is_shared
        self.may_write = True
        self.lock: EngineLock | None = None
        self.process_id: str | None = None
        self.left_clean: set[OwnerRow] = set()
        """Owners that this process took over from one that had stopped in good order: in memory,
        since the next owner asks how this process has left them."""
        self.heard = UNHEARD
        self.listening = 0
        """The version of the listeners that `heard` takes into account."""
        self._threads = threads

    def start(self, process_id: str, recorder: Recorder | None) -> None:
        """Open the connections, for this process."""
        writer_settings = "writer_settings" if self.may_write else "sender_settings"
        self.writing = Session(self.path, writer_settings, may_create=self.may_write)
        self.writing.recorder = recorder
        self.reading = Session(self.path, "reader_settings")
        self.writer = self._threads("tenuto-sqlite-writer")
        self.reader = self._threads("tenuto-sqlite-reader")
        self.asking = Session(self.path, "reader_settings")
        self.asker = self._threads("tenuto-sqlite-requests")
        self._checkpoints = Checkpoints(self.path, self.writing, self.writer, self._threads)
        self.process_id = process_id
        self.left_clean = set()

    def stop(self) -> None:
        """Close the connections, and free the lock."""
        if self.process_id is None:
            return
        process_id, self.process_id = self.process_id, None
        self._checkpoints.stop()
        for worker, session in (
            (self.asker, self.asking),
            (self.reader, self.reading),
            (self.writer, self.writing),
        ):
            worker.stop()
            session.close()
        if self.lock is not None:
            self.lock.release(process_id)
            self.lock = None

    async def look(self, job: Callable[[Session], T]) -> T:
        """For one statement that reads: it sees one moment by itself."""
        self.require_open()
        session = self.reading
        return await self.reader.run(lambda: session.look(lambda: job(session)))

    async def read(self, job: Callable[[Session], T]) -> T:
        """For several statements that read, all of the same moment."""
        self.require_open()
        session = self.reading
        return await self.reader.run(lambda: session.read(lambda: job(session)))

    async def transaction(self, job: Callable[[Session], T]) -> T:
        """In one transaction, by the engine; CommitUnknown."""
        self.require_writer()
        session = self.writing
        return await self.commit(lambda: session.write(lambda: job(session)))

    async def commit(self, job: Callable[[], T]) -> T:
        """What a job returns that makes a transaction by itself."""
        if self.writing.log_pages >= MOST_LOG_PAGES:
            await self._checkpoints.over()
            self.require_open()
        result = await self.writer.run(job)
        self._checkpoints.committed()
        return result

    async def write(self, job: Callable[[Session], T]) -> T:
        """In one transaction, by the engine; StoreUnavailable when it may have been written."""
        self.require_writer()
        return await self.write_beside(job)

    async def write_durable_later(self, job: Callable[[Session], T]) -> T:
        """The same, durable with the next transaction that is: for what can be done again."""
        self.require_writer()
        session = self.writing
        return await self._written(lambda: session.write_durable_later(lambda: job(session)))

    async def write_beside(self, job: Callable[[Session], T]) -> T:
        """The same as `write`, also by a process beside the engine."""
        self.require_open()
        session = self.writing
        return await self._written(lambda: session.write(lambda: job(session)))

    async def _written(self, job: Callable[[], T]) -> T:
        try:
            return await self.commit(job)
        except CommitUnknown as error:
            raise may_be_written(f"not known to be written: {error}") from error

    def require_open(self) -> str:
        """The id of this process."""
        if self.process_id is None:
            raise StoreUnavailable(f"the store {self.path} is not open")
        return self.process_id

    def require_writer(self) -> str:
        """The id of this process, which may write everything."""
        if not self.may_write:
            raise StoreUnavailable(
                f"the store {self.path} was opened for reading",
                code="TEN-4004",
                advice="Ask the engine that holds it: a reader can only send mailbox messages.",
            )
        return self.require_open()


class RequestedFile(File):
    """The same file for what requests of tenants read, on a connection and a thread of their own.

    However long a list takes, the engine's reads do not wait for it.
    """

    def __init__(self, whole: File) -> None:
        self.path = whole.path
        self._whole = whole

    async def look(self, job: Callable[[Session], T]) -> T:
        self._whole.require_open()
        session = self._whole.asking
        return await self._whole.asker.run(lambda: session.look(lambda: job(session)))

    async def read(self, job: Callable[[Session], T]) -> T:
        self._whole.require_open()
        session = self._whole.asking
        return await self._whole.asker.run(lambda: session.read(lambda: job(session)))

    def require_open(self) -> str:
        return self._whole.require_open()
