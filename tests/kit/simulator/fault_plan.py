"""Random faults, drawn with the seed."""

from __future__ import annotations

from random import Random

from tenuto.testing.fault_plan import Fault, NoFaults

ON_WRITE = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
    Fault.REFUSED,
    Fault.SLOW_WRITE,
)
ON_READ = (Fault.SLOW_READ, Fault.READ_UNAVAILABLE)
ON_REPORT = (Fault.DUPLICATE, Fault.REORDER, Fault.STRAY)


class RandomFaults(NoFaults):
    """Random faults, until so many have happened."""

    def __init__(self, random: Random, *, faults: int, rate: float) -> None:
        super().__init__()
        self._random = random
        self._left = faults
        self._reads_left = faults // 2
        self._rate = rate
        self._crash_step = self._next_crash_step()

    def on_write(self, verb: str) -> Fault | None:
        super().on_write(verb)
        return self._draw(ON_WRITE)

    def on_read(self) -> Fault | None:
        # Reads are many; they have a share of their own, so that something is left for the writes.
        if self._left <= 0 or self._reads_left <= 0 or self._random.random() >= self._rate:
            return None
        self._reads_left -= 1
        return self._random.choice(ON_READ)

    def on_report(self) -> Fault | None:
        return self._draw(ON_REPORT)

    def is_crash(self, step: int) -> bool:
        if step < self._crash_step or self._left <= 0:
            return False
        self._left -= 1
        self._crash_step = self._next_crash_step()
        return True

    def seconds(self) -> float:
        return self._random.choice((0.0, 0.001, 0.01, 0.2, 3.0))

    def settle(self) -> None:
        self._left = 0

    def _draw(self, kinds: tuple[Fault, ...]) -> Fault | None:
        if self._left <= 0 or self._random.random() >= self._rate:
            return None
        self._left -= 1
        return self._random.choice(kinds)

    def _next_crash_step(self) -> int:
        return self._random.randrange(20, 3_000)
