"""Measurements of schedules."""

from __future__ import annotations

from collections import Counter

from tenuto.engine.meters import Histogram
from tenuto.store.parts.schedules import TickOutcome


class ScheduleMeter:
    """What became of ticks in this process, and how late they were started."""

    def __init__(self) -> None:
        self.ticks: Counter[TickOutcome] = Counter()
        """Ticks by outcome."""
        self.lateness = Histogram()
        """Seconds from the moment at which a tick was to be started until it was."""
        self.passes = 0
