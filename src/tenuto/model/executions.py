"""What workers outside and the service tell each other about tasks that are pulled."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from tenuto.model.json import JSON

MOST_OUTPUT_BYTES = 64_000
"""So much JSON of earlier steps' outputs is handed over with a task."""


class TaskContext(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Where a task stands in its workflow."""

    workflow_definition_id: str
    retry_count: int
    """How many attempts there were before this one."""
    correlation_id: str | None = None
    deadline: datetime | None = None
    """When the instance is cancelled if it has not ended by then."""
    traceparent: str | None = None
    """The attempt's place in the trace that its instance was started in."""


class UndoneStep(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Of a compensation: what is undone."""

    step_id: str
    has_input: bool
    """Whether the definition says what it gets; otherwise its input is everything there is."""
    output: JSON = None
    """What the step gave."""


class ClaimedTask(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An attempt that a worker may work on until its lease is over."""

    execution_id: str
    lease_token: str
    """Proof of the lease: whoever reports shows it."""
    task_id: str
    instance_id: str
    step_id: str
    iteration: str
    input: JSON
    attempt: int
    idempotency_key: str
    """The same for every attempt of one step."""
    lease_until: datetime
    context: TaskContext
    deadline: datetime | None = None
    timeout: float | None = None
    """Seconds that the attempt may take, from the claim."""
    heartbeat_timeout: float | None = None
    """Seconds that the task may be silent, where that is limited."""
    handles: tuple[str, ...] = ()
    """The handles that the task may answer with, beside `default` and `error`."""
    undo: UndoneStep | None = None
    previous_outputs: dict[str, JSON] | None = None
    """The outputs of the steps completed so far, by step id, where the claim asks for them."""
    previous_outputs_bytes: int | None = None
    """How large they are, where that is too much to be handed over."""


class ReportedError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an attempt failed; code `CANCELLED` obeys a cancellation."""

    code: str
    message: str = ""
    details: JSON = None
    retryable: bool = True


class TaskReport(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """How an attempt ended: with an output, or with an error."""

    execution_id: str
    lease_token: str
    output: JSON | UnsetType = UNSET
    next_handle: str | None = None
    """The handle that the step is left by, if it is not `default`."""
    error: ReportedError | None = None


class ReleasedTask(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """An attempt that a worker gives back, because it stops."""

    execution_id: str
    lease_token: str
    has_begun: bool = True
    """Whether the task may have done something already: then it becomes another attempt."""


class Heartbeat(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a worker hears when it says that it is at work."""

    cancelled: bool
    """Whether the task is to stop; what it reports soon is recorded all the same."""
    lease_until: datetime


class ReportAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What became of one of several reports, as an HTTP status and, if it is none, the problem."""

    execution_id: str
    status: int
    error: JSON = None
