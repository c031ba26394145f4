"""What goes wrong between an engine and its store, and when: exactly at the n-th durable write."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
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
    BURIED = "taken for dead"


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
