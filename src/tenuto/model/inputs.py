"""Everything that can happen to an instance, as one union: reports that reach `core.decide`."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from tenuto.model.approvals import Decision
from tenuto.model.edited import EditedInput
from tenuto.model.events import Event
from tenuto.model.failure import Failure, LastError, Source
from tenuto.model.family import Parent
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status


class TimerKind(StrEnum):
    """The purposes of timers."""

    DELAY = "delay"
    RETRY = "retry"
    WAIT_TIMEOUT = "wait-timeout"
    NODE_TIMEOUT = "node-timeout"
    REMINDER = "reminder"
    ESCALATION = "escalation"
    GRACE = "grace"
    SLA_WARNING = "sla-warning"
    SLA_BREACH = "sla-breach"
    DEADLINE = "deadline"
    RESUME = "resume"
    GO_ON = "go-on"
    """Due at once: a decision stopped before its consequences were complete. It is stored
    nowhere, since it follows from the state."""


class TimerKey(Struct, frozen=True, gc=False, order=True, cache_hash=True):
    """Which timer of an instance; `node` is empty for timers of the instance as a whole."""

    kind: TimerKind
    node: str = ""
    iteration: str = ""


class Reused(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A step's outcome in an earlier instance, which a rerun takes over."""

    node: str
    status: Literal["success", "error", "skipped"] = "success"
    """As it was recorded; "skipped": its `when` passed it over."""
    output: JSON = None
    handles: tuple[str, ...] = ("default",)
    variables: Object | None = None
    error: Failure | None = None
    """The failure that it had there, handled or followed by a better attempt."""
    errors: list[JSON] | None = None
    """The failures of single iterations of a loop."""


class EventCause(Struct, frozen=True, gc=False, kw_only=True):
    """An event, and which of the triggers of its definition it set off."""

    event_id: str
    trigger: int
    tenant: str = "default"
    """The tenant of the event, the definition and the new instance."""


class ScheduleCause(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A schedule, and the nominal time of its tick."""

    id: str
    nominal: datetime
    tenant: str = "default"
    """The tenant of the schedule, the definition and the new instance."""
    mark: str = ""
    """Whether a user asked for the tick: `manual`, `backfill`."""


class Started(Struct, frozen=True, gc=False, kw_only=True, tag="started"):
    """A new instance was requested."""

    definition_id: str
    definition_version: int
    input: JSON
    correlation_id: str | None = None
    priority: int = 0
    deadline: datetime | None = None
    parent: Parent | None = None
    """The parent that waits for its end."""
    rerun_of: str | None = None
    """The instance that `reused` comes from."""
    reused: tuple[Reused, ...] = ()
    """In the order in which they ended there."""
    from_step: str | None = None
    """The step that runs again, with all steps after it."""
    cause: EventCause | None = None
    """The event that starts it, if one does."""
    chain: int = 0
    """The length of the chain of starts by events that led to it, as in `Event.chain`."""
    origin: str | UnsetType = UNSET
    """The instance that led to it by events, as in `Event.origin`; left out as `traceparent` is."""
    traceparent: str | UnsetType = UNSET
    """The trace that it belongs to, if the start named one. It does not count when two starts
    are compared, so it is left out if none was named."""
    schedule: ScheduleCause | UnsetType = UNSET
    """The tick that starts it, if one does; left out if none does."""
    user: str | UnsetType = UNSET
    """The principal that starts it, for limits per user; left out as `traceparent` is."""


class TaskSucceeded(Struct, frozen=True, gc=False, kw_only=True, tag="task-succeeded"):
    """An attempt ended with a result."""

    node: str
    attempt: int
    output: JSON
    iteration: str = ""
    handle: str = "default"
    execution_time: int | None = None
    """Milliseconds that the attempt took, from when its task began; None: not known."""
    delay: int = 0
    """Milliseconds by which what follows is dispatched later."""
    worker: str | None = None
    """The worker that ran it; None: a process of the service."""


class TaskFailed(Struct, frozen=True, gc=False, kw_only=True, tag="task-failed"):
    """An attempt ended with a failure."""

    node: str
    attempt: int
    error: Failure
    iteration: str = ""
    execution_time: int | None = None
    """As that of a success."""
    worker: str | None = None
    retry_after: timedelta | None = None
    """How long the next attempt waits at least: the service that failed it has said so."""


class AttemptLost(Struct, frozen=True, gc=False, kw_only=True, tag="attempt-lost"):
    """An attempt's process is gone; `clean` when it stopped in good order."""

    node: str
    attempt: int
    iteration: str = ""
    clean: bool = False


class TimerDue(Struct, frozen=True, gc=False, kw_only=True, tag="timer-due"):
    """A timer's moment has come; `due` tells this timer from an earlier one of the same key."""

    key: TimerKey
    due: datetime


class EventMatched(Struct, frozen=True, gc=False, kw_only=True, tag="event-matched"):
    """An event matches an open wait; `by_lookback` if it arrived before the wait was committed."""

    node: str
    attempt: int
    event: Event
    iteration: str = ""
    by_lookback: bool = False
    arm: str = ""
    """The arm of the wait that it matches, if it has several."""


class TriggerMatched(Struct, frozen=True, gc=False, kw_only=True, tag="trigger-matched"):
    """An event matches a cancellation trigger of an instance; its condition is still open."""

    trigger: int
    event: Event


class ChildResolved(Struct, frozen=True, gc=False, kw_only=True, tag="child-resolved"):
    """The workflow that a step starts was found, in this version, and accepts the step's input."""

    node: str
    attempt: int
    version: int
    iteration: str = ""


class ChildReported(Struct, frozen=True, gc=False, kw_only=True, tag="child-reported"):
    """A child has ended, and how."""

    node: str
    attempt: int
    child_id: str
    status: Status
    iteration: str = ""
    output: JSON = None
    error: LastError | None = None
    retryable: bool = True
    """Whether a retry with another child makes sense."""
    reason: str | None = None
    """Why it was cancelled."""
    is_deadlock: bool = False
    """Whether it was, since every slot of its limit was held by such as wait for it."""
    can_be_undone: bool = False
    """Whether it has completed steps that could be undone."""


class UndoAsked(Struct, frozen=True, gc=False, kw_only=True, tag="undo-asked"):
    """A parent requests that its ended child undoes its completed steps."""

    by: str
    attempt: int = 1
    """The number of the request: a later one retries the compensations that had failed."""


class ChildUndone(Struct, frozen=True, gc=False, kw_only=True, tag="child-undone"):
    """A child has run its compensations; some may have failed."""

    node: str
    child_id: str
    status: Literal["COMPLETED", "COMPLETED_WITH_ERRORS"]
    iteration: str = ""


class DecisionAsked(Struct, frozen=True, gc=False, kw_only=True, tag="decision-asked"):
    """An approval was decided; its form was already checked against the schema."""

    node: str
    decision: Decision
    by: str
    roles: tuple[str, ...] = ()
    """The roles that this person has."""
    form: JSON = None
    iteration: str = ""


class CancelAsked(Struct, frozen=True, gc=False, kw_only=True, tag="cancel-asked"):
    """The cancellation of the instance was requested."""

    by: str
    reason: str | None = None
    source: Source = "API"
    should_compensate: bool = True
    event_id: str | None = None


class PauseAsked(Struct, frozen=True, gc=False, kw_only=True, tag="pause-asked"):
    """A pause was requested: nothing new is dispatched."""

    by: str
    reason: str | None = None
    until: datetime | None = None


class ResumeAsked(Struct, frozen=True, gc=False, kw_only=True, tag="resume-asked"):
    """The resumption of a paused instance was requested."""

    by: str


class SkipDelayAsked(Struct, frozen=True, gc=False, kw_only=True, tag="skip-delay-asked"):
    """The end of a delay of a test run was requested, before its time."""

    node: str
    by: str
    iteration: str = ""


class TimeOutAsked(Struct, frozen=True, gc=False, kw_only=True, tag="time-out-asked"):
    """The time-out of an open step was requested, before its time."""

    node: str
    by: str
    iteration: str = ""
    attempt: int | None = None
    """The attempt that is meant; None: the newest."""


class RetryAsked(Struct, frozen=True, gc=False, kw_only=True, tag="retry-asked"):
    """The retry of a failed instance was requested."""

    by: str
    edited: EditedInput | None = None
    """An edited input for one of its tasks."""


class Admitted(Struct, frozen=True, gc=False, kw_only=True, tag="admitted"):
    """The instance, or a step that asked for a mutex, has its slot."""

    number: int
    """Which request was granted."""
    node: str = ""
    iteration: str = ""
    at: datetime | UnsetType = UNSET
    """When it was granted, of a request that has a rate."""


class CompensationRetryAsked(
    Struct, frozen=True, gc=False, kw_only=True, tag="compensation-retry-asked"
):
    """The retry of a failed compensation was requested."""

    by: str
    step_id: str
    iteration: str = ""
    input: JSON | UnsetType = UNSET
    """An edited input, in place of the one that it failed with."""


Occurrence: TypeAlias = (
    Started
    | TaskSucceeded
    | TaskFailed
    | AttemptLost
    | TimerDue
    | EventMatched
    | TriggerMatched
    | ChildResolved
    | ChildReported
    | DecisionAsked
    | UndoAsked
    | ChildUndone
    | CancelAsked
    | PauseAsked
    | ResumeAsked
    | SkipDelayAsked
    | TimeOutAsked
    | RetryAsked
    | CompensationRetryAsked
    | Admitted
)
"""What can happen to an instance."""


class InputRefused(Struct, frozen=True, gc=False, kw_only=True, tag="input-refused"):
    """Nothing can follow from an occurrence.

    A start is not possible, the store does not take the data, or a decision raised an error.
    """

    code: str
    message: str
    input: Occurrence | None = None
    """The occurrence; None: it was about the process that works for the instance."""


Input: TypeAlias = Occurrence | InputRefused
"""Everything that is decided on."""
