"""Callbacks of schedulers to this service; the token in the URL is the credential."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal, refuse_unless
from tenuto.access.roles import Role
from tenuto.api.call import Call, NoQuery
from tenuto.api.operations.schedules import SCHEDULES
from tenuto.api.operations.task_callbacks import INTERNAL, CallbackQuery
from tenuto.api.problems import Refusal
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.schedule_tickets import (
    SCHEDULER_CALLBACK,
    ScheduleTicket,
    digest_of,
    leads_to,
)
from tenuto.api.shapes import Answer, Body, Moment
from tenuto.model.durations import epoch_ms, iso
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem
from tenuto.model.json import JSON, kind_of
from tenuto.store.parts.access import KEY
from tenuto.workspace.endpoint_rules import expiry_problems, text_problems

_NO_OPERATION = "TEN-3091"
_OTHER_TICKET = "TEN-3092"


USUAL = timedelta(days=7)
LONGEST = timedelta(days=90)
"""Tickets are not stored: they expire, or end with the key that made them."""


class ScheduleCallbackRequest(Body):
    """A callback that a scheduler elsewhere is to make."""

    schedule_id: Annotated[str, Meta(min_length=1, max_length=200)]
    """The id of the schedule there."""
    payload: JSON
    """`{workflowInstanceId, stepId, operation: "timeout", iteration?}`: the scheduler sends it
    back as it is."""
    expiration_time: Moment | None = None
    """Until when; 7 days, and 90 at most. It ends with the credential that creates it."""


class ScheduleCallbackAddress(Answer):
    """The URL that a scheduler may call."""

    callback_url: str
    """With the token that is the credential; shown this once."""
    schedule_id: str
    expiration_time: str


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
    if (
        ticket is None
        or ticket.digest is None
        or ticket.is_over(call.service.clock.now())
        or (ticket.maker is not None and await call.service.has_ended(ticket.maker))
    ):
        message = "the token is not one for callbacks of schedules, or has expired"
        raise Refusal(401, _OTHER_TICKET, message)
    if not ticket.is_elsewhere:
        await _refuse_unless_it_calls(call, ticket)
    return ticket


async def _refuse_unless_it_calls(call: Call[CallbackQuery], ticket: ScheduleTicket) -> None:
    """401 where the schedule of a ticket is gone, or has another target now."""
    try:
        saved = await call.service.workspace(_sender(ticket)).schedules.get(ticket.schedule_id)
    except NotFound:
        url = None
    else:
        url = saved.target.get("callbackUrl")
    if not isinstance(url, str) or not leads_to(url, call.service.url, SCHEDULER_CALLBACK):
        message = "the schedule of the token does not call this service any more"
        raise Refusal(401, _OTHER_TICKET, message)


def _sender(ticket: ScheduleTicket) -> Principal:
    kind = "outside schedule" if ticket.is_elsewhere else "schedule"
    return Principal(
        tenant=ticket.tenant,
        name=f"{kind} {ticket.schedule_id}",
        credential=f"{kind}:{ticket.schedule_id}",
        role=Role.VIEWER,
        scopes=frozenset(),
        kind="callback",
    )


# Like a webhook it is there when its maker has gone.
@SCHEDULES.post(
    "/callbacks", permission=Permission.LISTENERS_WRITE, status=201, other_statuses=(404,)
)
async def add_schedule_callback(
    call: Call[NoQuery], body: ScheduleCallbackRequest
) -> ScheduleCallbackAddress:
    """Create a URL by which a scheduler elsewhere may time out a step, until it expires."""
    # A principal cannot hand on a permission that it lacks.
    refuse_unless(call.principal, Permission.INSTANCES_CONTROL)
    principal, now = call.principal, call.service.clock.now()
    until = body.expiration_time or now + USUAL
    problems = [
        *text_problems(scheduleId=body.schedule_id),
        *expiry_problems(until, now),
        *_problems_of(body.payload),
    ]
    if problems:
        raise InvalidInput("the callback is not valid", problems)
    asked = _asked(body.payload)
    await call.workspace.instance(asked["workflowInstanceId"])
    until = min(until, now + LONGEST, principal.expires_at or until)
    ticket = ScheduleTicket(
        tenant=principal.tenant,
        schedule_id=body.schedule_id,
        until_ms=epoch_ms(until),
        digest=digest_of(body.payload),
        is_elsewhere=True,
        maker=principal.credential if principal.credential.startswith(KEY) else None,
    )
    token = await call.service.schedule_tickets.token(ticket)
    call.after = {"scheduleId": body.schedule_id, "expirationTime": iso(until), **asked}
    return ScheduleCallbackAddress(
        callback_url=f"{call.service.url.rstrip('/')}{SCHEDULER_CALLBACK}?token={token}",
        schedule_id=body.schedule_id,
        expiration_time=iso(until),
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
    """Time out the open wait or attempt that the payload of a token names."""
    ticket: ScheduleTicket = call.admitted
    if body.schedule_id != ticket.schedule_id:
        raise Refusal(422, WRONG_FIELD, "the callback is of another schedule than the token")
    if digest_of(body.payload) != ticket.digest:
        raise Refusal(401, _OTHER_TICKET, "the payload is another one than that of the token")
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
    if problems := _problems_of(payload):
        raise InvalidInput("the payload is not one that this service takes", problems)
    assert isinstance(payload, dict)
    return {
        "workflowInstanceId": str(payload["workflowInstanceId"]),
        "stepId": str(payload["stepId"]),
        "iteration": str(payload.get("iteration", "")),
    }


def _problems_of(payload: JSON) -> list[Problem]:
    if not isinstance(payload, dict):
        return [_problem("$.payload", f"expected an object, found {kind_of(payload)}")]
    problems = [
        _problem(f"$.payload.{name}", f"`{name}` is missing, or no text")
        for name in ("workflowInstanceId", "stepId", "operation")
        if not isinstance(payload.get(name), str)
    ]
    if not isinstance(payload.get("iteration", ""), str):
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
    return problems


def _problem(path: str, message: str) -> Problem:
    return Problem(code=WRONG_FIELD, path=path, message=message, advice="Correct the payload.")


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
