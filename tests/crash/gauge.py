"""What a process under load is doing right now, readable from outside even after it was killed."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

_FORMAT = struct.Struct("iii")


class Reading(NamedTuple):
    """Attempts in flight, commits under way, and attempts that this process has completed."""

    in_flight: int
    committing: int
    completed: int


class Gauge:
    """Three numbers in a file that both sides have mapped."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.truncate(_FORMAT.size)
            self._map = mmap.mmap(file.fileno(), _FORMAT.size)

    def read(self) -> Reading:
        return Reading(*_FORMAT.unpack(self._map[:]))

    def add(self, *, in_flight: int = 0, committing: int = 0, completed: int = 0) -> None:
        now = self.read()
        self._map[:] = _FORMAT.pack(
            now.in_flight + in_flight, now.committing + committing, now.completed + completed
        )

    def reset(self) -> None:
        self._map[:] = _FORMAT.pack(0, 0, 0)
