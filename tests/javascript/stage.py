"""Sandboxes for tests, which leave no process behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypedDict, Unpack

from tenuto.model.failure import Failure
from tenuto.model.json import JSON
from tenuto.sandbox.bounds import PoolBounds
from tenuto.sandbox.outcomes import FailedCall, Limits, Outcome
from tenuto.sandbox.sandbox import Sandbox

SHORT = Limits(time=timedelta(seconds=0.3), memory=32 << 20)
PATIENT = Limits(time=timedelta(seconds=20))
"""For what ends by itself, on a busy machine too."""


class Switches(TypedDict, total=False):
    """The protections that can be left out."""

    namespaces: bool
    own_user: bool
    call_filter: bool


class Bounds(Switches, total=False):
    """How many processes there are, and what they are protected by."""

    processes: int
    of_tenant: int
    spares: int
    calls: int
    slice: float
    idle: float


@asynccontextmanager
async def sandbox(**given: Unpack[Bounds]) -> AsyncIterator[Sandbox]:
    """A sandbox with few processes; at the end none of those that were seen is there."""
    bounds = PoolBounds(
        processes=given.get("processes", 2),
        of_tenant=given.get("of_tenant", 2),
        spares=given.get("spares", 1),
        calls=given.get("calls", 1000),
        slice=given.get("slice", 0.5),
        idle=given.get("idle", 60.0),
    )
    made = Sandbox(
        bounds=bounds,
        namespaces=given.get("namespaces", True),
        own_user=given.get("own_user", True),
        call_filter=given.get("call_filter", True),
    )
    try:
        yield made
    finally:
        pids = made.pids
        await made.close()
        assert [pid for pid in pids if is_there(pid)] == []
        assert made.pids == ()


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def value(outcome: Outcome | FailedCall) -> JSON:
    assert isinstance(outcome, Outcome), outcome
    return outcome.value


def failure(outcome: Outcome | FailedCall) -> Failure:
    assert isinstance(outcome, FailedCall), outcome
    return outcome.failure
