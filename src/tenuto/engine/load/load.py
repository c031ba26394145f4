"""The load part of an engine: the pressure on its process, and the adaptive limit."""

from __future__ import annotations

from collections.abc import Callable

from tenuto.engine.limits.known_limits import KnownLimits
from tenuto.engine.load.adaptive_loop import AdaptiveLimit
from tenuto.engine.load.load_meter import LoadMeter
from tenuto.engine.load.memory import memory_percent
from tenuto.engine.load.pressure_watch import PressureWatch
from tenuto.engine.shared import Shared
from tenuto.engine.turns.turns import Turns


class Load:
    """What the load of this process changes."""

    def __init__(
        self,
        shared: Shared,
        turns: Turns,
        limits: KnownLimits,
        *,
        process_id: Callable[[], str],
        admit: Callable[[], None],
        attempts: Callable[[], tuple[int, int]],
    ) -> None:
        """`admit` is called when instances that wait may have room.

        `attempts`: how many wait for the event loop alone, and how many of them come before one of
        a tenant that has no other.
        """
        self._shared = shared
        self._attempts = attempts
        self._turns = turns
        self.memory: Callable[[], float] = memory_percent
        """How much of its memory the process uses, in percent."""
        self.pressure = PressureWatch(shared.clock, self._meter(), shared.settings.overload)
        self.adaptive = AdaptiveLimit(
            shared, limits, self._meter(), process_id=process_id, admit=admit
        )

    def start(self) -> None:
        """Begin; without `resourceBasedLimits` nothing is measured until a service watches."""
        self.adaptive.start()

    def _meter(self) -> LoadMeter:
        turns = self._turns
        return LoadMeter(
            self._shared.clock, turns.meter, turns.intakes, self._memory, self._attempts
        )

    def _memory(self) -> float:
        return self.memory()
