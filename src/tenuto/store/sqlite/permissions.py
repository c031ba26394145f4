"""Permissions of the files of a store: only the user of the engine reads and writes them.

The store has secrets of webhooks and keys that sign tickets in it. SQLite gives its `-wal` and
`-shm` the permissions of the database, so that the database is created before SQLite opens it.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

log = logging.getLogger("tenuto.store")

PRIVATE = 0o600
_OTHERS = 0o077
_SUFFIXES = ("", "-wal", "-shm", ".lock")


def exposed_files(database: str | os.PathLike[str]) -> list[Path]:
    """The files of a store that other users of this machine may read or write."""
    found: list[Path] = []
    for suffix in _SUFFIXES:
        path = Path(f"{os.path.realpath(database)}{suffix}")
        with suppress(OSError):
            if path.stat().st_mode & _OTHERS:
                found.append(path)
    return found


def make_private(database: str) -> None:
    """Create the database for this user alone, and take others' rights to what is there already.

    What fails here is left to SQLite, whose error says what is wrong with the file.
    """
    with suppress(OSError):
        # Never a file that exists: closing it would drop SQLite's locks on it.
        path = os.path.realpath(database)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
    for exposed in exposed_files(database):
        try:
            exposed.chmod(exposed.stat().st_mode & ~_OTHERS & 0o7777)
        except OSError as error:
            log.warning("store: other users may read %s: %s", exposed, error.strerror)
        else:
            log.warning("store: other users could read %s, and cannot any more", exposed)
