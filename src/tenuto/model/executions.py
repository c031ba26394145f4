"""Messages between remote workers and the service about claimed tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from tenuto.model.json import JSON, Body
from tenuto.model.task_logs import LogChunk

LOGS = "logs"
"""The field of reports and heartbeats that has lines of the attempt."""
WORKER = "workerId"
"""The field of reports that names the worker."""
REPORT_FIELDS = ("executionTime", "delay", WORKER)
"""Fields of reports that servers of earlier versions do not take."""
PUSHED = "pushed"
"""Instead of a worker: the task was pushed to an address."""
UNNAMED = "unnamed worker"
"""Of a worker that did not name itself in its report."""
MOST_OUTPUT_BYTES = 64_000
"""The largest JSON of earlier outputs that is sent with a task."""


class TaskContext(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The place of a task in its workflow."""

    workflow_definition_id: str
    retry_count: int
    """How many attempts there were before this one."""
    correlation_id: str | None = None
    deadline: datetime | None = None
    """The deadline of the instance, when it is cancelled."""
    traceparent: str | None = None
    """The attempt's place in the trace that its instance was started in."""


class UndoneStep(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The step that a compensation undoes."""

    step_id: str
    has_input: bool
    """Whether the definition gives its input; otherwise it has all that is known of the step."""
    output: JSON = None
    """The output of the step."""


class ClaimedTask(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An attempt that a worker may work on until its lease is over."""

    execution_id: str
    lease_token: str
    """The token of the lease, which every report has to carry."""
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
    """When the attempt's time-out or the instance's deadline ends it, whichever is earlier."""
    timeout: float | None = None
    """Seconds that the attempt may take, from the claim."""
    heartbeat_timeout: float | None = None
    """Seconds that the task may go without a heartbeat, if that is limited."""
    handles: tuple[str, ...] = ()
    """The handles that the task may choose, beside `default` and `error`."""
    undo: UndoneStep | None = None
    reports: tuple[str, ...] = ()
    """The further fields that a report may have: a server refuses those that it does not know."""
    previous_outputs: dict[str, JSON] | None = None
    """The outputs of the steps completed so far, by step id, if the claim requests them."""
    previous_outputs_bytes: int | None = None
    """Their size, if they are too large to be sent."""


class ReportedError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an attempt failed; code `CANCELLED` confirms a cancellation."""

    code: str
    message: str = ""
    details: JSON = None
    retryable: bool = True


class TaskReport(Body, frozen=True, kw_only=True):
    """How an attempt ended: with an output, or with an error."""

    execution_id: str
    lease_token: str
    output: JSON | UnsetType = UNSET
    next_handle: str | None = None
    """The handle that the step is left by, if it is not `default`."""
    error: ReportedError | None = None
    execution_time: Annotated[float, Meta(ge=0, le=1e15)] | None = None
    """Milliseconds that the task took."""
    delay: str | float | None = None
    """How much later what follows is dispatched: ISO 8601 text, or milliseconds."""
    queue_delay: str | float | None = None
    """Another name of `delay`."""
    logs: LogChunk | None = None
    """Lines that the attempt logged and printed since those that were sent before."""
    worker_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """The worker that ran the attempt, for people."""


class ReleasedTask(Body, frozen=True, kw_only=True):
    """An attempt that a worker gives back, because it stops."""

    execution_id: str
    lease_token: str
    has_begun: bool = True
    """Whether the task may have done something already: then it becomes another attempt."""


class Heartbeat(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to a worker's heartbeat."""

    cancelled: bool
    """Whether the task should stop; a report soon after is still recorded."""
    lease_until: datetime


class ReportAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The outcome of one of several reports: an HTTP status and, if it failed, the problem."""

    execution_id: str
    status: int
    error: JSON = None
