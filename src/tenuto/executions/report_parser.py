"""Checks the reports of workers, and turns them into inputs of the core."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.executions import UNNAMED, ReportedError, TaskReport
from tenuto.model.failure import TOO_LARGE, Failure
from tenuto.model.graph import DEFAULT
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.store.parts.jobs import JobKey
from tenuto.tasks.failures import failure_of
from tenuto.tasks.output import Unusable, delay_ms, to_json

_LONGEST_CODE = 200
_LONGEST_MESSAGE = 4_000
_DETAILS_BYTES = 64_000


def outcome_of(
    key: JobKey, report: TaskReport, limit: int, worker: str = UNNAMED
) -> TaskSucceeded | TaskFailed:
    """The outcome of the attempt; InvalidInput for one that cannot be recorded.

    `worker` ran it, where the report names none. An output of more than `limit` bytes is a failure
    of the task, as it is in process.
    """
    if (report.error is None) == (report.output is UNSET):
        raise _invalid("$", "a report has either an output or an error")
    took = None if report.execution_time is None else round(report.execution_time)
    if report.worker_id is not None:
        _check(report.worker_id, "$.workerId")
        worker = report.worker_id
    if report.error is not None:
        if report.next_handle is not None:
            raise _invalid("$.nextHandle", "an error takes no handle")
        return _failed(key, _failure(report.error), took, worker)
    handle = DEFAULT if report.next_handle is None else report.next_handle
    _check(handle, "$.nextHandle")
    try:
        output = to_json(report.output, limit)
    except Unusable as error:
        if error.code == TOO_LARGE:
            return _failed(key, failure_of(error), took, worker)
        raise _invalid("$.output", error.message) from None
    try:
        delay = delay_ms(report.queue_delay if report.delay is None else report.delay)
    except Unusable as error:
        raise _invalid("$.delay", error.message) from None
    return TaskSucceeded(
        node=key.node,
        iteration=key.iteration,
        attempt=key.attempt,
        output=output,
        handle=handle,
        execution_time=took,
        delay=delay,
        worker=worker,
    )


def details_json(details: object) -> str | None:
    """The details of a heartbeat as JSON; InvalidInput where they cannot be stored."""
    if details is None:
        return None
    try:
        return msgspec.json.encode(to_json(details, _DETAILS_BYTES, "the details")).decode()
    except Unusable as error:
        raise _invalid("$.details", error.message) from None


def _failure(error: ReportedError) -> Failure:
    if not error.code:
        raise _invalid("$.error.code", "an error has a code")
    _check(error.code, "$.error.code")
    _check(error.message, "$.error.message")
    try:
        details = to_json(error.details, _DETAILS_BYTES, "the details")
    except Unusable as unusable:
        if unusable.code != TOO_LARGE:
            raise _invalid("$.error.details", unusable.message) from None
        details = {"leftOut": unusable.message}
    code = error.code[:_LONGEST_CODE]
    return Failure(
        code=code,
        message=error.message[:_LONGEST_MESSAGE] or code,
        details=details,
        retryable=error.retryable,
    )


def _check(text: str, path: str) -> None:
    try:
        to_json(text, len(text) * 12 + 2, "the text")
    except Unusable as error:
        raise _invalid(path, error.message) from None


def _failed(key: JobKey, failure: Failure, took: int | None, worker: str) -> TaskFailed:
    return TaskFailed(
        node=key.node,
        iteration=key.iteration,
        attempt=key.attempt,
        error=failure,
        execution_time=took,
        worker=worker,
    )


def _invalid(path: str, message: str) -> InvalidInput:
    problem = Problem(
        code="TEN-2004",
        path=path,
        message=message,
        advice="Report it again with what can be recorded; the lease goes on.",
    )
    return InvalidInput("the report cannot be recorded", [problem])
