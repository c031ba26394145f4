"""Tunes the garbage collector for an engine, which saves about a tenth of the engine's time.

Modules, classes and functions live as long as the process, and yet each full collection walks all
of them. The objects of a turn live until the turn ends: with the default threshold they are walked
several times before. Everything waits for a collection, about 0.4 ms for a thousand objects: with
these thresholds a few milliseconds for new ones and for the middle generation, which is a delay
that the work of one tenant causes another.
"""

from __future__ import annotations

import gc
from threading import Lock

TOGETHER = 10_000
"""The threshold of new objects before a collection."""
OFTEN = 1
"""So many collections of new objects before one of the middle generation: it has few objects then,
and everything waits for it."""
SELDOM = 1_000
"""So many collections of the middle generation before a full one."""


class Collector:
    """The process's collector, shared by all engines in it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._is_frozen = False
        self._before = self._ours = (0, 0, 0)

    def spare(self) -> None:
        """Freeze the present objects, unless the program does so itself, and collect less often."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            if not gc.get_freeze_count():
                gc.freeze()
                self._is_frozen = True
            self._before = self._ours = gc.get_threshold()
            if self._before[0]:  # 0: collection is off
                new, middle, full = self._before
                if new < TOGETHER:
                    gc.set_threshold(TOGETHER, min(middle, OFTEN), max(full, SELDOM))
                self._ours = gc.get_threshold()

    def spare_no_more(self) -> None:
        """After the last engine has stopped, restore the previous settings."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self._is_frozen:
                gc.unfreeze()
                self._is_frozen = False
            if gc.get_threshold() == self._ours:
                gc.set_threshold(*self._before)


def collect_young() -> None:
    """Collect what is new, unless the program collects by itself.

    The interpreter counts objects that are made, less those that end: where a large document
    becomes another form of itself, old ones end while new ones are made, and a hundred thousand
    gather until they are walked at once.
    """
    if gc.isenabled():
        gc.collect(1)


COLLECTOR = Collector()
