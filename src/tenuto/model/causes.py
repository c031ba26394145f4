"""Why an instance is not moving: a tree of causes."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from tenuto.model.json import Object
from tenuto.model.status import Status


class CauseKind(StrEnum):
    """The closed list of states that hold an instance, or that it has ended in."""

    EVENT = "event"
    """It waits for an event."""
    APPROVAL = "approval"
    """It waits for the decision of an approval."""
    MUTEX = "mutex"
    """A step waits until no other step has its mutex."""
    TIMER = "timer"
    """It sleeps."""
    WORKING_TIME = "working-time"
    """It sleeps for working time of a calendar."""
    RETRY = "retry"
    """A step failed and is tried again later."""
    WORKER = "worker"
    """A step's task is offered, and no worker has claimed it."""
    BREAKER = "breaker"
    """The circuit breaker of a step's push target, host or data source is open."""
    RATE_LIMIT = "rate-limit"
    """A step's request waits until the rate of its host or data source allows it."""
    SLOT = "slot"
    """A limit that counts the instance is full; or a step's request waits for one of those
    to its host or data source to end, or its attempt for a process of the sandbox, or a thread."""
    RUNNING = "running"
    """A step's task runs."""
    STOPPING = "stopping"
    """A step's task was told to stop and has not ended."""
    LOOP = "loop"
    """Iterations of a loop are under way."""
    JOIN = "join"
    """Some of the steps before a join are done, and others are not."""
    CHILD = "child"
    """A step is another instance."""
    PAUSED = "paused"
    """It is paused."""
    ENDING = "ending"
    """It has failed, or was cancelled, and what still runs is waited for."""
    COMPENSATION = "compensation"
    """Its compensations run, or have failed."""
    OWNER = "owner"
    """Its owner process sends no heartbeats, or it has no owner."""
    DECIDING = "deciding"
    """It goes on with the next decision: at once, if it has an owner."""
    SLA = "sla"
    """An SLA of it, or of a step of it, is open: nothing waits for it."""
    SCHEDULE = "schedule"
    """A tick of a schedule started it, and later ticks may wait for its end."""
    QUARANTINED = "quarantined"
    """Deciding on it did not end, or killed processes: none decides on it until it is released."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Estimate(Struct, frozen=True, gc=False, kw_only=True):
    """How long earlier attempts of a step ran: half of them, and nine of ten, at most so long."""

    p50: int
    p90: int
    """Milliseconds."""
    count: int
    """How many attempts it is made from."""


class Breaker(Struct, frozen=True, gc=False, kw_only=True):
    """A circuit breaker that is open."""

    since: datetime | None
    until: datetime
    """When a request is tried again."""


class RequestWait(Struct, frozen=True, gc=False, kw_only=True):
    """A request of an attempt that may not be sent yet."""

    target: str
    """The host, or the data source."""
    obstacle: Literal["breaker", "rate", "concurrency"]
    since: datetime
    until: datetime | None = None


class Queued(Struct, frozen=True, gc=False, kw_only=True):
    """What an instance that has no slot waits for."""

    since: datetime
    limit: str
    """The limit that is full; empty: no pass has looked at it yet."""
    held: int = 0
    most: int | None = None
    place: int = 1
    length: int = 1
    """Its place among those of its tenant that wait for the limit, and how many these are."""
    holders: tuple[str, ...] = ()
    """Some of the instances that hold a slot of the limit, the oldest first."""
    is_on_hold: bool = False


class Cause(Struct, frozen=True, gc=False, kw_only=True):
    """One cause that holds an instance, and the causes behind it."""

    kind: CauseKind
    message: str
    step_id: str | None = None
    iteration: str = ""
    since: datetime | None = None
    until: datetime | None = None
    """When it ends at the latest, if nothing happens before."""
    details: Object = {}
    estimate: Estimate | None = None
    """How long it takes, if enough earlier ones tell."""
    causes: tuple[Cause, ...] = ()


class Explanation(Struct, frozen=True, gc=False, kw_only=True):
    """Where an instance stands and why."""

    instance_id: str
    status: Status
    summary: str
    """One sentence."""
    causes: tuple[Cause, ...]
