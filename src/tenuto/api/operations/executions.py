"""Operations for workers: claim tasks, send heartbeats, report and release.

Only registrations are in the audit log: the outcome of an attempt is in the log of its instance.
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
from tenuto.executions.broker import Reported
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
from tenuto.model.task_definition import Registration, WorkerTask
from tenuto.model.task_logs import LogChunk

EXECUTIONS = Resource(f"{API}/executions", tag="executions", write=Permission.EXECUTIONS_WORK)

Name = Annotated[str, Meta(min_length=1, max_length=200)]


ExecutionTime = Annotated[float, Meta(ge=0, le=1e15)]
"""Milliseconds that the task took."""


class RegisterRequest(Body):
    """The tasks of a worker, with the settings of its code."""

    worker_id: Name
    tasks: BatchOf[WorkerTask]


class RegisteredTask(Answer):
    """The result for one task."""

    task_id: str
    others: list[Registration]
    """Other policies that workers have registered for it."""


class RegisterAnswer(Answer):
    """The registered tasks, in the order of the request."""

    results: list[RegisteredTask]


class ClaimRequest(Body):
    """A claim for tasks."""

    worker_id: Name
    task_ids: Annotated[list[Name], Meta(min_length=1, max_length=MOST_ITEMS)] | None = None
    """Ids of tasks; left out: any task that no engine runs in process."""
    max: Annotated[int, Meta(ge=1, le=MOST_ITEMS)] = 1
    wait: Annotated[float, Meta(ge=0, le=60)] = 0
    """Seconds to wait for the first of them."""
    lease: Annotated[float, Meta(ge=1, le=3600)] = 30
    """Seconds of the lease, unless heartbeats extend it."""
    request_id: Name | None = None
    """A claim that repeats the id of an earlier one gets the tasks of that one."""
    previous_outputs: bool = False
    """Whether tasks come with the outputs of earlier steps, up to 64,000 bytes."""


class ClaimAnswer(Answer):
    """The claimed tasks; none, where there were none within the wait."""

    tasks: list[ClaimedTask]


class HeartbeatRequest(Body):
    """A heartbeat of a task."""

    lease_token: str
    details: JSON = None
    """Progress, for people."""
    logs: LogChunk | None = None
    """Lines that the attempt has logged and printed, since those that were sent before."""


class CompleteRequest(Body):
    """An attempt has succeeded."""

    lease_token: str
    output: JSON = None
    next_handle: str | None = None
    """The handle that the step is left by, if it is not `default`."""
    execution_time: ExecutionTime | None = None
    delay: str | float | None = None
    """How much later what follows is dispatched: ISO 8601 text, or milliseconds."""
    queue_delay: str | float | None = None
    """Another name of `delay`."""
    logs: LogChunk | None = None
    """Lines that the attempt logged and printed."""
    worker_id: Name | None = None
    """The worker that ran it, for people."""


class FailRequest(Body):
    """An attempt has failed."""

    lease_token: str
    error: ReportedError
    execution_time: ExecutionTime | None = None
    logs: LogChunk | None = None
    """Lines that the attempt logged and printed."""
    worker_id: Name | None = None
    """The worker that ran it, for people."""


class ReportRequest(Body):
    """The outcomes of attempts."""

    results: BatchOf[TaskReport]


class ReleaseRequest(Body):
    """The tasks that a worker gives back when it stops."""

    tasks: BatchOf[ReleasedTask]


class AttemptFailure(Answer):
    """The failure of an attempt."""

    code: str
    message: str


class ReportItem(Answer):
    """The result of one of several reports: 200, or why it does not count."""

    execution_id: str
    status: int
    error: ErrorItem | UnsetType = UNSET
    failure: AttemptFailure | UnsetType = UNSET
    """Why the attempt failed although its task had succeeded: its result cannot be taken."""


class ReleaseAnswer(Answer):
    """A result for each task, in their order."""

    results: list[ReportItem]


@EXECUTIONS.post("/register", size="batch")
async def register_worker(call: Call[NoQuery], body: RegisterRequest) -> RegisterAnswer:
    """Register the settings of a worker's tasks: retries, time-outs and inputs."""
    refuse_bad_ids(workerId=body.worker_id)
    found = await call.workspace.task_definitions.register(body.worker_id, body.tasks)
    return RegisterAnswer(
        results=[RegisteredTask(task_id=each.task_id, others=list(each.others)) for each in found]
    )


@EXECUTIONS.post("/claim", is_audited=False)
async def claim_executions(call: Call[NoQuery], body: ClaimRequest) -> ClaimAnswer:
    """Claim tasks; waits for the first, as long as the claim says."""
    refuse_bad_ids(workerId=body.worker_id)
    for at, id in enumerate(body.task_ids or ()):
        refuse_bad_ids(**{f"taskIds[{at}]": id})
    broker = call.service.broker
    claim = broker.claim(
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
    put_back = partial(broker.put_back, call.principal.tenant)
    await call.while_connected(claiming, undelivered=put_back)
    return ClaimAnswer(tasks=claiming.result())


@EXECUTIONS.post("/report", size="batch", is_audited=False)
async def report_executions(call: Call[NoQuery], body: ReportRequest) -> list[ReportItem]:
    """Report the outcomes of up to 1,000 attempts; a result each, in their order."""
    reported = await call.service.broker.report(call.principal.tenant, body.results)
    return [_item(each) for each in reported]


@EXECUTIONS.post("/release", size="batch", is_audited=False)
async def release_executions(call: Call[NoQuery], body: ReleaseRequest) -> ReleaseAnswer:
    """Release up to 1,000 tasks, which counts neither as a failure nor as a loss."""
    released = await call.service.broker.release(call.principal.tenant, body.tasks)
    return ReleaseAnswer(results=[_item(each) for each in released])


@EXECUTIONS.post("/{executionId}/heartbeat", other_statuses=(409,), size="value", is_audited=False)
async def heartbeat_execution(call: Call[NoQuery], body: HeartbeatRequest) -> Heartbeat:
    """Send a heartbeat of a task, which extends its lease."""
    return await call.service.broker.heartbeat(
        call.principal.tenant,
        call.path["executionId"],
        body.lease_token,
        body.details,
        body.logs,
    )


# An output that is too large is an outcome too: it fails the attempt, and ends the lease.
@EXECUTIONS.post("/{executionId}/complete", other_statuses=(409,), size="batch", is_audited=False)
async def complete_execution(call: Call[NoQuery], body: CompleteRequest) -> ReportItem:
    """Report that an attempt has succeeded; a repeated report changes nothing."""
    return await _reported(
        call,
        TaskReport(
            execution_id=call.path["executionId"],
            lease_token=body.lease_token,
            output=body.output,
            next_handle=body.next_handle,
            execution_time=body.execution_time,
            delay=body.delay,
            queue_delay=body.queue_delay,
            logs=body.logs,
            worker_id=body.worker_id,
        ),
    )


@EXECUTIONS.post("/{executionId}/fail", other_statuses=(409,), size="batch", is_audited=False)
async def fail_execution(call: Call[NoQuery], body: FailRequest) -> ReportItem:
    """Report that an attempt has failed; code CANCELLED confirms a cancellation."""
    return await _reported(
        call,
        TaskReport(
            execution_id=call.path["executionId"],
            lease_token=body.lease_token,
            error=body.error,
            execution_time=body.execution_time,
            logs=body.logs,
            worker_id=body.worker_id,
        ),
    )


async def _reported(call: Call[NoQuery], report: TaskReport) -> ReportItem:
    [reported] = await call.service.broker.report(call.principal.tenant, [report])
    if reported.error is not None:
        raise reported.error
    return _item(reported)


def _item(reported: Reported) -> ReportItem:
    error: TenutoError | None = reported.error
    if error is None:
        failure = reported.failure
        return ReportItem(
            execution_id=reported.execution_id,
            status=200,
            failure=UNSET
            if failure is None
            else AttemptFailure(code=failure.code, message=failure.message),
        )
    item = error_item(error)
    return ReportItem(execution_id=reported.execution_id, status=item.status, error=item)
