"""The pace at which something has happened lately."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.ports import Clock

_PERIOD = 60.0
"""Seconds: the pace is that of one to two periods."""
_LONGEST = 300.0
"""Seconds of a pause that count: after a long one the pace is soon that of now."""


class _Mark(NamedTuple):
    at: float
    total: int


class Pace:
    """How fast a count rises, which is looked at now and then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # From the first one on the pace is measured, the second will be the next first one.
        self._since = self._newest = self._last = _Mark(clock.ticks(), 0)

    def seen(self, total: int) -> None:
        """It has risen so far by now."""
        now = _Mark(self._clock.ticks(), total)
        if now.at - self._newest.at > _PERIOD:
            self._since, self._newest = self._newest, now
        if now.at - self._last.at > _LONGEST:
            self._since = _Mark(now.at - _LONGEST, self._last.total)
        self._last = now

    def seconds_for(self, count: int) -> float:
        """How long it takes to rise by so much; where it did not rise, as if it rose by one now."""
        elapsed = max(1.0, self._clock.ticks() - self._since.at)
        return count * elapsed / max(self._last.total - self._since.total, 1)
