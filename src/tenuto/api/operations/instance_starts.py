"""Operations that start instances: one, a batch, and one whose end is waited for."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.completion import ended_within
from tenuto.api.operation import API, Resource
from tenuto.api.problems import ErrorItem, error_item
from tenuto.api.shapes import Answer, BatchOf, Body, Moment, Priority, Query, Seconds, Version
from tenuto.engine.tenancy import own_id
from tenuto.engine.turns.requests import Answer as Asked
from tenuto.model.errors import NotFound, TenutoError, Unauthenticated
from tenuto.model.json import JSON
from tenuto.model.status import Status
from tenuto.workspace.instance_views import outcome_view
from tenuto.workspace.values import Start

QueryT = TypeVar("QueryT")

STARTS = Resource(API, tag="instances", write=Permission.INSTANCES_START)


class StartRequest(Body):
    """An instance to start."""

    input: JSON = None
    correlation_id: str | None = None
    priority: Priority | None = None
    """0 by default."""
    deadline: Moment | None = None
    instance_id: str | None = None
    version: Version | None = None


class StartQuery(Query):
    """Whether to wait."""

    wait: Seconds = 0
    """Seconds to wait for the end."""


class StartAnswer(Answer):
    """An instance that has started, with its outcome if it has ended."""

    instance_id: str
    status: Status
    output: JSON | UnsetType = UNSET
    last_error: JSON | UnsetType = UNSET
    cancellation: JSON | UnsetType = UNSET


class BatchItem(StartRequest):
    """One instance of a batch to start."""

    workflow_id: str
    idempotency_key: str | None = None


class BatchRequest(Body):
    """A batch of instances to start."""

    items: BatchOf[BatchItem]


class BatchResult(Answer):
    """The result of one of a batch: an instance, or an error."""

    instance_id: str | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    duplicate: bool | UnsetType = UNSET
    error: ErrorItem | UnsetType = UNSET


class BatchAnswer(Answer):
    """A result for each, in their order."""

    results: list[BatchResult]


@STARTS.post(
    "/workflows/{id}/start",
    status=201,
    headers=(("Idempotency-Key", "At most one instance is started under a key."),),
    other_statuses=(200, 202, 409),
    size="value",
    may_be_empty=True,
    is_frequent=True,
)
async def start_workflow(call: Call[StartQuery], body: StartRequest) -> StartAnswer:
    """Start an instance; a repeat with the same Idempotency-Key gets the first one."""
    return await answered(call, body, call.path["id"])


async def answered(
    call: Call[StartQuery],
    body: StartRequest,
    workflow: str,
    *,
    saving: JSON = None,
    missing: NotFound | None = None,
) -> StartAnswer:
    """Start an instance of a workflow, and wait for its end for as long as the query says.

    `saving` is its definition, where that is saved with the start. With `missing` only an instance
    that was started before is answered; that error where there is none.
    """
    asked = _asked(body, workflow, call.headers.get("idempotency-key"), call.traceparent)
    if missing is not None and await call.workspace.starting.begun(asked) is None:
        raise missing
    if saving is None:
        started = await call.workspace.starting.begin(asked)
    else:
        started = await call.workspace.starting.begin_of(saving, asked)
    shown = _shown(call, asked, started)
    call.response_headers["location"] = f"{API}/instances/{shown}"
    call.after = {"instanceId": started.instance_id, "duplicate": started.is_repeat}
    if started.is_repeat:
        call.status = 200
    if call.place is not None:
        call.place.leave()
    if call.query.wait > 0:
        return replace(await _ended(call, started), instance_id=shown)
    status = started.status
    if started.is_repeat:
        status = await call.workspace.at(started.instance_id).status()
    return StartAnswer(instance_id=shown, status=status)


@STARTS.post("/instances/batch", size="batch", is_frequent=True)
async def start_batch(call: Call[NoQuery], body: BatchRequest) -> BatchAnswer:
    """Start up to 1,000 instances; a result each."""
    trace = call.traceparent
    asked = [_asked(each, each.workflow_id, each.idempotency_key, trace) for each in body.items]
    found = await call.workspace.starting.begin_many(asked)
    results = [_result(call, *each) for each in zip(asked, found, strict=True)]
    refused = sum(each.error is not UNSET for each in results)
    call.after = {"started": len(results) - refused, "refused": refused}
    return BatchAnswer(results=results)


def _asked(body: StartRequest, workflow: str, key: str | None, traceparent: str | None) -> Start:
    return Start(
        workflow=workflow,
        input=body.input,
        key=key,
        correlation_id=body.correlation_id,
        priority=body.priority or 0,
        deadline=body.deadline,
        instance_id=body.instance_id,
        version=body.version,
        traceparent=traceparent,
    )


def _result(call: Call[NoQuery], asked: Start, answer: Asked | TenutoError) -> BatchResult:
    if isinstance(answer, TenutoError):
        return BatchResult(error=error_item(answer))
    return BatchResult(
        instance_id=_shown(call, asked, answer), status=answer.status, duplicate=answer.is_repeat
    )


def _shown(call: Call[QueryT], asked: Start, started: Asked) -> str:
    """The id of an instance: as it was chosen, also where the store has it by another."""
    chosen = asked.instance_id
    is_own = chosen is not None and started.instance_id == own_id(call.workspace.tenant, chosen)
    return chosen if chosen is not None and is_own else started.instance_id


async def _ended(call: Call[StartQuery], started: Asked) -> StartAnswer:
    """Wait for the end; 202 where that takes too long, or the service stops."""
    reference = call.workspace.at(started.instance_id)
    held = None
    with suppress(Unauthenticated):
        # Whose credential has ended since gets no result; but the start is done, and is said to be.
        held = await ended_within(call, reference.id, call.query.wait)
    if held is None:
        call.status = 202
        return StartAnswer(instance_id=reference.id, status=await reference.status())
    view = outcome_view(held)
    return StartAnswer(
        instance_id=reference.id,
        status=Status(str(view["status"])),
        output=view["output"],
        last_error=view["lastError"],
        cancellation=view["cancellation"],
    )
