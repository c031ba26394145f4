"""Everything that can happen to an instance, as one union: reports that reach `core.decide`."""

from __future__ import annotations

from datetime import datetime
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
    """What is to happen when a timer is due."""

    DELAY = "delay"
    RETRY = "retry"
    WAIT_TIMEOUT = "wait-timeout"
    NODE_TIMEOUT = "node-timeout"
    REMINDER = "reminder"
    ESCALATION = "escalation"
    GRACE = "grace"
    DEADLINE = "deadline"
    RESUME = "resume"
    GO_ON = "go-on"
    """At once: a decision stopped before all that follows was done. It stands in no log and no
    row, since the state tells it."""


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
    """What went wrong in single iterations of a loop."""


class EventCause(Struct, frozen=True, gc=False, kw_only=True):
    """An event, and which of the triggers of its definition it set off."""

    event_id: str
    trigger: int
    tenant: str = "default"
    """Whose both are, and whose the instance will be."""


class Started(Struct, frozen=True, gc=False, kw_only=True, tag="started"):
    """A new instance was asked for."""

    definition_id: str
    definition_version: int
    input: JSON
    correlation_id: str | None = None
    priority: int = 0
    deadline: datetime | None = None
    parent: Parent | None = None
    """Whoever waits for its end."""
    rerun_of: str | None = None
    """The instance that `reused` comes from."""
    reused: tuple[Reused, ...] = ()
    """In the order in which they ended there."""
    from_step: str | None = None
    """The step that is to run again, and all after it."""
    cause: EventCause | None = None
    """The event that starts it, if one does."""
    chain: int = 0
    """How many starts by events of instances led to it, as `Event.chain` counts them."""
    traceparent: str | UnsetType = UNSET
    """The trace that it belongs to, if somebody named one; no part of what makes two starts the
    same, so it is not there where nobody did."""


class TaskSucceeded(Struct, frozen=True, gc=False, kw_only=True, tag="task-succeeded"):
    """An attempt ended with a result."""

    node: str
    attempt: int
    output: JSON
    iteration: str = ""
    handle: str = "default"


class TaskFailed(Struct, frozen=True, gc=False, kw_only=True, tag="task-failed"):
    """An attempt ended with a failure."""

    node: str
    attempt: int
    error: Failure
    iteration: str = ""


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
    """An event fits an open wait; `by_lookback` when it came before the wait was committed."""

    node: str
    attempt: int
    event: Event
    iteration: str = ""
    by_lookback: bool = False
    arm: str = ""
    """Which of the wait's arms it fits, where it has several."""


class TriggerMatched(Struct, frozen=True, gc=False, kw_only=True, tag="trigger-matched"):
    """An event fits one of the cancellation triggers of an instance, as far as can be told."""

    trigger: int
    event: Event


class ChildResolved(Struct, frozen=True, gc=False, kw_only=True, tag="child-resolved"):
    """The workflow that a step names is there, takes the step's input, and has this version."""

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
    """Whether another child might fare better."""
    reason: str | None = None
    """Why it was cancelled."""
    can_be_undone: bool = False
    """Whether it has completed steps that could be undone."""


class UndoAsked(Struct, frozen=True, gc=False, kw_only=True, tag="undo-asked"):
    """A parent wants what its child has completed to be undone, after the child's end."""

    by: str
    attempt: int = 1
    """Which of its askings it is: a later one asks to try again whatever was given up."""


class ChildUndone(Struct, frozen=True, gc=False, kw_only=True, tag="child-undone"):
    """A child has undone what it had completed, or what of it could be."""

    node: str
    child_id: str
    status: Literal["COMPLETED", "COMPLETED_WITH_ERRORS"]
    iteration: str = ""


class DecisionAsked(Struct, frozen=True, gc=False, kw_only=True, tag="decision-asked"):
    """Somebody has decided on an approval; that the form fits its schema was seen before."""

    node: str
    decision: Decision
    by: str
    roles: tuple[str, ...] = ()
    """The roles that this person has."""
    form: JSON = None
    iteration: str = ""


class CancelAsked(Struct, frozen=True, gc=False, kw_only=True, tag="cancel-asked"):
    """Somebody wants the instance to end."""

    by: str
    reason: str | None = None
    source: Source = "API"
    should_compensate: bool = True
    event_id: str | None = None


class PauseAsked(Struct, frozen=True, gc=False, kw_only=True, tag="pause-asked"):
    """Somebody wants nothing new to be dispatched for now."""

    by: str
    reason: str | None = None
    until: datetime | None = None


class ResumeAsked(Struct, frozen=True, gc=False, kw_only=True, tag="resume-asked"):
    """Somebody wants a paused instance to go on."""

    by: str


class RetryAsked(Struct, frozen=True, gc=False, kw_only=True, tag="retry-asked"):
    """Somebody wants a failed instance to go on."""

    by: str
    edited: EditedInput | None = None
    """With this instead of what one of its tasks was given."""


class CompensationRetryAsked(
    Struct, frozen=True, gc=False, kw_only=True, tag="compensation-retry-asked"
):
    """Somebody wants a compensation that was given up to be tried again."""

    by: str
    step_id: str
    iteration: str = ""
    input: JSON | UnsetType = UNSET
    """What it is given instead of what it failed with."""


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
    | RetryAsked
    | CompensationRetryAsked
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
