"""The wire format of pushed tasks and their outcomes."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tenuto.model.errors import TenutoError
from tenuto.model.executions import (
    ClaimedTask,
    ReleasedTask,
    ReportedError,
    TaskContext,
    TaskReport,
)
from tenuto.model.failure import CANCELLED, TIMEOUT
from tenuto.model.json import JSON
from tenuto.model.moments import spelled
from tenuto.ports import Page

CALLBACK = "/api/v1/internal/tasks/callback"
PUSH_FAILED = "PUSH_FAILED"
"""The address did not answer, or failed for now."""
PUSH_REFUSED = "PUSH_REFUSED"
"""The address refuses this task."""
_OK, _ACCEPTED = 200, 202
_HIDDEN = b"***"
_TRANSIENT = frozenset({408, 429})
_ITS_FAULT = 500
_LONGEST = 1e15
"""Milliseconds: longer than anything runs."""


class PushRequest(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A task, as it is posted to its address."""

    task_id: str
    instance_id: str
    step_id: str
    input: JSON
    context: TaskContext
    callback_url: str
    execution_id: str
    attempt: int
    idempotency_key: str
    iteration: str = ""
    deadline: datetime | None = None
    """When the attempt's time-out or the instance's deadline ends it, whichever is earlier."""


class PushError(ReportedError, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The reason of a failure; unknown fields are ignored."""


class PushAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The outcome of a pushed task.

    Unknown fields are ignored: the work is done, and must not be refused for them.
    """

    status: Literal["COMPLETED", "FAILED", "TIMEOUT"]
    output: JSON | UnsetType = UNSET
    next_handle: str | None = None
    """The handle that the step is left by, if it is not `default`."""
    error: PushError | None = None
    instance_id: str | None = None
    step_id: str | None = None
    execution_id: str | None = None
    execution_time: float | None = None
    """Milliseconds."""
    delay: str | float | None = None
    """How much later what follows is dispatched: ISO 8601 text, or milliseconds."""
    queue_delay: str | float | None = None
    """Another name of `delay`."""


class Ticket(NamedTuple):
    """The attempt of a callback, and the token that proves its lease."""

    tenant: str
    execution_id: str
    lease_token: str


def callback_url(base: str, ticket: Ticket) -> str:
    """Where the outcome of an attempt may be posted, once."""
    return f"{base.rstrip('/')}{CALLBACK}?token={_token(ticket)}"


def _token(ticket: Ticket) -> str:
    return urlsafe_b64encode(msgspec.json.encode(ticket)).decode().rstrip("=")


def ticket_of(token: str) -> Ticket | None:
    """The ticket in a callback's token, not verified."""
    try:
        padded = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        return Ticket(*msgspec.json.decode(padded, type=tuple[str, str, str]))
    except ValueError:
        return None


def request_of(task: ClaimedTask, url: str) -> bytes:
    """The body that is posted."""
    request = PushRequest(
        task_id=task.task_id,
        instance_id=task.instance_id,
        step_id=task.step_id,
        input=task.input,
        context=task.context,
        callback_url=url,
        execution_id=task.execution_id,
        attempt=task.attempt,
        idempotency_key=task.idempotency_key,
        iteration=task.iteration,
        deadline=task.deadline,
    )
    return msgspec.json.encode(spelled(request))


class Outcome(NamedTuple):
    """The meaning of an answer for the attempt, and for the address."""

    report: TaskReport | ReleasedTask | None
    """None: the outcome comes later by callback, or the lease is over."""
    is_well: bool | None
    """Whether the address works; None: not known."""


def outcome_of(page: Page, ticket: Ticket) -> Outcome:
    """The outcome of posting a task."""
    status = page.status
    if status == _ACCEPTED:
        return Outcome(None, is_well=True)
    if status == _OK:
        # A body may quote the callback URL: its token must not be kept in the log.
        body = page.body.replace(_token(ticket).encode(), _HIDDEN)
        return Outcome(_said(body, ticket), is_well=True)
    if status is None:
        error = ReportedError(code=PUSH_FAILED, message=page.error or "no answer", retryable=True)
        return Outcome(_failed(ticket, error), is_well=False)
    is_transient = status in _TRANSIENT or status >= _ITS_FAULT
    error = ReportedError(
        code=PUSH_FAILED if is_transient else PUSH_REFUSED,
        message=f"the address answered {status}",
        details={"status": status},
        retryable=is_transient,
    )
    return Outcome(_failed(ticket, error), is_well=not is_transient)


def cancelled_outcome(ticket: Ticket) -> Outcome:
    """The instance has cancelled the task, and the request was ended."""
    error = ReportedError(code=CANCELLED, message="the task was cancelled", retryable=False)
    return Outcome(_failed(ticket, error), is_well=None)


def given_back(ticket: Ticket) -> Outcome:
    """The process stopped before the answer, which counts neither as a failure nor as a loss."""
    released = ReleasedTask(execution_id=ticket.execution_id, lease_token=ticket.lease_token)
    return Outcome(released, is_well=None)


def not_storable(ticket: Ticket, why: TenutoError) -> TaskReport:
    """The report for an answer that cannot be recorded, and could not be if it came again."""
    message = f"the answer cannot be recorded: {why.message}"
    return _failed(ticket, ReportedError(code=PUSH_REFUSED, message=message, retryable=False))


def report_of(answer: PushAnswer, ticket: Ticket) -> TaskReport:
    """The outcome as a worker's report."""
    took = _time_of(answer)
    match answer.status:
        case "COMPLETED":
            return TaskReport(
                execution_id=ticket.execution_id,
                lease_token=ticket.lease_token,
                output=None if answer.output is UNSET else answer.output,
                next_handle=answer.next_handle,
                execution_time=took,
                delay=answer.queue_delay if answer.delay is None else answer.delay,
            )
        case "FAILED":
            said = answer.error or PushError(code="FAILED", message="the task failed")
            return _failed(
                ticket,
                ReportedError(
                    code=said.code,
                    message=said.message,
                    details=said.details,
                    retryable=said.retryable,
                ),
                took,
            )
        case "TIMEOUT":
            message = answer.error.message if answer.error is not None else "it took too long"
            error = ReportedError(code=TIMEOUT, message=message, retryable=True)
            return _failed(ticket, error, took)


def _said(body: bytes, ticket: Ticket) -> TaskReport:
    try:
        answer = msgspec.json.decode(body, type=PushAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"the answer is no outcome of a task: {error}"
        return _failed(ticket, ReportedError(code=PUSH_REFUSED, message=message, retryable=False))
    if answer.execution_id not in (None, ticket.execution_id):
        message = "the answer is about another execution"
        return _failed(ticket, ReportedError(code=PUSH_REFUSED, message=message, retryable=False))
    return report_of(answer, ticket)


def _time_of(answer: PushAnswer) -> float | None:
    """How long it took; a time that cannot be is ignored, since the work is done."""
    took = answer.execution_time
    return took if took is not None and 0 <= took <= _LONGEST else None


def _failed(ticket: Ticket, error: ReportedError, took: float | None = None) -> TaskReport:
    return TaskReport(
        execution_id=ticket.execution_id,
        lease_token=ticket.lease_token,
        error=error,
        execution_time=took,
    )
