"""Why an instance is not moving: a tree of causes."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from tenuto.model.json import Object
from tenuto.model.status import Status


class CauseKind(StrEnum):
    """The closed list of what an instance can be held by, or has come to."""

    EVENT = "event"
    """It waits for an event."""
    APPROVAL = "approval"
    """It waits for somebody's decision."""
    TIMER = "timer"
    """It sleeps."""
    RETRY = "retry"
    """A step failed and is tried again later."""
    WORKER = "worker"
    """A step's task is offered, and nobody has taken it."""
    RUNNING = "running"
    """A step's task runs."""
    STOPPING = "stopping"
    """A step's task was told to stop and has not ended."""
    LOOP = "loop"
    """Iterations of a loop are under way."""
    CHILD = "child"
    """A step is another instance."""
    PAUSED = "paused"
    """Somebody paused it."""
    ENDING = "ending"
    """It has failed, or was cancelled, and what still runs is waited for."""
    COMPENSATION = "compensation"
    """What it did is being undone, or could not be."""
    OWNER = "owner"
    """The process that worked for it is silent, or there is none."""
    DECIDING = "deciding"
    """It goes on with the next decision: at once, if somebody works for it."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Cause(Struct, frozen=True, gc=False, kw_only=True):
    """One thing that holds an instance, and what is behind it."""

    kind: CauseKind
    message: str
    step_id: str | None = None
    iteration: str = ""
    since: datetime | None = None
    until: datetime | None = None
    """When it is over, one way or another, if nothing happens before."""
    details: Object = {}
    causes: tuple[Cause, ...] = ()


class Explanation(Struct, frozen=True, gc=False, kw_only=True):
    """Where an instance stands and why."""

    instance_id: str
    status: Status
    summary: str
    """One sentence."""
    causes: tuple[Cause, ...]
