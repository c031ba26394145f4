"""What a tick does while instances of earlier ticks are still running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from tenuto.schedules.schedule import Overlap

MOST_QUEUED = 1_000
"""The most ticks of a schedule that wait for the one before them."""


class Start(Struct, frozen=True, tag=True):
    """The tick is started now."""


class Skip(Struct, frozen=True, tag=True):
    """The tick is never started."""

    reason: str


class Queue(Struct, frozen=True, tag=True):
    """The tick is started when those before it have ended."""


class CancelThenStart(Struct, frozen=True, tag=True):
    """The running instances are cancelled, and the tick is started."""

    cancel: tuple[str, ...]


Decision: TypeAlias = Start | Skip | Queue | CancelThenStart


def at_tick(
    overlap: Overlap, running: Sequence[str], queued: int, most_queued: int = MOST_QUEUED
) -> Decision:
    """What a tick does; `running` are the unended instances of the schedule, the oldest first."""
    if overlap == "allow" or not (running or (queued and overlap == "queue")):
        return Start()
    match overlap:
        case "skip":
            others = f" and {len(running) - 1:,} more" if len(running) > 1 else ""
            return Skip(f"{running[0]}{others} of an earlier tick is still running")
        case "queue":
            if queued >= most_queued:
                return Skip(f"{queued:,} earlier ticks are waiting already")
            return Queue()
        case "cancel-running":
            return CancelThenStart(tuple(running))


def at_end(running: Sequence[str], queued: int) -> bool:
    """Whether the first tick that waits is started, after an instance has ended."""
    return queued > 0 and not running
