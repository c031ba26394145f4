"""Telling instances what to do: cancel, pause, resume, retry, rerun, decide."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, operation
from tenuto.api.operations import recorded
from tenuto.api.shapes import Body, Moment, StatusAnswer, Version
from tenuto.model.errors import Forbidden
from tenuto.model.json import JSON
from tenuto.workspace.instance import begin_rerun

TAG = "instances"


class CancelRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Why, and whether what was done is undone."""

    reason: str | None = None
    requested_by: str | None = None
    """Who asks; with a credential that is known already, and may only be said again."""
    should_compensate: bool = True


class PauseRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Why, and for how long."""

    reason: str | None = None
    until: Moment | None = None
    """When it resumes by itself."""


class InstanceRetryRequest(
    Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What to try again: without more, what failed the instance."""

    compensation: str | None = None
    """A compensation step that was given up: it alone."""
    iteration: str = ""


class RerunRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """From where, and with what instead."""

    from_step: str | None = None
    input: Any = UNSET
    version: Version | None = None


class DecisionRequest(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A decision on an approval."""

    decision: Literal["approved", "rejected"]
    form: JSON = None
    iteration: str = ""
    by: str | None = None
    """Who decides; with a credential that is known already, and may only be said again."""
    roles: tuple[str, ...] | None = None


class NothingMore(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """There is nothing to say beside what the path says."""


@operation(
    "POST",
    f"{API}/instances/{{id}}/cancel",
    summary="Cancel an instance and undo what it has done; asking again is no mistake.",
    tag=TAG,
    permission=Permission.INSTANCES_CONTROL,
    request=CancelRequest,
    response=StatusAnswer,
    other_statuses=(409,),
    may_be_empty=True,
)
async def cancel_instance(call: Call[NoQuery], body: CancelRequest) -> StatusAnswer:
    by = _speaker(call, body.requested_by)
    reference = call.workspace.at(call.path["id"], by=by)
    call.before = await recorded.instance(reference)
    status = await reference.cancel(body.reason, should_compensate=body.should_compensate)
    call.after = {"reason": body.reason, "status": status}
    return StatusAnswer(instance_id=reference.id, status=status)


@operation(
    "POST",
    f"{API}/instances/{{id}}/pause",
    summary="Pause an instance: nothing new is dispatched until it is resumed.",
    tag=TAG,
    permission=Permission.INSTANCES_CONTROL,
    request=PauseRequest,
    response=StatusAnswer,
    other_statuses=(409,),
    may_be_empty=True,
)
async def pause_instance(call: Call[NoQuery], body: PauseRequest) -> StatusAnswer:
    reference = call.workspace.at(call.path["id"])
    call.before = await recorded.instance(reference)
    status = await reference.pause(body.reason, body.until)
    call.after = {"reason": body.reason, "status": status}
    return StatusAnswer(instance_id=reference.id, status=status)


@operation(
    "POST",
    f"{API}/instances/{{id}}/resume",
    summary="Let a paused instance go on.",
    tag=TAG,
    permission=Permission.INSTANCES_CONTROL,
    request=NothingMore,
    response=StatusAnswer,
    other_statuses=(409,),
    may_be_empty=True,
)
async def resume_instance(call: Call[NoQuery], _: NothingMore) -> StatusAnswer:
    reference = call.workspace.at(call.path["id"])
    call.before = await recorded.instance(reference)
    status = await reference.resume()
    call.after = {"status": status}
    return StatusAnswer(instance_id=reference.id, status=status)


@operation(
    "POST",
    f"{API}/instances/{{id}}/retry",
    summary="Let a failed instance go on: what failed runs again.",
    tag=TAG,
    permission=Permission.INSTANCES_CONTROL,
    request=InstanceRetryRequest,
    response=StatusAnswer,
    other_statuses=(409,),
    may_be_empty=True,
)
async def retry_instance(call: Call[NoQuery], body: InstanceRetryRequest) -> StatusAnswer:
    reference = call.workspace.at(call.path["id"])
    call.before = await recorded.instance(reference)
    if body.compensation is None:
        status = await reference.retry()
    else:
        status = await reference.retry_compensation(body.compensation, body.iteration)
    call.after = {"compensation": body.compensation, "status": status}
    return StatusAnswer(instance_id=reference.id, status=status)


@operation(
    "POST",
    f"{API}/instances/{{id}}/rerun",
    summary="Make a new instance of one, from a step on; what completed before it is taken over.",
    tag=TAG,
    permission=Permission.INSTANCES_START,
    request=RerunRequest,
    response=StatusAnswer,
    status=201,
    other_statuses=(200, 409),
    size="value",
    may_be_empty=True,
)
async def rerun_instance(call: Call[NoQuery], body: RerunRequest) -> StatusAnswer:
    made = await begin_rerun(
        call.workspace.engine,
        call.workspace.tenant,
        call.path["id"],
        from_step=body.from_step,
        input=body.input,
        version=body.version,
        key=call.headers.get("idempotency-key"),
        by=call.workspace.actor,
    )
    if made.is_repeat:
        call.status = 200
    rerun = call.workspace.at(made.instance_id)
    call.response_headers["location"] = f"{API}/instances/{rerun.id}"
    call.after = {"instanceId": rerun.id, "duplicate": made.is_repeat}
    return StatusAnswer(instance_id=rerun.id, status=await rerun.status())


@operation(
    "POST",
    f"{API}/instances/{{id}}/steps/{{stepId}}/decision",
    summary="Decide on an approval.",
    tag=TAG,
    permission=Permission.INSTANCES_DECIDE,
    request=DecisionRequest,
    response=StatusAnswer,
    other_statuses=(409,),
    size="value",
)
async def decide_on_step(call: Call[NoQuery], body: DecisionRequest) -> StatusAnswer:
    by, roles = _speaker(call, body.by), _roles(call, body.roles)
    reference = call.workspace.at(call.path["id"], by=by)
    call.before = await recorded.instance(reference)
    status = await reference.decide(
        call.path["stepId"],
        body.decision,
        by=by,
        roles=roles,
        form=body.form,
        iteration=body.iteration,
    )
    call.after = {
        "decision": body.decision,
        "by": by,
        "iteration": body.iteration,
        "status": status,
    }
    return StatusAnswer(instance_id=reference.id, status=status)


def _speaker(call: Call[NoQuery], said: str | None) -> str:
    """In whose name it is done: a credential decides that, never what a request says of itself."""
    principal = call.principal
    if said is None or said == principal.name:
        return principal.name
    if principal.kind == "local":
        return said
    raise Forbidden(
        f"{principal.name!r} cannot speak for {said!r}",
        code="TEN-5013",
        advice="Leave the name out: the credential says who asks.",
    )


def _roles(call: Call[NoQuery], said: tuple[str, ...] | None) -> tuple[str, ...]:
    own = (call.principal.role.value,)
    if said is None:
        return own
    if call.principal.kind == "local" or set(said) <= set(own):
        return said
    raise Forbidden(
        f"{call.principal.name!r} has the role {own[0]}, and cannot take others",
        code="TEN-5013",
        advice="Leave the roles out: the credential says which they are.",
    )
