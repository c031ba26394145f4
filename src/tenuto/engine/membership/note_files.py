"""Notes of processes in mapped files, which the next process on this machine reads.

A file is locked for as long as its process lives; one that is not locked is that of a dead process.
A note quarantines instances, so that only those of the same user count.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from weakref import WeakSet

from tenuto.engine.membership.watchdog import DecisionWatchdog
from tenuto.engine.turns.note import SIZE, Note, read
from tenuto.engine.turns.quarantine import Left

log = logging.getLogger("tenuto.quarantine")

_WRITABLE, _ANYTHING = 0o022, 0o077
"""Rights of other users."""

_open: WeakSet[NoteFiles] = WeakSet()


class NoteFiles:
    """The notes about one store, each in a file `<store>.deciding-<process>`."""

    def __init__(
        self, store: Path, *, seconds: float | None = None, is_private: bool = False
    ) -> None:
        """`store`: the path to which the names of files are added.

        `seconds`: how long a decision may take; None: as long as it needs. `is_private`: whether
        the folder is for notes alone, and must be this user's and closed to others.
        """
        self._stem = f"{store.name}.deciding-"
        self._folder = store.parent
        self._seconds = seconds
        self._is_private = is_private
        self._handle: int | None = None
        self._path: Path | None = None
        self._note: Note | None = None
        self._watchdog: DecisionWatchdog | None = None

    def open(self, process_id: str, note: Note) -> None:
        path = self._folder / f"{self._stem}{process_id}"
        # Under another name until it is locked: else it would be taken for that of a dead process.
        new = path.with_name(f".{path.name}")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_foreign_folder()
            self._handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            os.truncate(self._handle, SIZE)
            # A map keeps its file open, also in forked children, which must not keep the lock.
            with new.open("r+b") as file:
                memory = mmap(file.fileno(), SIZE)
            new.rename(path)
        except OSError as error:
            self.let_go()
            log.warning("an instance that kills this process will not be found: %s", error)
            return
        self._path, self._note = path, note
        note.keep_in(memory)
        _open.add(self)
        if self._seconds is not None:
            self._watchdog = DecisionWatchdog(note, seconds=self._seconds)
            self._watchdog.start(path)

    def left(self) -> Iterator[Left]:
        try:
            self._refuse_foreign_folder()
        except OSError:
            return  # it was said when the own note was opened
        for path in sorted(self._folder.glob(f"{self._stem}*")):
            if path == self._path:
                continue
            try:
                with open(path, "rb", opener=_not_a_link) as file:
                    _refuse_foreign(os.fstat(file.fileno()), path, others=_WRITABLE)
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    noted = read(file.read(SIZE))
            except OSError:
                continue  # its process lives, another reads it, or it is another user's
            process_id = path.name.removeprefix(self._stem)
            if noted is None:
                self.forget(process_id)
            else:
                yield Left(process_id, noted)

    def forget(self, process_id: str) -> None:
        # A note that stays is read again, and says the same.
        with suppress(OSError):
            (self._folder / f"{self._stem}{process_id}").unlink()

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
        if self._path is not None and self._note is not None:
            self._note.keep_in(bytearray(SIZE))
            with suppress(OSError):
                self._path.unlink()
            self.let_go()
            self._path = None

    def _refuse_foreign_folder(self) -> None:
        if self._is_private:
            _refuse_foreign(self._folder.lstat(), self._folder, others=_ANYTHING)

    def let_go(self) -> None:
        """Close the file; a forked child does, since it would keep the lock of its parent."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _refuse_foreign(found: os.stat_result, path: Path, *, others: int) -> None:
    """PermissionError if it is not this user's, or others have one of these rights to it."""
    if found.st_uid != os.geteuid() or found.st_mode & others:
        raise PermissionError(f"{path} is not this user's alone")


def _not_a_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _let_go_in_child() -> None:
    for each in list(_open):
        each.let_go()


os.register_at_fork(after_in_child=_let_go_in_child)
