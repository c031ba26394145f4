"""Effects: everything the core may ask of the engine, as one union of orders.

The engine writes the durable ones (distant timers, waits, mailbox messages, dead letters) in the
transaction of the entries that they follow from, and performs the others once that transaction is
durable.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.model.events import Event
from tenuto.model.failure import Failure
from tenuto.model.inputs import Occurrence, TimerKey
from tenuto.model.json import JSON
from tenuto.model.secret_place import SecretPlace
from tenuto.model.slots import SlotRequest


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
    """The handles that the task may choose, beside `default` and `error`."""
    secrets: tuple[SecretPlace, ...] = ()
    """Where secrets belong in its input; their values are filled in where it runs."""


class StopAttempt(Struct, frozen=True, gc=False, kw_only=True):
    """Ask a running attempt to stop; after `grace` it may be ended by force."""

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
    """Delete a timer."""

    key: TimerKey
    due: datetime
    set_at: datetime


class OpenWait(Struct, frozen=True, gc=False, kw_only=True):
    """Report `EventMatched` for each matching event, including those already in the inbox.

    Without a node: a cancellation trigger, for which `TriggerMatched` is reported.
    """

    node: str
    iteration: str
    attempt: int
    pattern: str
    condition: str | None
    captures: tuple[JSON, ...] | None
    """None: the condition is evaluated in the instance's context when an event arrives."""
    since: datetime
    term_paths: str
    """Which event properties are compared for equality (JSON array of paths; "" when none)."""
    term_values: str
    """What they must equal, in canonical form; same order."""
    correlation_id: str | None
    arm: str = ""
    """The id of the arm, where a wait has several, or the number of a cancellation trigger."""
    position: int = 0
    """Its position among the arms or triggers: the first that an event matches wins."""
    looks_back: bool = True


class CloseWait(Struct, frozen=True, gc=False, kw_only=True):
    """Stop matching events for a wait, with all its arms; `event_id` is the one that resolved it.

    Without a node: for the cancellation triggers of the instance.
    """

    node: str
    iteration: str
    event_id: str | None
    arm: str = ""
    """The arm that the event matched."""


class TakeEvent(Struct, frozen=True, gc=False, kw_only=True):
    """Record that a node took an event and listens for further ones."""

    node: str
    iteration: str
    event_id: str


class PublishEvent(Struct, frozen=True, gc=False, kw_only=True):
    """Put an event into the inbox, and find its waits, triggers and subscriptions."""

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
    """Send another instance an input, at least once, whatever happens to either of them."""

    to: str
    id: str
    """Unchanged when the message is sent again."""
    at: datetime
    input: Occurrence


class KeepDeadLetter(Struct, frozen=True, gc=False, kw_only=True):
    """Keep a dead letter for people to look at."""

    kind: Literal["task-failed", "poison", "late-result", "compensation-failed"]
    node: str
    iteration: str
    attempt: int
    task_id: str | None
    input: JSON
    error: Failure | None
    output: JSON = None


class DropDeadLetters(Struct, frozen=True, gc=False, kw_only=True):
    """Delete the dead letters of effects that are retried. Those of late results stay."""

    node: str
    iteration: str


class AskSlot(Struct, frozen=True, gc=False, kw_only=True):
    """Report `Admitted` once there is a slot for the instance, or for a step that has a mutex."""

    number: int
    request: SlotRequest | None = None
    """What the instance asks for; None: a step asks for the mutex `mutex`."""
    is_woken: bool = False
    """Whether the instance has run before: then it goes before those that have not."""
    is_taken: bool = False
    """Whether the instance has it already, since there was room."""
    node: str = ""
    iteration: str = ""
    mutex: str = ""


class ReleaseSlot(Struct, frozen=True, gc=False, kw_only=True):
    """Give a slot back, or withdraw the request for it."""

    node: str = ""
    iteration: str = ""


Effect: TypeAlias = (
    StartAttempt
    | StopAttempt
    | SetTimer
    | ClearTimer
    | OpenWait
    | CloseWait
    | TakeEvent
    | PublishEvent
    | ResolveChild
    | SendMail
    | KeepDeadLetter
    | DropDeadLetters
    | AskSlot
    | ReleaseSlot
)
