"""Tasks for workers outside: claiming them, saying that one is at work, reporting how they ended.

None of it is kept in the audit log: what becomes of an attempt stands in its instance's own.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.problems import ErrorItem, error_item
from tenuto.api.shapes import MOST_ITEMS, Answer, BatchOf, Body
from tenuto.executions.desk import Reported
from tenuto.model.checks import refuse_bad_ids
from tenuto.model.errors import TenutoError
from tenuto.model.executions import (
    ClaimedTask,
    Heartbeat,
    ReleasedTask,
    ReportedError,
    TaskReport,
)
from tenuto.model.json import JSON

EXECUTIONS = Resource(f"{API}/executions", tag="executions", write=Permission.EXECUTIONS_WORK)

Name = Annotated[str, Meta(min_length=1, max_length=200)]


class ClaimRequest(Body):
    """What a worker can do."""

    worker_id: Name
    task_ids: Annotated[list[Name], Meta(min_length=1, max_length=MOST_ITEMS)] | None = None
    """Of which tasks; left out: of any that nobody has in process."""
    max: Annotated[int, Meta(ge=1, le=MOST_ITEMS)] = 1
    wait: Annotated[float, Meta(ge=0, le=60)] = 0
    """Seconds to wait for the first of them."""
    lease: Annotated[float, Meta(ge=1, le=3600)] = 30
    """Seconds for which they are the worker's, unless it says that it is at work."""
    request_id: Name | None = None
    """A claim that repeats this of an earlier one gives back what that was granted."""
    previous_outputs: bool = False
    """Whether tasks bring the outputs of the steps before them, up to 64,000 bytes."""


class ClaimAnswer(Answer):
    """Tasks to work on; none, when there were none for as long as was waited."""

    tasks: list[ClaimedTask]


class HeartbeatRequest(Body):
    """A worker is at work."""

    lease_token: str
    details: JSON = None
    """How far it is, for people."""


class CompleteRequest(Body):
    """An attempt has succeeded."""

    lease_token: str
    output: JSON = None
    next_handle: str | None = None
    """The handle that the step is left by, if it is not `default`."""


class FailRequest(Body):
    """An attempt has failed."""

    lease_token: str
    error: ReportedError


class ReportRequest(Body):
    """How attempts ended."""

    results: BatchOf[TaskReport]


class ReleaseRequest(Body):
    """What a worker that stops gives back."""

    tasks: BatchOf[ReleasedTask]


class ReportItem(Answer):
    """What became of one of several reports: 200, or why it does not count."""

    execution_id: str
    status: int
    error: ErrorItem | UnsetType = UNSET


@EXECUTIONS.post("/claim", is_audited=False)
async def claim_executions(call: Call[NoQuery], body: ClaimRequest) -> ClaimAnswer:
    """Claim tasks to work on; waits for the first, for as long as is asked."""
    refuse_bad_ids(workerId=body.worker_id)
    for at, id in enumerate(body.task_ids or ()):
        refuse_bad_ids(**{f"taskIds[{at}]": id})
    desk = call.service.desk
    claim = desk.claim(
        call.principal.tenant,
        body.worker_id,
        body.task_ids,
        most=body.max,
        wait=timedelta(seconds=body.wait),
        lease=timedelta(seconds=body.lease),
        request_id=body.request_id,
        with_outputs=body.previous_outputs,
    )
    if not body.wait:
        return ClaimAnswer(tasks=await claim)
    claiming = asyncio.ensure_future(claim)
    put_back = partial(desk.put_back, call.principal.tenant)
    await call.while_heard(claiming, unheard=put_back)
    return ClaimAnswer(tasks=claiming.result())


@EXECUTIONS.post("/report", size="batch", is_audited=False)
async def report_executions(call: Call[NoQuery], body: ReportRequest) -> list[ReportItem]:
    """Report how up to 1,000 attempts ended; a result each, in their order."""
    reported = await call.service.desk.report(call.principal.tenant, body.results)
    return [_item(each) for each in reported]


@EXECUTIONS.post("/release", size="batch", is_audited=False)
async def release_executions(call: Call[NoQuery], body: ReleaseRequest) -> list[ReportItem]:
    """Give up to 1,000 tasks back, which counts neither as a failure nor as a loss."""
    released = await call.service.desk.release(call.principal.tenant, body.tasks)
    return [_item(each) for each in released]


@EXECUTIONS.post("/{executionId}/heartbeat", other_statuses=(409,), size="value", is_audited=False)
async def heartbeat_execution(call: Call[NoQuery], body: HeartbeatRequest) -> Heartbeat:
    """Say that a task is being worked on: its lease goes on."""
    return await call.service.desk.heartbeat(
        call.principal.tenant, call.path["executionId"], body.lease_token, body.details
    )


# More than an output may have is an outcome too: it fails the attempt, and ends the lease.
@EXECUTIONS.post("/{executionId}/complete", other_statuses=(409,), size="batch", is_audited=False)
async def complete_execution(call: Call[NoQuery], body: CompleteRequest) -> ReportItem:
    """Report that an attempt has succeeded; a repeat of what was accepted changes nothing."""
    return await _reported(
        call,
        TaskReport(
            execution_id=call.path["executionId"],
            lease_token=body.lease_token,
            output=body.output,
            next_handle=body.next_handle,
        ),
    )


@EXECUTIONS.post("/{executionId}/fail", other_statuses=(409,), size="batch", is_audited=False)
async def fail_execution(call: Call[NoQuery], body: FailRequest) -> ReportItem:
    """Report that an attempt has failed; code CANCELLED obeys a cancellation."""
    return await _reported(
        call,
        TaskReport(
            execution_id=call.path["executionId"], lease_token=body.lease_token, error=body.error
        ),
    )


async def _reported(call: Call[NoQuery], report: TaskReport) -> ReportItem:
    [reported] = await call.service.desk.report(call.principal.tenant, [report])
    if reported.error is not None:
        raise reported.error
    return _item(reported)


def _item(reported: Reported) -> ReportItem:
    error: TenutoError | None = reported.error
    if error is None:
        return ReportItem(execution_id=reported.execution_id, status=200)
    item = error_item(error)
    return ReportItem(execution_id=reported.execution_id, status=item.status, error=item)
