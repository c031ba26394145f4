"""Which writes are broken off: some by each fault in the gate, every one of them in `make soak`."""

from __future__ import annotations

import os

from tenuto.testing.fault_plan import Fault

EVERY_WRITE = bool(os.environ.get("TENUTO_EVERY_WRITE"))
_ORDER = (
    Fault.CRASH_AFTER,
    Fault.CRASH_BEFORE,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
)


def some_of(writes: int, mode: Fault) -> range:
    """Every third write, and for each fault others, so that together they break off each."""
    if EVERY_WRITE:
        return range(1, writes + 1)
    return range(1 + _ORDER.index(mode) % 3, writes + 1, 3)


def few_of(writes: int, mode: Fault) -> range:
    """The same where there are many writes that are like each other: every tenth."""
    return (
        range(1, writes + 1) if EVERY_WRITE else range(1 + 2 * _ORDER.index(mode), writes + 1, 10)
    )
