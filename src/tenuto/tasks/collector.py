"""Spares the collector of cycles what is there before an engine starts: the program itself.

Modules, classes and functions stay as long as the process does, and yet each full collection walks
all of them: about a tenth of a busy engine's time.
"""

from __future__ import annotations

import gc
from threading import Lock


class Collector:
    """The process's collector, shared by all engines in it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._is_ours = False

    def spare(self) -> None:
        """Set aside what is there now, unless the program does that by itself."""
        with self._lock:
            self._users += 1
            if self._users == 1 and not gc.get_freeze_count():
                gc.freeze()
                self._is_ours = True

    def spare_no_more(self) -> None:
        """With the last engine gone, everything is collected as before."""
        with self._lock:
            self._users -= 1
            if not self._users and self._is_ours:
                gc.unfreeze()
                self._is_ours = False


COLLECTOR = Collector()
