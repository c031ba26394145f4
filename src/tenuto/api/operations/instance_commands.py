"""Commands to instances: cancel, pause, resume, retry, rerun, decide, skip a delay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from msgspec import UNSET
from msgspec.structs import asdict

from tenuto.access.permissions import Permission
from tenuto.access.principal import refuse_unless
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API
from tenuto.api.operations.instances import INSTANCES
from tenuto.api.request_parser import WRONG_FIELD
from tenuto.api.shapes import Body, Moment, StatusAnswer, Version
from tenuto.model.edited import EditedInput
from tenuto.model.errors import Forbidden, InvalidInput, Problem
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.workspace import audit_values
from tenuto.workspace.instance import InstanceRef, begin_rerun

_Command: TypeAlias = Callable[[], Awaitable[Status]]


class CancelRequest(Body):
    """The reason, and whether to compensate."""

    reason: str | None = None
    requested_by: str | None = None
    """The actor, without authentication; a credential may only repeat its own name."""
    should_compensate: bool = True


class PauseRequest(Body):
    """The reason and the duration."""

    reason: str | None = None
    until: Moment | None = None
    """When it resumes by itself."""


class EditedTask(Body):
    """The new input of a task, instead of the one that it failed with."""

    step_id: str
    input: JSON
    iteration: str = ""


class InstanceRetryRequest(Body):
    """What to retry: by default the steps that failed the instance."""

    compensation: str | None = None
    """A compensation step that was given up, to retry it alone."""
    iteration: str = ""
    """Of the compensation step."""
    input: Any = UNSET
    """What the compensation step is given instead of what it failed with."""
    edited: EditedTask | None = None
    """What one task of the instance is given instead of what it failed with."""


class RerunRequest(Body):
    """The first step, and the input and version to use instead."""

    from_step: str | None = None
    input: Any = UNSET
    version: Version | None = None


class DecisionRequest(Body):
    """A decision on an approval."""

    decision: Literal["approved", "rejected"]
    form: JSON = None
    iteration: str = ""
    by: str | None = None
    """The actor, without authentication; a credential may only repeat its own name. What is
    recorded, and compared with the assignees, is what identifies the credential."""
    roles: tuple[str, ...] | None = None


class SkipDelayRequest(Body):
    """In which iteration, where the step is in a loop."""

    iteration: str = ""


class NothingMore(Body):
    """A body without fields."""


@INSTANCES.post("/{id}/cancel", other_statuses=(409,), may_be_empty=True)
async def cancel_instance(call: Call[NoQuery], body: CancelRequest) -> StatusAnswer:
    """Cancel an instance and compensate its steps; a repeat is accepted."""
    by = _speaker(call, body.requested_by)
    reference = call.workspace.at(call.path["id"], by=by)
    cancel = partial(reference.cancel, body.reason, should_compensate=body.should_compensate)
    return await _commanded(call, reference, cancel, reason=body.reason)


@INSTANCES.post("/{id}/pause", other_statuses=(409,), may_be_empty=True)
async def pause_instance(call: Call[NoQuery], body: PauseRequest) -> StatusAnswer:
    """Pause an instance: nothing new is dispatched until it is resumed."""
    reference = call.workspace.at(call.path["id"])
    pause = partial(reference.pause, body.reason, body.until)
    return await _commanded(call, reference, pause, reason=body.reason)


@INSTANCES.post("/{id}/resume", other_statuses=(409,), may_be_empty=True)
async def resume_instance(call: Call[NoQuery], _: NothingMore) -> StatusAnswer:
    """Resume a paused instance."""
    reference = call.workspace.at(call.path["id"])
    return await _commanded(call, reference, reference.resume)


@INSTANCES.post("/{id}/retry", other_statuses=(409,), size="value", may_be_empty=True)
async def retry_instance(call: Call[NoQuery], body: InstanceRetryRequest) -> StatusAnswer:
    """Retry a failed instance: its failed steps run again."""
    _refuse_mixed(body)
    is_edited = body.edited is not None or body.input is not UNSET
    if is_edited:
        # As for the dead letter of the same failure.
        refuse_unless(call.principal, Permission.DEAD_LETTERS_WRITE)
    reference = call.workspace.at(call.path["id"])
    if body.compensation is not None:
        retry: _Command = partial(
            reference.retry_compensation, body.compensation, body.iteration, input=body.input
        )
    else:
        edited = None if body.edited is None else EditedInput(**asdict(body.edited))
        retry = partial(reference.retry, edited=edited)
    after: Object = {"edited": True} if is_edited else {}
    return await _commanded(call, reference, retry, compensation=body.compensation, **after)


@INSTANCES.post(
    "/{id}/rerun",
    permission=Permission.INSTANCES_START,
    status=201,
    headers=(("Idempotency-Key", "At most one instance is made under a key."),),
    other_statuses=(200, 409),
    size="value",
    may_be_empty=True,
)
async def rerun_instance(call: Call[NoQuery], body: RerunRequest) -> StatusAnswer:
    """Start a new instance from a step of an earlier one; outputs of earlier steps are kept."""
    made = await begin_rerun(
        call.workspace.engine,
        call.workspace.tenant,
        call.path["id"],
        from_step=body.from_step,
        input=body.input,
        version=body.version,
        key=call.headers.get("idempotency-key"),
    )
    if made.is_repeat:
        call.status = 200
    rerun = call.workspace.at(made.instance_id)
    call.response_headers["location"] = f"{API}/instances/{rerun.id}"
    call.after = {"instanceId": rerun.id, "duplicate": made.is_repeat}
    return StatusAnswer(instance_id=rerun.id, status=await rerun.status())


@INSTANCES.post(
    "/{id}/steps/{stepId}/decision",
    permission=Permission.INSTANCES_DECIDE,
    other_statuses=(409,),
    size="value",
)
async def decide_on_step(call: Call[NoQuery], body: DecisionRequest) -> StatusAnswer:
    """Decide on an approval."""
    by, roles = _speaker(call, body.by), _roles(call, body.roles)
    reference = call.workspace.at(call.path["id"], by=by)
    decide = partial(
        reference.decide,
        call.path["stepId"],
        body.decision,
        by=by,
        roles=roles,
        form=body.form,
        iteration=body.iteration,
    )
    return await _commanded(
        call, reference, decide, decision=body.decision, by=by, iteration=body.iteration
    )


@INSTANCES.post("/{id}/steps/{stepId}/skip-delay", other_statuses=(409,), may_be_empty=True)
async def skip_delay(call: Call[NoQuery], body: SkipDelayRequest) -> StatusAnswer:
    """End a delay of a test run before its time."""
    reference = call.workspace.at(call.path["id"])
    step = call.path["stepId"]
    skip = partial(reference.skip_delay, step, body.iteration)
    return await _commanded(call, reference, skip, step=step, iteration=body.iteration)


def _refuse_mixed(body: InstanceRetryRequest) -> None:
    """InvalidInput for fields that the retry would not use."""
    unused: dict[str, str] = {}
    if body.compensation is None:
        if body.input is not UNSET:
            unused["input"] = "it is the input of a compensation, and none is named"
        if body.iteration:
            unused["iteration"] = "it is the iteration of a compensation, and none is named"
    elif body.edited is not None:
        unused["edited"] = "it is the input of a task, and a compensation is retried"
    if unused:
        problems = [
            Problem(
                code=WRONG_FIELD,
                path=f"$.{name}",
                message=message,
                advice="Send `compensation` with `iteration` and `input`, or `edited` alone.",
            )
            for name, message in unused.items()
        ]
        raise InvalidInput("the retry cannot be taken", problems)


async def _commanded(
    call: Call[NoQuery], reference: InstanceRef, command: _Command, **after: JSON
) -> StatusAnswer:
    """Carry out a command, and have the audit log keep the status before and after it."""
    call.before = await audit_values.instance(reference)
    status = await command()
    call.after = {**after, "status": status}
    return StatusAnswer(instance_id=reference.id, status=status)


def _speaker(call: Call[NoQuery], said: str | None) -> str:
    """The actor of the command: from the credential, never from the request's content."""
    principal = call.principal
    if said is None or said in (principal.name, principal.identity):
        return principal.identity
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
