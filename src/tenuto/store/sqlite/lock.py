"""One engine per database: a lock on the file beside it, which the kernel frees with the process.

A row in the database would outlive SIGKILL; and the database file itself is never opened and closed
for locking, because closing it drops every lock that this process has on it, SQLite's included.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress

from tenuto.model.errors import StoreUnavailable
from tenuto.store.sqlite.permissions import PRIVATE

_TRIES = 20
_held: dict[str, EngineLock] = {}
"""Locks of this process, by path: shared stores join them, and a forked child lets go of them."""


class EngineLock:
    """The right to write a database, held by one process for one or, if shared, several engines."""

    def __init__(self, path: str, handle: int, *, shared: bool) -> None:
        self._path = path
        self._handle = handle
        self._shared = shared
        self.living: set[str] = set()
        """The engines of this process that stand on the database."""

    @classmethod
    def take(cls, database: str, process_id: str, *, shared: bool) -> EngineLock:
        """The lock on `database`; StoreUnavailable when another process has it."""
        path = f"{os.path.realpath(database)}.lock"
        lock = _held.get(path)
        if lock is None:
            lock = cls(path, _locked_file(database, path), shared=shared)
            _held[path] = lock
        elif not (shared and lock._shared):
            raise _in_use(database, str(os.getpid()))
        lock.living.add(process_id)
        return lock

    def release(self, process_id: str) -> None:
        self.living.discard(process_id)
        if not self.living and _held.pop(self._path, None) is not None:
            # Closing alone would leave the lock to a child that was forked a moment ago and has not
            # let go of it yet.
            fcntl.flock(self._handle, fcntl.LOCK_UN)
            os.close(self._handle)

    def let_go_in_child(self) -> None:
        """A forked child has the file open too, and would keep the lock when its parent is gone."""
        with suppress(OSError):
            os.close(self._handle)


def is_locked(database: str) -> bool:
    """Whether an engine has the right to write `database`, in this process or another."""
    path = f"{os.path.realpath(database)}.lock"
    if path in _held:
        return True
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _locked_file(database: str, path: str) -> int:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
    except OSError as error:
        raise _not_lockable(path, error) from error
    try:
        _lock(handle)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError as error:
        holder = os.pread(handle, 32, 0).decode(errors="replace").strip()
        os.close(handle)
        raise _in_use(database, holder or "unknown") from error
    except OSError as error:
        os.close(handle)
        raise _not_lockable(path, error) from error
    return handle


def _lock(handle: int) -> None:
    """Lock in several tries: a process that only tests the lock holds it for an instant."""
    for _ in range(_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        os.sched_yield()
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _in_use(database: str, holder: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"the store {database} is in use by the engine in process {holder}",
        code="TEN-4002",
        advice="Stop that process first, or give this engine a database of its own.",
    )


def _not_lockable(path: str, error: OSError) -> StoreUnavailable:
    is_denied = isinstance(error, PermissionError) or error.errno == errno.EROFS
    return StoreUnavailable(
        f"the lock file {path} cannot be made: {error.strerror}",
        code="TEN-4004" if is_denied else "TEN-4001",
        advice="Check that the folder exists and may be written by this user.",
    )


def _let_go_in_child() -> None:
    for lock in _held.values():
        lock.let_go_in_child()
    _held.clear()


os.register_at_fork(after_in_child=_let_go_in_child)
