"""Load of a process: what is measured, the targets of the adaptive limit, the bounds of overload.

The adaptive limit is set with the other limits (`resourceBasedLimits`); the bounds beyond which
requests are refused are settings of a process (`engine.overload`).
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Milliseconds: TypeAlias = Annotated[float, Meta(ge=1, le=600_000)]
Percent: TypeAlias = Annotated[float, Meta(ge=1, le=100)]
_Most: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]


class LoadReadings(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a process has measured of itself."""

    loop_lag_ms: float = 0.0
    """By how much the event loop is late."""
    commit_ms: float = 0.0
    """How long a commit takes, or has taken so far."""
    memory_percent: float = 0.0
    """The memory of the process, of what it may have."""


class LoadTargets(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Readings above which the adaptive limit is lowered."""

    loop_lag_ms: Milliseconds = 100.0
    commit_ms: Milliseconds = 100.0
    memory_percent: Percent = 85.0


class ResourceBasedLimits(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A limit of all instances that follows the load of the processes."""

    enabled: bool = False
    min: _Most = 10
    """It is never lower."""
    max: _Most = 1_000
    """It is never higher, and never above `globalMaxConcurrent`."""
    targets: LoadTargets = LoadTargets()


class OverloadBounds(Struct, frozen=True, kw_only=True):
    """From when on a service refuses requests; a bound that is None counts for nothing."""

    loop_lag_ms: Milliseconds | None = 500.0
    """How late the event loop may be."""
    commit_ms: Milliseconds | None = 2_000.0
    """How long a commit may take."""
    answer_ms: Milliseconds | None = 1_000.0
    """How long a start may take, by the number of starts under way and the pace of their
    answers."""
    intake_ms: Milliseconds | None = 1_000.0
    """How long a step may wait for its turns and for the event loop, by the number of those that
    wait and the pace of turns."""
    memory_percent: Percent | None = 95.0
    """How much of the memory that the process may have it may use."""


class LoadReport(Struct, frozen=True, gc=False, kw_only=True):
    """What one process asks for, and why."""

    tenant: str = ""
    process_id: str
    asked: int
    """The limit that it asks for."""
    loop_lag_ms: int
    commit_ms: int
    memory_percent: int
    reason: str
    at_ms: int

    @property
    def readings(self) -> LoadReadings:
        return LoadReadings(
            loop_lag_ms=self.loop_lag_ms,
            commit_ms=self.commit_ms,
            memory_percent=self.memory_percent,
        )
