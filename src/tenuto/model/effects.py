"""Everything the core may ask of the world, as one union of orders.

The shell writes the durable ones (timers far away, waits, mail, dead letters) in the transaction
that holds the entries they follow from, and performs the others once that transaction is durable.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.model.failure import Failure
from tenuto.model.inputs import Occurrence, TimerKey
from tenuto.model.json import JSON


class StartAttempt(Struct, frozen=True, gc=False, kw_only=True):
    """Run a task once."""

    node: str
    iteration: str
    attempt: int
    task_id: str
    input: JSON
    idempotency_key: str
    timeout: timedelta
    heartbeat_timeout: timedelta | None
    handles: tuple[str, ...]
    """The handles that the task may answer with, beside `default` and `error`."""


class StopAttempt(Struct, frozen=True, gc=False, kw_only=True):
    """Tell a running attempt to stop; what has not stopped after `grace` may be ended by force."""

    node: str
    iteration: str
    attempt: int
    grace: timedelta


class SetTimer(Struct, frozen=True, gc=False, kw_only=True):
    """Report `TimerDue` at `due`, never earlier."""

    key: TimerKey
    due: datetime
    set_at: datetime


class ClearTimer(Struct, frozen=True, gc=False, kw_only=True):
    """Forget a timer."""

    key: TimerKey
    due: datetime
    set_at: datetime


class OpenWait(Struct, frozen=True, gc=False, kw_only=True):
    """Report `EventMatched` for events that fit, those already in the inbox included.

    Without a node: a cancellation trigger, for which `TriggerMatched` is reported.
    """

    node: str
    iteration: str
    attempt: int
    pattern: str
    condition: str | None
    captures: tuple[JSON, ...] | None
    """None: the condition is read in the instance's context as it is when an event comes."""
    since: datetime
    term_paths: str
    """Which event properties are compared for equality (JSON array of paths; "" when none)."""
    term_values: str
    """What they must equal, in canonical form; same order."""
    correlation_id: str | None
    arm: str = ""
    """The id of the arm, where a wait has several, or the number of a cancellation trigger."""
    position: int = 0
    """Where it is listed among others of its place: of those that an event fits the first wins."""
    looks_back: bool = True


class CloseWait(Struct, frozen=True, gc=False, kw_only=True):
    """Stop matching events for a wait, with all its arms; `event_id` is the one that resolved it.

    Without a node: for the cancellation triggers of the instance.
    """

    node: str
    iteration: str
    event_id: str | None
    arm: str = ""
    """The one that the event came by."""


class PublishEvent(Struct, frozen=True, gc=False, kw_only=True):
    """Put an event into the inbox, and find out whom it is for."""

    event: Event


class ResolveChild(Struct, frozen=True, gc=False, kw_only=True):
    """Report `ChildResolved` with the version that runs, or `TaskFailed` when none can."""

    node: str
    iteration: str
    attempt: int
    workflow_id: str
    version: int | None
    """None: the newest."""
    input: JSON


class SendMail(Struct, frozen=True, gc=False, kw_only=True):
    """Give another instance an input, at least once, whatever happens to either."""

    to: str
    id: str
    """The same when it is sent again."""
    at: datetime
    input: Occurrence


class KeepDeadLetter(Struct, frozen=True, gc=False, kw_only=True):
    """Keep what could not be done, for people to look at."""

    kind: Literal["task-failed", "poison", "late-result", "compensation-failed"]
    node: str
    iteration: str
    attempt: int
    task_id: str | None
    input: JSON
    error: Failure | None
    output: JSON = None


class DropDeadLetters(Struct, frozen=True, gc=False, kw_only=True):
    """Forget what was kept of what was given up: it is tried again. Late results stay."""

    node: str
    iteration: str


Effect: TypeAlias = (
    StartAttempt
    | StopAttempt
    | SetTimer
    | ClearTimer
    | OpenWait
    | CloseWait
    | PublishEvent
    | ResolveChild
    | SendMail
    | KeepDeadLetter
    | DropDeadLetters
)
