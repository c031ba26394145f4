"""Callbacks of schedules to this service; the token in the URL is the credential."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.call import Call
from tenuto.api.operations.task_callbacks import INTERNAL, CallbackQuery
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.schedule_tickets import SCHEDULER_CALLBACK, ScheduleTicket, leads_to
from tenuto.api.shapes import Answer, Body, Moment
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem
from tenuto.model.json import JSON, kind_of

_NO_OPERATION = "TEN-3091"


class ScheduleCallback(Body):
    """A tick of a schedule whose target is this service."""

    schedule_id: str
    execution_time: Moment
    """When it was started."""
    payload: JSON = None
    """`{workflowInstanceId, stepId, operation: "timeout", iteration?}`."""


class TimedOut(Answer):
    """What a callback did."""

    timed_out: bool
    """Whether the step was open, and was timed out by it."""


async def _ticket(call: Call[CallbackQuery]) -> ScheduleTicket:
    ticket = await call.service.schedule_tickets.said(call.query.token)
    if ticket is None or ticket.is_over(call.service.clock.now()):
        message = "the token is not one for callbacks of schedules, or has expired"
        raise Refusal(401, "TEN-3092", message)
    try:
        saved = await call.service.workspace(_sender(ticket)).schedules.get(ticket.schedule_id)
    except NotFound:
        url = None
    else:
        url = saved.target.get("callbackUrl")
    if not isinstance(url, str) or not leads_to(url, call.service.url, SCHEDULER_CALLBACK):
        message = "the schedule of the token does not call this service any more"
        raise Refusal(401, "TEN-3092", message)
    return ticket


def _sender(ticket: ScheduleTicket) -> Principal:
    return Principal(
        tenant=ticket.tenant,
        name=f"schedule {ticket.schedule_id}",
        credential=f"schedule:{ticket.schedule_id}",
        role=Role.VIEWER,
        scopes=frozenset(),
        kind="callback",
    )


@INTERNAL.post(
    SCHEDULER_CALLBACK,
    other_statuses=(401, 404),
    size="value",
    is_public=True,
    is_audited=False,
    admit=_ticket,
)
async def schedule_callback(call: Call[CallbackQuery], body: ScheduleCallback) -> TimedOut:
    """Time out the open wait or attempt that a schedule names."""
    ticket: ScheduleTicket = call.admitted
    if body.schedule_id != ticket.schedule_id:
        raise Refusal(422, WRONG_FIELD, "the callback is of another schedule than the token")
    asked = _asked(body.payload)
    sender = _sender(ticket)
    # The request is unauthenticated for the pipeline: its principal is in the ticket.
    await _note(call, sender, "asked", asked)
    instance = call.service.workspace(sender).at(asked["workflowInstanceId"])
    timed_out = True
    try:
        await instance.time_out_step(asked["stepId"], asked["iteration"])
    except Conflict:
        # It was over before, maybe by this callback, whose answer was lost.
        timed_out = False
    await _note(call, sender, "done", {**asked, "timedOut": timed_out})
    return TimedOut(timed_out=timed_out)


def _asked(payload: JSON) -> dict[str, str]:
    """What a payload asks for; InvalidInput with all its problems."""
    if not isinstance(payload, dict):
        raise _refused([_problem("$.payload", f"expected an object, found {kind_of(payload)}")])
    problems = [
        _problem(f"$.payload.{name}", f"`{name}` is missing, or no text")
        for name in ("workflowInstanceId", "stepId", "operation")
        if not isinstance(payload.get(name), str)
    ]
    iteration = payload.get("iteration", "")
    if not isinstance(iteration, str):
        problems.append(_problem("$.payload.iteration", "it is no text"))
    operation = payload.get("operation")
    if isinstance(operation, str) and operation != "timeout":
        problem = Problem(
            code=_NO_OPERATION,
            path="$.payload.operation",
            message=f"there is no operation {operation[:80]!r}",
            advice="Write `timeout`.",
        )
        problems.append(problem)
    if problems:
        raise _refused(problems)
    return {
        "workflowInstanceId": str(payload["workflowInstanceId"]),
        "stepId": str(payload["stepId"]),
        "iteration": str(iteration),
    }


def _problem(path: str, message: str) -> Problem:
    return Problem(code=WRONG_FIELD, path=path, message=message, advice="Correct the payload.")


def _refused(problems: list[Problem]) -> InvalidInput:
    return InvalidInput("the payload is not one that this service takes", problems)


async def _note(
    call: Call[CallbackQuery], sender: Principal, outcome: str, after: Mapping[str, object]
) -> None:
    await call.service.audit.record(
        principal=sender,
        action="schedule_callback",
        target=SCHEDULER_CALLBACK,
        outcome=outcome,
        source=call.source,
        request_id=call.request_id,
        before=None,
        after=after,
    )
