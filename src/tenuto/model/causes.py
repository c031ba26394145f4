"""Why an instance is not moving: a tree of causes."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from tenuto.model.json import Object
from tenuto.model.lengths import length
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
    """A step's request waits until the rate of its host or data source allows it, or its attempt
    until that of its task does."""
    SLOT = "slot"
    """A limit that counts the instance is full; or a step's request waits for one of those
    to its host or data source to end, or its attempt for another one of its task to end, for a
    process of the sandbox, or for a thread."""
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


_SHORTEST_MS = 95
"""Below it a length rounds to less than 0.1 s."""
Past: TypeAlias = Literal["attempt", "queue", "wait", "mutex", "child", "slot"]
"""What earlier ones were timed: an attempt, its way to its beginning, a wait for an event or a
decision, for a mutex, a child, and the queue of instances."""


class Estimate(Struct, frozen=True, gc=False, kw_only=True):
    """How long earlier ones took: half of them, and nine of ten, at most so long."""

    p50: int
    p90: int
    """Milliseconds."""
    count: int
    """How many it is made from."""

    def __str__(self) -> str:
        if self.p50 < _SHORTEST_MS:
            return "usually less than 0.1 s"
        return f"usually {length(timedelta(milliseconds=self.p50))}"


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


class ProcessBound(Struct, frozen=True, gc=False, kw_only=True):
    """A bound on attempts in one process that is reached."""

    task_id: str | None = None
    """The task that it is for; None: all attempts of the process."""
    held: int
    most: int


class TaskLimit(Struct, frozen=True, gc=False, kw_only=True):
    """A limit of a task that holds back its attempts."""

    obstacle: Literal["concurrency", "rate"]
    held: int
    """Attempts of the task that are under way."""
    most: float
    """How many may be; of a rate, how many may begin in a second."""
    holders: tuple[TaskHolder, ...] = ()
    """Some of the attempts that are under way."""
    until: datetime | None = None


class TaskHolder(NamedTuple):
    """An attempt that counts for a limit of its task."""

    instance_id: str
    step_id: str
    by: str
    """The process or the worker that has it."""


class Holder(Struct, frozen=True, gc=False, kw_only=True):
    """An instance that holds a slot, or a step of one that has a mutex."""

    instance_id: str
    step_id: str = ""
    iteration: str = ""
    since: datetime | None = None

    def __str__(self) -> str:
        if not self.step_id:
            return self.instance_id
        place = f"{self.step_id}[{self.iteration}]" if self.iteration else self.step_id
        return f"{place} of {self.instance_id}"


class Queued(Struct, frozen=True, gc=False, kw_only=True):
    """What an instance that has no slot waits for, or a step that has no mutex."""

    since: datetime
    limit: str
    """The limit that is full; empty: no pass has looked at it yet."""
    held: int = 0
    most: int | None = None
    place: int = 1
    length: int = 1
    """Its place among those of its tenant that wait for the limit, and how many these are."""
    queue_place: int | None = None
    """Its place in the whole queue of its tenant; None: it is not known, or a step has none."""
    holders: tuple[Holder, ...] = ()
    """Some of those that hold a slot of the limit, the oldest first."""
    more: int = 0
    """How many others of its tenant hold one."""
    of_others: int = 0
    """How many instances of other tenants do, of the limit of the service; they are not named."""
    is_on_hold: bool = False
    per: timedelta | None = None
    """Where the limit is a rate: its time; `held` have begun within it."""
    until: datetime | None = None
    """When the next one may begin, where that is a matter of time."""
    why: str = ""
    """Why the limit is what it is, where it follows the load."""


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
