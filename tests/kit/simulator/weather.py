"""What goes wrong, and when: drawn with the seed, or exactly at the n-th durable write."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from random import Random
from typing import Protocol


class Fault(StrEnum):
    """Everything that a simulated world does to an engine."""

    CRASH_BEFORE = "crash before write"
    CRASH_AFTER = "crash after write"
    CRASH_BETWEEN = "crash between two steps"
    ACK_LOST = "answer lost"
    UNKNOWN_UNDONE = "unknown and not done"
    UNAVAILABLE = "store unavailable"
    REFUSED = "result refused by the store"
    SLOW_WRITE = "slow write"
    SLOW_READ = "slow read"
    READ_UNAVAILABLE = "read unavailable"
    DUPLICATE = "duplicate result"
    REORDER = "reordered result"
    STRAY = "result of a dead process"
    CLOCK_FORWARD = "clock forward"
    CLOCK_BACK = "clock back"
    CLEAN_STOP = "clean stop"


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


class Weather(Protocol):
    """Asked before every write, read, report and step."""

    def on_write(self, verb: str) -> Fault | None: ...

    def on_read(self) -> Fault | None: ...

    def on_report(self) -> Fault | None: ...

    def is_crash(self, step: int) -> bool:
        """Whether the process dies before this step of its loop."""
        ...

    def seconds(self) -> float:
        """How long something slow takes."""
        ...

    def settle(self) -> None:
        """Nothing more goes wrong from here on."""
        ...


class Calm:
    """Nothing goes wrong; counts the durable writes."""

    def __init__(self) -> None:
        self.writes = 0

    def on_write(self, verb: str) -> Fault | None:
        self.writes += 1
        return None

    def on_read(self) -> Fault | None:
        return None

    def on_report(self) -> Fault | None:
        return None

    def is_crash(self, step: int) -> bool:
        return False

    def seconds(self) -> float:
        return 0.0

    def settle(self) -> None:
        """It is calm already."""


class AtWrite(Calm):
    """Calm, but for one fault at one durable write, and perhaps a second one later."""

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        super().__init__()
        self._faults = faults

    def on_write(self, verb: str) -> Fault | None:
        super().on_write(verb)
        return self._faults.get(self.writes)


class Stormy(Calm):
    """Faults as chance has it, until so many have happened."""

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
