"""The files that a process has loaded: which of them have changed since."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Final

from tenuto.cli.task_modules import NOT_THEIRS
from tenuto.ports import Clock

_LOOK_EVERY: Final = 2.0


class LoadedFiles:
    """Files of modules that are the user's, as they were when this was made."""

    def __init__(self, files: Iterable[str]) -> None:
        self._marks = {file: _mark(file) for file in files}

    @classmethod
    def of_process(cls) -> LoadedFiles:
        """Those of every module that is loaded now."""
        found = (getattr(each, "__file__", None) for each in [*sys.modules.values()])
        return cls(file for file in found if file and not file.startswith(NOT_THEIRS))

    def changed(self) -> list[str]:
        """Files that have changed; each is given once."""
        found = [file for file, mark in self._marks.items() if _mark(file) != mark]
        for file in found:
            del self._marks[file]
        return found

    async def watch(self, clock: Clock, tell: Callable[[str], None]) -> None:
        """Tell of each that changes, until this is cancelled."""
        while True:
            await clock.sleep(_LOOK_EVERY)
            for file in self.changed():
                tell(f"{_shown(file)} changed since it was loaded; restart it, or use --reload")


def _shown(file: str) -> str:
    return os.path.relpath(file)


def _mark(file: str) -> tuple[int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - a path as Python has it
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
