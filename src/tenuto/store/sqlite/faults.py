"""Errors of SQLite, translated to errors with advice for operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import CommitUnknown, DataRefused

_OUTAGES: dict[type[apsw.Error], tuple[str, str, str]] = {
    apsw.BusyError: (
        "TEN-4011",
        "is locked by another program",
        "Close what else is writing it (a database browser, a backup); a process at work goes on.",
    ),
    apsw.LockedError: (
        "TEN-4011",
        "is locked",
        "Close what else is writing it (a database browser, a backup); a process at work goes on.",
    ),
    apsw.FullError: (
        "TEN-4003",
        "cannot grow: the disk is full",
        "Free some space; a process at work goes on. Nothing was lost.",
    ),
    apsw.ReadOnlyError: (
        "TEN-4004",
        "cannot be written: it is read-only",
        "Make the file and its folder writable for this user.",
    ),
    apsw.PermissionsError: (
        "TEN-4004",
        "cannot be written: access is denied",
        "Make the file and its folder writable for this user.",
    ),
    apsw.CantOpenError: (
        "TEN-4001",
        "cannot be opened",
        "Check that its folder exists and may be written by this user.",
    ),
    apsw.IOError: (
        "TEN-4001",
        "cannot be read or written: the disk reports an error",
        "Check the disk and the system's log.",
    ),
    apsw.NoMemError: ("TEN-4001", "cannot be used: memory is exhausted", "Free some memory."),
    apsw.CorruptError: (
        "TEN-4006",
        "is damaged",
        "Stop, keep a copy of the file with its -wal, and restore a backup.",
    ),
    apsw.NotADBError: (
        "TEN-4006",
        "is not a database",
        "Name a file that Tenuto made, or one that does not exist yet.",
    ),
}

REFUSED = (
    apsw.ConstraintError,
    apsw.TooBigError,
    apsw.MismatchError,
    UnicodeError,
    OverflowError,
    TypeError,
)
"""Errors of SQLite that are caused by the data, and not by an outage."""

_SYNC_FAILED = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise the store protocol's errors instead of SQLite's."""
    try:
        yield
    except REFUSED as error:
        raise DataRefused(str(error)) from error
    except apsw.Error as error:
        for kind, (code, what, advice) in _OUTAGES.items():
            if isinstance(error, kind):
                raise StoreUnavailable(
                    f"the store {path} {what} ({error})", code=code, advice=advice
                ) from error
        raise


def translated_commit(error: apsw.Error) -> Exception:
    """The store protocol's error for a failing COMMIT.

    The last thing a commit writes is the frame that makes it one, and then it is synced. When a
    write failed, that frame is not there. When only the sync failed, it is: a crash before the next
    commit would bring the turn back, so it must not be reported as refused.
    """
    if getattr(error, "extendedresult", 0) in _SYNC_FAILED:
        return CommitUnknown(str(error))
    return error
