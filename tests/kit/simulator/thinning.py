"""Which writes are broken off: some by each fault in the gate, every one of them in `make soak`."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.testing.fault_plan import Fault
from tests.kit.breadth import EVERY_WRITE

_ORDER = (
    Fault.CRASH_AFTER,
    Fault.CRASH_BEFORE,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
)


def some_of(writes: int, mode: Fault, modes: Sequence[Fault] = _ORDER[:3]) -> range:
    """For each fault others, so that together they break off each write once.

    Each takes every third write; where there are more than three faults, two take turns in a third.
    """
    if EVERY_WRITE:
        return range(1, writes + 1)
    third = _ORDER.index(mode) % 3
    sharing = [each for each in _ORDER[third::3] if each in modes]
    return range(1 + third, writes + 1, 3)[sharing.index(mode) :: len(sharing)]


def few_of(writes: int, mode: Fault) -> range:
    """The same where there are many writes that are like each other: every tenth."""
    return (
        range(1, writes + 1) if EVERY_WRITE else range(1 + 2 * _ORDER.index(mode), writes + 1, 10)
    )
