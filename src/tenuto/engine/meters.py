"""Histograms with fixed bounds, and the meter of turns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import add

from tenuto.store.parts.turns import Turn

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Bounds of durations: from a commit on a fast disk to a task of a minute."""
SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0)


class Histogram:
    """How many were at most as large as each bound; adding one costs a look-up and three sums."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """How many fell between one bound and the next; the last, beyond all of them."""
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def include(self, other: Histogram) -> None:
        """Add what another of the same bounds has counted."""
        self.counts = list(map(add, self.counts, other.counts))
        self.total += other.total

    def quantile(self, part: float) -> float:
        """Below which value this part of them is: between the bounds of its bucket, evenly."""
        wanted, below = part * sum(self.counts), 0
        for number, count in enumerate(self.counts):
            if count and below + count >= wanted:
                first = self.bounds[number - 1] if number else 0.0
                last = self.bounds[min(number, len(self.bounds) - 1)]
                return first + (max(last, first) - first) * (wanted - below) / count
            below += count
        return 0.0

    def cumulative(self) -> list[tuple[str, int]]:
        """Each bound as text, with how many were no larger; `+Inf` is all of them."""
        found: list[tuple[str, int]] = []
        count = 0
        for bound, each in zip((*map(repr, self.bounds), "+Inf"), self.counts, strict=True):
            count += each
            found.append((bound, count))
        return found


class TurnMeter:
    """Durations and sizes of the turns of all lanes; called once a turn, never once a step."""

    def __init__(self) -> None:
        self.commit_seconds = Histogram()
        self.instances = Histogram(SIZES)
        """Instances, and events, in a turn."""
        self.entries = 0
        """Entries that were written, in all."""
        self.under_way: dict[int, float] = {}
        """When the commit that each lane waits for began, in ticks."""
        self.watch: Callable[[Turn, float], None] | None = None
        """Called with each turn and its seconds."""

    def committed(self, turn: Turn, seconds: float) -> None:
        self.commit_seconds.add(seconds)
        self.instances.add(len(turn.writes) + len(turn.events))
        self.entries += sum([len(write.rows) for write in turn.writes])
        if self.watch is not None:
            self.watch(turn, seconds)
