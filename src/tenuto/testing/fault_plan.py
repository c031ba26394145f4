"""Fault plans: which faults hit an engine and its store, and when, such as at the n-th write."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol


class Fault(StrEnum):
    """The faults that a simulated world can inject."""

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
    PRESUMED_DEAD = "presumed dead"


class FaultPlan(Protocol):
    """Decides on faults; called before every write, read, report and step."""

    def on_write(self, verb: str) -> Fault | None: ...

    def on_read(self) -> Fault | None: ...

    def on_report(self) -> Fault | None: ...

    def is_crash(self, step: int) -> bool:
        """Whether the process dies before this step of its loop."""
        ...

    def seconds(self) -> float:
        """How long a slow write or read takes."""
        ...

    def settle(self) -> None:
        """Inject no more faults."""
        ...


class NoFaults:
    """Injects no faults; counts the durable writes."""

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
        """There are no faults anyway."""


class AtWrite(NoFaults):
    """Faults at the durable writes with the given numbers."""

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        super().__init__()
        self._faults = faults

    def on_write(self, verb: str) -> Fault | None:
        super().on_write(verb)
        return self._faults.get(self.writes)
