"""Spares the collector of cycles what an engine makes it do in vain, about a sixth of its time.

The program itself, modules, classes and functions, stays as long as the process does, and yet each
full collection walks all of it. And what a turn makes lives until the turn is over: it is looked at
several times before, unless more comes together first.
"""

from __future__ import annotations

import gc
from threading import Lock

TOGETHER = 20_000
"""So many new objects come together before the collector looks at them."""


class Collector:
    """The process's collector, shared by all engines in it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._is_frozen = False
        self._before = self._ours = (0, 0, 0)

    def spare(self) -> None:
        """Set aside what is there now, unless the program does that by itself, and look less."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            if not gc.get_freeze_count():
                gc.freeze()
                self._is_frozen = True
            self._before = self._ours = gc.get_threshold()
            if self._before[0]:  # 0: it is switched off
                gc.set_threshold(max(self._before[0], TOGETHER), *self._before[1:])
                self._ours = gc.get_threshold()

    def spare_no_more(self) -> None:
        """With the last engine gone, everything is collected as before."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self._is_frozen:
                gc.unfreeze()
                self._is_frozen = False
            if gc.get_threshold() == self._ours:
                gc.set_threshold(*self._before)


COLLECTOR = Collector()
