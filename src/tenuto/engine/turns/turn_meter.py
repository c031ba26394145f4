"""Measures turns: how long a commit took, and how much it carried."""

from __future__ import annotations

from collections.abc import Callable

from tenuto.engine.meters import SIZES, Histogram
from tenuto.store.parts.turns import Turn


class TurnMeter:
    """Of all lanes of an engine; it is asked once a turn, never once a step."""

    def __init__(self) -> None:
        self.commit_seconds = Histogram()
        self.instances = Histogram(SIZES)
        """Instances, and events, in a turn."""
        self.entries = 0
        """Entries that were written, in all."""
        self.watch: Callable[[Turn, float], None] | None = None
        """Whoever else wants to hear of turns, and how many seconds each took."""

    def committed(self, turn: Turn, seconds: float) -> None:
        self.commit_seconds.add(seconds)
        self.instances.add(len(turn.writes) + len(turn.events))
        self.entries += sum([len(write.rows) for write in turn.writes])
        if self.watch is not None:
            self.watch(turn, seconds)
