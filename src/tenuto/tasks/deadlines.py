"""Time-outs and heartbeat time-outs of running attempts.

One timer serves all attempts, so that a task that ends at once does not pay for its time-out. The
timer is set to the earliest moment at which any attempt can be late; then every attempt in flight
is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from tenuto.model.failure import Failure
from tenuto.ports import Clock, Timer
from tenuto.tasks.attempt import Attempt, Key
from tenuto.tasks.failures import too_late, too_silent

_APART = 0.005
"""The fewest seconds between two checks, so that many late attempts share one check."""


class Deadlines:
    """Watches the attempts in flight, and reports late ones."""

    def __init__(
        self,
        clock: Clock,
        attempts: Mapping[Key, Attempt],
        expire: Callable[[Attempt, Failure], None],
    ) -> None:
        self._clock = clock
        self._ticks = clock.ticks
        self._attempts = attempts
        self._expire = expire
        self._next = inf
        self._timer: Timer | None = None

    def begin(self, attempt: Attempt, allowance: float = 0.0) -> None:
        """Count an attempt's time from now; `allowance` is added to its time-out."""
        now = self._ticks()
        order = attempt.order
        attempt.has_begun, attempt.began_at = True, now
        attempt.due = due = now + order.timeout.total_seconds() + allowance
        if order.heartbeat_timeout is not None:
            attempt.beat_at = now + allowance
            due = min(due, attempt.beat_at + order.heartbeat_timeout.total_seconds())
        if due < self._next:
            self._stand_at(due, now)

    def rest(self) -> None:
        """No attempt is in flight: cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._next = inf

    def _stand_at(self, moment: float, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = moment
        self._timer = self._clock.call_later(moment - now, self._look)

    def _look(self) -> None:
        now = self._ticks()
        self._timer, self._next = None, inf
        late: list[tuple[Attempt, Failure]] = []
        soonest = inf
        for attempt in self._attempts.values():
            if attempt.has_begun:
                due = _due(attempt)
                if due <= now:
                    late.append((attempt, _lateness(attempt)))
                elif due < soonest:
                    soonest = due
        if soonest < inf:
            self._stand_at(max(soonest, now + _APART), now)
        for attempt, failure in late:
            self._expire(attempt, failure)


def _due(attempt: Attempt) -> float:
    silence = attempt.order.heartbeat_timeout
    if silence is None:
        return attempt.due
    return min(attempt.due, attempt.beat_at + silence.total_seconds())


def _lateness(attempt: Attempt) -> Failure:
    silence = attempt.order.heartbeat_timeout
    if silence is None or attempt.due <= attempt.beat_at + silence.total_seconds():
        return too_late(attempt.order.timeout.total_seconds())
    return too_silent(silence.total_seconds(), attempt.details)
