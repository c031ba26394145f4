"""Measures the load of this process for a while: loop, commits, memory, and the wait for turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tenuto.engine.meters import TurnMeter
from tenuto.engine.turns.intake import Intake
from tenuto.model.load import LoadReadings
from tenuto.ports import Clock

PROBES: Final = 5
"""How often the event loop is measured in a period: one long pause of it is no load."""


class Measured(NamedTuple):
    """The readings of a period."""

    readings: LoadReadings
    intake_ms: float
    """How long a step waits for its turn and its attempt, about."""
    beside_ms: float
    """The same for a tenant that has nothing else waiting: tenants take turns."""
    worst_lag: float
    """Seconds by which the event loop was late at most."""


class LoadMeter:
    """Each call of `measure` takes up where the one before ended."""

    def __init__(
        self,
        clock: Clock,
        turns: TurnMeter,
        intakes: Sequence[Intake],
        memory: Callable[[], float],
        attempts: Callable[[], tuple[int, int]],
    ) -> None:
        """`memory`: how much the process uses of what it may have, in percent.

        `attempts`: how many wait for the event loop alone, and how many of them come before one of
        a tenant that has no other.
        """
        self._clock = clock
        self._turns = turns
        self._intakes = intakes
        self._memory = memory
        self._attempts = attempts
        self._before = self._counted()
        self._left = self._left_beside = 0
        """How much waited when the period before was over: in all, and before another tenant."""

    def has_backlog(self, tenant: str) -> bool:
        """Whether more inputs of a tenant wait than a turn has of each of several."""
        return any(each.has_backlog(tenant) for each in self._intakes)

    async def measure(self, seconds: float) -> Measured:
        """Measure for so many seconds, and return what was found."""
        lags: list[float] = []
        began = self._clock.ticks()
        for _ in range(PROBES):
            asleep = self._clock.ticks()
            await self._clock.sleep(seconds / PROBES)
            lags.append(max(self._clock.ticks() - asleep - seconds / PROBES, 0.0))
        counts = self._counted()
        commits, spent, handled = (
            after - before for after, before in zip(counts, self._before, strict=True)
        )
        self._before = counts
        mean = spent / commits if commits else 0.0
        readings = LoadReadings(
            loop_lag_ms=1_000 * sum(lags) / len(lags),
            commit_ms=1_000 * max(mean, self._longest_under_way()),
            memory_percent=self._memory(),
        )
        pace = handled / max(self._clock.ticks() - began, seconds)
        # Between two turns of an instance is an attempt: where the loop has no time for those, the
        # backlog is there, and not before the lanes.
        attempts, attempts_beside = self._attempts()
        waiting = sum(each.before_next for each in self._intakes) + attempts
        beside = sum(each.before_another for each in self._intakes) + attempts_beside
        # The pace is known only where inputs waited throughout: before that there was little to do.
        # Without a turn it is not known; what holds it up shows in commits and in the loop.
        intake = 1_000 * min(waiting, self._left) / pace if pace else 0.0
        others = 1_000 * min(beside, self._left_beside) / pace if pace else 0.0
        self._left, self._left_beside = waiting, beside
        return Measured(readings, intake, others, max(lags))

    def _longest_under_way(self) -> float:
        began = min(self._turns.under_way.values(), default=None)
        return 0.0 if began is None else self._clock.ticks() - began

    def _counted(self) -> tuple[float, float, float]:
        """Commits, their seconds, and the instances and events in them, since the start."""
        commits = self._turns.commit_seconds
        return sum(commits.counts), commits.total, self._turns.instances.total
