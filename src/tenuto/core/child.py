"""The life of a step that is a workflow of its own: dispatched, started, ended, cancelled.

An attempt is dispatched, then the engine finds the version to run, then the child gets its start
message. From there on it needs nothing in this instance's process: its end arrives as a mailbox
message too.
"""

from __future__ import annotations

from tenuto.core import attempt
from tenuto.core.attempt import tried_in_vain
from tenuto.core.child_start import depth_below, end_child, start_child
from tenuto.core.deciding import STALE, Deciding, Rejection
from tenuto.core.moments import UnknownCalendar, unknown_calendar
from tenuto.core.outcome import complete, fail
from tenuto.core.state import attempt_of
from tenuto.core.view import error_view
from tenuto.model.entries import ChildEnded
from tenuto.model.failure import (
    CHILD_CANCELLED,
    CHILD_DEPTH,
    CHILD_FAILED,
    SLOT_DEADLOCK,
    TIMEOUT,
    TOO_LARGE,
    TOO_MANY_DESCENDANTS,
    Failure,
)
from tenuto.model.family import MOST_DEPTH
from tenuto.model.graph import SubWorkflow
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import ChildReported, ChildResolved
from tenuto.model.json import Object, size_of
from tenuto.model.status import NodeStatus, Status


def begin(d: Deciding, key: NodeKey, config: SubWorkflow) -> None:
    """Order the first attempt, unless it would be too deep."""
    if depth_below(d) > MOST_DEPTH:
        message = f"{config.workflow_id} would be more than {MOST_DEPTH} workflows deep"
        too_deep = Failure(code=CHILD_DEPTH, message=message, retryable=False)
        fail(d, key, attempt_of(d.state, key), too_deep)
        return
    attempt.begin(d, key, config)


def resolved(d: Deciding, report: ChildResolved) -> Rejection | None:
    """It is known which version runs: the child is started."""
    key = NodeKey(report.node, report.iteration)
    node = d.state.nodes.get(key)
    if (
        node is None
        or d.state.status.is_final
        or not node.is_in_flight
        or node.attempt != report.attempt
        or not isinstance(d.plan[key.node].node.config, SubWorkflow)
        # Decided while it is paused; once resumed, the step is cancelled.
        or d.state.ending is not None
    ):
        return Rejection(code=STALE, message=f"{key.node} does not wait for its workflow")
    try:
        start_child(d, key, report.version)
    except UnknownCalendar as error:
        fail(d, key, report.attempt, unknown_calendar(error))
    return None


def reported(d: Deciding, report: ChildReported) -> Rejection | None:
    """A child has ended: so has the attempt that started it, unless it was cancelled before."""
    key = NodeKey(report.node, report.iteration)
    node = d.state.nodes.get(key)
    if (
        node is None
        or d.state.status.is_final
        or node.status is not NodeStatus.RUNNING
        or node.child_id != report.child_id
    ):
        return Rejection(code=STALE, message=f"{key.node} does not wait for {report.child_id}")
    d.emit(
        ChildEnded(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=node.attempt,
            child_id=report.child_id,
            status=report.status,
            can_be_undone=report.can_be_undone,
        )
    )
    failure = _failure(d, key, report)
    if failure is None:
        complete(d, key, report.output, attempt=node.attempt)
    elif failure.was_done:
        fail(d, key, node.attempt, failure)
    else:
        tried_in_vain(d, key, node.attempt, failure)
    return None


def overran(d: Deciding, key: NodeKey) -> None:
    """The node's own `timeout`, which bounds all its attempts together, is over."""
    node = d.state.nodes[key]
    end_child(d, node)
    # While a back-off runs, the attempt that will not be is the one that failed.
    number = node.attempt + (node.status is NodeStatus.RETRYING)
    message = f"{key.node} took longer than its timeout"
    fail(d, key, number, Failure(code=TIMEOUT, message=message, retryable=False))


def _failure(d: Deciding, key: NodeKey, report: ChildReported) -> Failure | None:
    config = d.plan[key.node].node.config
    assert isinstance(config, SubWorkflow)
    details: Object = {"childId": report.child_id}
    if report.status is Status.CANCELLED:
        because = f": {report.reason}" if report.reason else ""
        message = f"{config.workflow_id} was cancelled{because}"
        code = SLOT_DEADLOCK if report.is_deadlock else CHILD_CANCELLED
        return Failure(code=code, message=message, details=details, retryable=False)
    error = report.error
    if error is not None and error.code == TOO_MANY_DESCENDANTS and error.step_id is None:
        # It never began: this is the step's own failure, not that of a workflow below it.
        return Failure(code=error.code, message=error.message, details=details, retryable=False)
    if error is not None:
        message = f"{config.workflow_id} failed: {error.message}"
        details["error"] = error_view(error)
        retryable = report.retryable
        return Failure(code=CHILD_FAILED, message=message, details=details, retryable=retryable)
    size, limit = size_of(report.output), d.plan.limits.output_bytes
    if size > limit:
        message = f"the output of {config.workflow_id} is {size:,} bytes; the limit is {limit:,}"
        return Failure(
            code=TOO_LARGE, message=message, details=details, retryable=False, was_done=True
        )
    return None
