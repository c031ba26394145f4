"""Where tests have their files: in memory where there is room, since a test waits for no disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that have to be free: what failed keeps its files."""


def have_files_in_memory() -> None:
    """For this process and those that it starts; TMPDIR, where it is set, stays as it is."""
    if "TMPDIR" not in os.environ and _has_room(IN_MEMORY):
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None


def _has_room(folder: Path) -> bool:
    try:
        return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= ROOM
    except OSError:
        return False
