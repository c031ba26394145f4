"""Lines of the log: what has become true of an instance, in the past tense.

A new kind arrives whole: a struct here, an arm in `core.fold`, a stored example log, a line in the
changelog. Shapes are for ever: a changed one gets a new `SHAPE` number and an upcaster in
`model.log`.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from tenuto.model.approvals import Asking, People
from tenuto.model.edited import EditedInput
from tenuto.model.failure import Failure, LastError, Source
from tenuto.model.family import Parent
from tenuto.model.ids import NodeKey, around
from tenuto.model.json import JSON, Object
from tenuto.model.secret_place import SecretPlace
from tenuto.model.status import Status
from tenuto.model.working_time import CalendarVersion


class EventType(StrEnum):
    """The closed list of entry kinds that tools read; not all have a writer yet."""

    INPUT_SET = "INPUT_SET"
    SYSTEM_SET = "SYSTEM_SET"
    NODE_DISPATCHED = "NODE_DISPATCHED"
    NODE_COMPLETED = "NODE_COMPLETED"
    NODE_FAILED = "NODE_FAILED"
    NODE_SKIPPED = "NODE_SKIPPED"
    NODE_CANCELLED = "NODE_CANCELLED"
    NODE_CANCEL_REQUESTED = "NODE_CANCEL_REQUESTED"
    RETRY_SCHEDULED = "RETRY_SCHEDULED"
    WAIT_OPENED = "WAIT_OPENED"
    WAIT_RESOLVED = "WAIT_RESOLVED"
    TIMER_SET = "TIMER_SET"
    TIMER_FIRED = "TIMER_FIRED"
    MUTEX_REQUESTED = "MUTEX_REQUESTED"
    MUTEX_GRANTED = "MUTEX_GRANTED"
    ITERATION_STARTED = "ITERATION_STARTED"
    ITERATION_ENDED = "ITERATION_ENDED"
    CHILD_STARTED = "CHILD_STARTED"
    CHILD_ENDED = "CHILD_ENDED"
    PAUSE_REQUESTED = "PAUSE_REQUESTED"
    RESUME_REQUESTED = "RESUME_REQUESTED"
    CANCEL_REQUESTED = "CANCEL_REQUESTED"
    RETRY_REQUESTED = "RETRY_REQUESTED"
    COMPENSATION_PLANNED = "COMPENSATION_PLANNED"
    COMPENSATION_DISPATCHED = "COMPENSATION_DISPATCHED"
    COMPENSATION_COMPLETED = "COMPENSATION_COMPLETED"
    COMPENSATION_FAILED = "COMPENSATION_FAILED"
    COMPENSATION_ENDED = "COMPENSATION_ENDED"
    STATUS_CHANGED = "STATUS_CHANGED"


class _Entry(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    event_type: ClassVar[EventType]
    at: datetime


class _NodeEntry(_Entry, frozen=True, kw_only=True):
    node: str
    iteration: str = ""
    attempt: int = 1
    """The attempt it is, or would have been."""

    @property
    def key(self) -> NodeKey:
        return NodeKey(self.node, self.iteration)


class ScheduledBy(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """A tick of a schedule."""

    id: str
    """The schedule."""
    nominal: datetime
    mark: str = ""
    """Whether a user asked for it: `manual`, `backfill`."""


class InputSet(_Entry, frozen=True, kw_only=True):
    """An instance was accepted."""

    event_type = EventType.INPUT_SET
    input: JSON
    definition_id: str
    definition_version: int
    correlation_id: str | None = None
    priority: int = 0
    deadline: datetime | None = None
    """The earlier of the deadlines of the start and of the definition's options."""
    parent: Parent | None = None
    """The parent that waits for its end; None: it was not started by a step."""
    rerun_of: str | None = None
    """The instance whose completed steps this one was given."""
    event_id: str | None = None
    """The event that started it, if one did."""
    chain: int = 0
    """The length of the chain of starts by events that led to it, as in `Event.chain`."""
    origin: str | None = None
    """The instance that led to it by events, if one did."""
    traceparent: str | None = None
    """The trace that it belongs to, as W3C writes it."""
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendars that its deadline was computed with."""
    schedule: ScheduledBy | None = None
    """The tick of a schedule that started it, if one did."""


class SystemSet(_Entry, frozen=True, kw_only=True):
    """The system noted something about the instance, out of reach of expressions."""

    event_type = EventType.SYSTEM_SET
    values: Object


class NodeDispatched(_NodeEntry, frozen=True, kw_only=True):
    """An attempt was ordered."""

    event_type = EventType.NODE_DISPATCHED
    input: JSON | UnsetType = UNSET
    """Kept where a later attempt could not work it out again from the instance's own input."""
    policy: str | None = None
    """The declaration of its task that it was ordered under; None: no tenant has declared it."""
    timeout_at: datetime | None = None
    """When the attempt times out, if its `timeout` is in working time."""
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendar that this was computed with."""
    secrets: tuple[SecretPlace, ...] = ()
    """Where secrets belong in `input`, which has their names and never their values."""


class NodeCompleted(_NodeEntry, frozen=True, kw_only=True):
    """A node has its outcome; edges on `handles` are taken, its others are dead."""

    event_type = EventType.NODE_COMPLETED
    status: Literal["success", "error"] = "success"
    variable: str | None = None
    output: JSON = None
    handles: tuple[str, ...] = ("default",)
    variables: Object | None = None
    """Further names that this node writes into the context (an event's payload mapping)."""
    reused_from: str | None = None
    """The instance in which it ran, if its outcome was taken over from there."""
    error: Failure | None = None
    """The failure that it had in that instance."""
    errors: list[JSON] | None = None
    """The failures of single iterations of a loop there."""
    execution_time: int | None = None
    """Milliseconds that the attempt took, without the time for which it was queued."""
    worker: str | None = None
    """The worker that ran the attempt; None: a process of the service, or no task ran."""


class NodeFailed(_NodeEntry, frozen=True, kw_only=True):
    """An attempt failed; `then` says what was decided about it."""

    event_type = EventType.NODE_FAILED
    error: Failure
    then: Literal["retry", "route", "iteration", "fail", "cancel"]
    """Try again, take an error handle, fail its iteration of the loop around it or the workflow, or
    nothing (it was being cancelled)."""
    counts: bool = True
    """Whether it uses up the retry budget; an attempt lost or stopped with its process does not."""
    output: JSON = None
    """Its output, if the work was done but the step failed all the same (`wasDone`)."""
    execution_time: int | None = None
    """As that of a completed node."""
    worker: str | None = None


class NodeSkipped(_NodeEntry, frozen=True, kw_only=True):
    """A node was passed over, or can never run."""

    event_type = EventType.NODE_SKIPPED
    reason: Literal["when", "dead-path", "cancelled", "enough"]
    """`enough`: an item of a loop, in the iteration that never began, since the loop has enough."""
    reused_from: str | None = None
    """The instance in which `when` was read."""
    handles: tuple[str, ...] = ()
    """The edges that are taken; if left out, `default` for `when`, and none otherwise."""


class NodeCancelled(_NodeEntry, frozen=True, kw_only=True):
    """A node that had begun was cancelled."""

    event_type = EventType.NODE_CANCELLED


class NodeCancelRequested(_NodeEntry, frozen=True, kw_only=True):
    """A running attempt was asked to stop; until `grace_until` its result is still accepted."""

    event_type = EventType.NODE_CANCEL_REQUESTED
    grace_until: datetime


class RetryScheduled(_NodeEntry, frozen=True, kw_only=True):
    """The next attempt (`attempt`) will be ordered at `due`."""

    event_type = EventType.RETRY_SCHEDULED
    due: datetime
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendar that it was computed with, if the delay is in working time."""


class MutexRequested(_NodeEntry, frozen=True, kw_only=True):
    """A step waits until no other step has the mutex."""

    event_type = EventType.MUTEX_REQUESTED
    mutex: str


class MutexGranted(_NodeEntry, frozen=True, kw_only=True):
    """The step has its mutex, until its final outcome."""

    event_type = EventType.MUTEX_GRANTED


class WaitArm(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """One of several events that a wait accepts; the first to arrive wins."""

    id: str
    pattern: str
    captures: tuple[JSON, ...] = ()


class WaitOpened(_NodeEntry, frozen=True, kw_only=True):
    """A node began to wait for an event, or for the decision of an approval."""

    event_type = EventType.WAIT_OPENED
    pattern: str = ""
    """Empty where there are arms, and where a decision is waited for."""
    since: datetime | None = None
    """Events received from here on count."""
    captures: tuple[JSON, ...] = ()
    """The instance's side of the condition, evaluated once."""
    correlation_id: str | None = None
    timeout_at: datetime | None = None
    """When `eventTimeout`, or an approval's `deadline`, takes the handle `timeout`."""
    fail_at: datetime | None = None
    """When the node's own `timeout` fails it."""
    arms: tuple[WaitArm, ...] = ()
    approval: Asking | None = None
    """Who may decide on the approval; then the fields about events are left out."""
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendars that its moments were computed with."""


class WaitResolved(_NodeEntry, frozen=True, kw_only=True):
    """A wait ended: by an event or a decision, or because none came; or it took one of several."""

    event_type = EventType.WAIT_RESOLVED
    outcome: Literal["event", "timeout", "decision"]
    event_id: str | None = None
    arm: str | None = None
    remaining: int = 0
    """How many further events it needs: while it needs any, it stays open."""
    event: JSON | UnsetType = UNSET
    """The event, as the output will have it, where further ones are needed; for a loop, the item
    that the event appends."""
    requested_by: str | None = None
    """The principal that requested the time-out, if it was not a timer."""


class HeldResult(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """The result of a task that asked for a delay: the node completes with it once that is over."""

    output: JSON = None
    handle: str | None = None
    """None: `default`. Equal results are written as equal bytes, so a default is never spelled."""
    execution_time: int | None = None
    worker: str | None = None


class TimerSet(_NodeEntry, frozen=True, kw_only=True):
    """A delay began."""

    event_type = EventType.TIMER_SET
    due: datetime
    fail_at: datetime | None = None
    """When the node's own `timeout` fails it."""
    held: HeldResult | None = None
    """The result of the attempt, if a task asked for the delay."""
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendars that its moments were computed with."""


class TimerFired(_NodeEntry, frozen=True, kw_only=True):
    """A delay is over, or an approval that is still open is due for a reminder or escalates."""

    event_type = EventType.TIMER_FIRED
    kind: Literal["delay", "reminder", "escalation"] = "delay"
    number: int = 0
    """Which reminder it is, from 1."""
    next_at: datetime | None = None
    """When the next reminder is due."""
    assignees: People | None = None
    """The people that a reminder addresses, or an escalation adds."""
    skipped_by: str | None = None
    """The principal that ended the delay of a test run before its time."""


class _SlaEntry(_Entry, frozen=True, kw_only=True):
    """About the SLA of a step or, without `node`, of the instance."""

    node: str = ""
    iteration: str = ""
    attempt: int = 1

    @property
    def key(self) -> NodeKey:
        return NodeKey(self.node, self.iteration)


class SlaSet(_SlaEntry, frozen=True, kw_only=True):
    """An instance or a step with an SLA began: a TIMER_SET of the kind `sla`."""

    event_type = EventType.TIMER_SET
    kind: Literal["sla"] = "sla"
    warn_at: datetime | None = None
    breach_at: datetime | None = None
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendar that they were computed with."""


class SlaFired(_SlaEntry, frozen=True, kw_only=True):
    """An instance or a step was still open when its SLA was about to be missed, or was."""

    event_type = EventType.TIMER_FIRED
    kind: Literal["sla-warning", "sla-breached"]
    due: datetime
    """When it was due; `at` is when that was noticed."""


class _IterationEntry(_NodeEntry, frozen=True, kw_only=True):
    """Of an iteration of the loop `node`; `iteration` is the path of that one."""

    @property
    def loop(self) -> NodeKey:
        """The loop itself, in the iteration around it."""
        return NodeKey(self.node, around(self.iteration))


class IterationStarted(_IterationEntry, frozen=True, kw_only=True):
    """A loop began one of its iterations."""

    event_type = EventType.ITERATION_STARTED
    items: list[JSON] | UnsetType = UNSET
    """The items of the loop's source, evaluated once: only the first iteration's entry has them."""
    fail_at: datetime | None = None
    """When the loop's own `timeout` fails it; beside the items."""
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendar that `fail_at` was computed with."""
    event_id: str | None = None
    """The event that appended the item."""
    from_: str | None = None
    """The step whose edge is the item, in a loop over arrivals."""


class IterationEnded(_IterationEntry, frozen=True, kw_only=True):
    """Nothing of an iteration is active any more."""

    event_type = EventType.ITERATION_ENDED
    status: Literal["success", "error", "cancelled"] = "success"
    output: JSON = None
    error: Failure | None = None


class ChildStarted(_NodeEntry, frozen=True, kw_only=True):
    """An attempt has its child: from here on the start message to it, then the child, are rows."""

    event_type = EventType.CHILD_STARTED
    child_id: str
    workflow_id: str
    version: int
    """Recorded for every further attempt."""
    fail_at: datetime | None = None
    """When the node's own `timeout` fails it; beside its first child."""
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendar that `fail_at` was computed with."""


class ChildEnded(_NodeEntry, frozen=True, kw_only=True):
    """An attempt's child has ended; the next entry has the outcome of the node."""

    event_type = EventType.CHILD_ENDED
    child_id: str
    status: Status
    can_be_undone: bool = False
    """Whether it has completed steps that a compensation of this one would undo."""


class PauseRequested(_Entry, frozen=True, kw_only=True):
    """A pause was requested: nothing new is dispatched."""

    event_type = EventType.PAUSE_REQUESTED
    by: str
    reason: str | None = None
    until: datetime | None = None


class ResumeRequested(_Entry, frozen=True, kw_only=True):
    """A user, or a timer, requested to resume."""

    event_type = EventType.RESUME_REQUESTED
    by: str


class CancelRequested(_Entry, frozen=True, kw_only=True):
    """A user, or a timer, requested the cancellation."""

    event_type = EventType.CANCEL_REQUESTED
    reason: str | None
    by: str
    source: Source
    should_compensate: bool
    event_id: str | None = None


class NodeMoment(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A moment of one step."""

    node: str
    at: datetime
    iteration: str = ""

    @property
    def key(self) -> NodeKey:
        return NodeKey(self.node, self.iteration)


class RetryRequested(_Entry, frozen=True, kw_only=True):
    """A retry of a failed instance was requested: failed and withdrawn nodes re-open."""

    event_type = EventType.RETRY_REQUESTED
    by: str
    edited: EditedInput | None = None
    fail_at: tuple[NodeMoment, ...] = ()
    """When loops that re-open have taken longer than their `timeout` in working time."""
    calendars: tuple[CalendarVersion, ...] = ()
    """The calendars that these were computed with."""


class PlannedUndo(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """One activation of a step that is to be undone, and by which compensation step."""

    step_id: str
    """The compensation step; of a child that undoes itself, the step that is the child."""
    compensation_for: str
    iteration: str = ""

    @property
    def key(self) -> NodeKey:
        return NodeKey(self.step_id, self.iteration)

    @property
    def undone(self) -> NodeKey:
        return NodeKey(self.compensation_for, self.iteration)

    @property
    def is_child(self) -> bool:
        return self.step_id == self.compensation_for


class SkippedUndo(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """One that could be undone and will not be, and why."""

    step_id: str
    reason: str
    iteration: str = ""


class CompensationPlanned(_Entry, frozen=True, kw_only=True):
    """The undo plan was fixed: these compensations run in this order, and none is added later.

    A second plan of a child names the compensations that had failed and that its parent retries.
    """

    event_type = EventType.COMPENSATION_PLANNED
    plan: tuple[PlannedUndo, ...] = ()
    skipped: tuple[SkippedUndo, ...] = ()
    asked: int = 0
    """The number of the parent's request for it; 0: no parent requested it."""


class CompensationDispatched(_NodeEntry, frozen=True, kw_only=True):
    """An attempt of a compensation was ordered; `node` is the compensation step."""

    event_type = EventType.COMPENSATION_DISPATCHED
    input: JSON | UnsetType = UNSET
    """The input that the compensation step spells out."""
    policy: str | None = None
    """The declaration of its task that it was ordered under; None: no tenant has declared it."""
    timeout_at: datetime | None = None
    """As that of a node."""
    calendars: tuple[CalendarVersion, ...] = ()
    secrets: tuple[SecretPlace, ...] = ()
    """As those of a node."""


class CompensationCompleted(_NodeEntry, frozen=True, kw_only=True):
    """A compensation is done."""

    event_type = EventType.COMPENSATION_COMPLETED
    output: JSON = None
    worker: str | None = None
    """As that of a completed node."""


class CompensationFailed(_NodeEntry, frozen=True, kw_only=True):
    """An attempt of a compensation failed: it is retried, or given up and the next one runs."""

    event_type = EventType.COMPENSATION_FAILED
    error: Failure
    then: Literal["retry", "fail"]
    counts: bool = True
    """Whether it uses up the retry budget; an attempt lost or stopped with its process does not."""
    worker: str | None = None


class CompensationEnded(_Entry, frozen=True, kw_only=True):
    """Every compensation of the plan has been tried."""

    event_type = EventType.COMPENSATION_ENDED
    status: Literal["COMPLETED", "COMPLETED_WITH_ERRORS"]


class StatusChanged(_Entry, frozen=True, kw_only=True):
    """The instance's status is now `to`."""

    event_type = EventType.STATUS_CHANGED
    from_: Status
    to: Status
    error: LastError | None = None


NodeEntry: TypeAlias = (
    NodeDispatched
    | NodeCompleted
    | NodeFailed
    | NodeSkipped
    | NodeCancelled
    | NodeCancelRequested
    | RetryScheduled
    | MutexRequested
    | MutexGranted
    | WaitOpened
    | WaitResolved
    | TimerSet
    | TimerFired
    | IterationStarted
    | IterationEnded
    | ChildStarted
    | ChildEnded
    | CompensationDispatched
    | CompensationCompleted
    | CompensationFailed
)
Entry: TypeAlias = (
    NodeEntry
    | InputSet
    | SystemSet
    | SlaSet
    | SlaFired
    | PauseRequested
    | ResumeRequested
    | CancelRequested
    | RetryRequested
    | CompensationPlanned
    | CompensationEnded
    | StatusChanged
)
