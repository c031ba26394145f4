"""How a node ends: with a result, a failure, or passed over; and which handles that takes."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec.structs import replace

from tenuto.core.cancelling import cancel_iteration, cancel_nodes, cancelled
from tenuto.core.dead_letter import keep_dead_letter
from tenuto.core.deciding import Deciding
from tenuto.core.loop_entries import iterations_of
from tenuto.core.moments import UnknownCalendar, unknown_calendar
from tenuto.core.node_entries import context_growth, written_by
from tenuto.core.plan import PlannedNode
from tenuto.expr import ExpressionError
from tenuto.model.entries import NodeCompleted, NodeFailed
from tenuto.model.failure import EXPRESSION_ERROR, POISON, TOO_LARGE, Failure
from tenuto.model.graph import DEFAULT, ERROR, Loop
from tenuto.model.ids import NodeKey, around
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON, Object


class Ran(NamedTuple):
    """How an attempt was run; its report says the same."""

    execution_time: int | None = None
    worker: str | None = None


NOT_KNOWN = Ran()


def complete(
    d: Deciding,
    key: NodeKey,
    output: JSON,
    *,
    handles: tuple[str, ...] = (DEFAULT,),
    variables: Object | None = None,
    attempt: int | None = None,
    ran: Ran | TaskSucceeded | TaskFailed = NOT_KNOWN,
) -> None:
    """Record a result; `conditions` are read with the output already in `ctx`.

    If a cancelled node completes all the same, that is recorded and nothing follows; unless it was
    cancelled by the instance's end, and a retry has reversed that.
    """
    planned = d.plan.nodes[key.node]
    variable = planned.node.output_variable
    node = d.state.nodes.get(key)
    if attempt is None:
        attempt = 1 if node is None else node.attempt
    is_cancelled = node is not None and node.grace_until is not None
    may_be_followed = not is_cancelled or (node is not None and node.is_withdrawn)
    is_written = variable is not None or variables is not None
    written = written_by(variable, output, variables) if is_written else {}
    if written and may_be_followed:
        total = d.state.context_bytes + context_growth(d.plan, d.state, key, written)
        if total > d.plan.limits.context_bytes:
            failure = _too_large(total, d.plan.limits.context_bytes)
            fail(d, key, attempt, failure, output=output, ran=ran)
            return
    if planned.routes and handles == (DEFAULT,) and may_be_followed:
        try:
            handles = (_routed(d, key, planned, written),)
        except ExpressionError as error:
            failure = replace(expression_failure(error), was_done=True)
            fail(d, key, attempt, failure, output=output, ran=ran)
            return
    d.emit(
        NodeCompleted(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            variable=variable,
            output=output,
            handles=handles,
            variables=variables,
            execution_time=ran.execution_time,
            worker=ran.worker,
        )
    )
    if planned.node.cancels and not is_cancelled:
        cancel_nodes(d, (d.plan.seen_from(key, name) for name in planned.node.cancels))


def fail(
    d: Deciding,
    key: NodeKey,
    attempt: int,
    failure: Failure,
    *,
    output: JSON = None,
    ran: Ran | TaskSucceeded | TaskFailed = NOT_KNOWN,
) -> bool:
    """Record a final failure, and say whether anything handles it.

    An error handle is taken, or the iteration around the node fails, or the workflow. A cancelled
    node that fails in its grace period changes nothing. `output` is its output in spite of that.
    """
    planned = d.plan.nodes[key.node]
    node = d.state.nodes.get(key)
    if node is not None and node.grace_until is not None:
        failed = NodeFailed(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            error=failure,
            then="cancel",
            output=output,
            execution_time=ran.execution_time,
            worker=ran.worker,
        )
        d.emit(failed)
        cancelled(d, key, attempt)
        return True
    handle = error_handle(planned, failure.code)
    then = _fate(d, key, failure.code) if handle is None else "route"
    if then != "fail" and isinstance(planned.node.config, Loop):
        # Otherwise the instance ends, and takes them with it.
        for place in iterations_of(d.state, key):
            cancel_iteration(d, place)
    d.emit(
        NodeFailed(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            error=failure,
            then=then,
            output=output,
            execution_time=ran.execution_time,
            worker=ran.worker,
        )
    )
    if handle is None:
        if then == "iteration":
            _item_failed(d, key, failure)
            return True
        kind: Literal["poison", "task-failed"] = (
            "poison" if failure.code == POISON else "task-failed"
        )
        keep_dead_letter(d, key, attempt, kind, error=failure)
        return False
    shown: Object = {
        "error": {
            "code": failure.code,
            "message": failure.message,
            "details": failure.details,
            "attempts": attempt,
        }
    }
    d.emit(
        NodeCompleted(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            status="error",
            variable=planned.node.output_variable,
            output=shown,
            handles=(handle,),
        )
    )
    return True


def _fate(d: Deciding, key: NodeKey, code: str) -> Literal["iteration", "fail"]:
    """Whether a loop around a node makes do with a failed iteration, or handles its own failure."""
    loop = d.plan.nodes[key.node].loop
    while loop is not None:
        key = NodeKey(loop, around(key.iteration))
        planned = d.plan.nodes[loop]
        assert isinstance(planned.node.config, Loop)
        if (
            not d.state.nodes[key].is_open
            or planned.node.config.on_item_error == "continue"
            or error_handle(planned, code) is not None
        ):
            return "iteration"
        loop = planned.loop
    return "fail"


def _item_failed(d: Deciding, key: NodeKey, failure: Failure) -> None:
    """An iteration failed with one of its nodes: the rest of it, or all of its loop, is over."""
    loop = d.plan.nodes[key.node].loop
    assert loop is not None
    cancel_iteration(d, NodeKey(loop, key.iteration))
    around_it = NodeKey(loop, around(key.iteration))
    node, config = d.state.nodes[around_it], d.plan.nodes[loop].node.config
    if node.is_open and isinstance(config, Loop) and config.on_item_error == "fail":
        fail(d, around_it, node.attempt, failure)


def error_handle(planned: PlannedNode, code: str) -> str | None:
    """The handle that a failure with `code` takes; None: nothing handles it."""
    for route in planned.node.on_error:
        # A route that leads nowhere handles nothing: an error is never swallowed.
        if code in route.codes and route.handle in planned.handles:
            return route.handle
    if planned.node.error_handling == "continue" and ERROR in planned.handles:
        return ERROR
    return None


def expression_failure(error: ExpressionError | ValueError) -> Failure:
    """What a node fails with when an expression or a moment of it cannot be worked out."""
    if isinstance(error, UnknownCalendar):
        return unknown_calendar(error)
    return Failure(code=EXPRESSION_ERROR, message=str(error), retryable=False)


def _too_large(size: int, limit: int) -> Failure:
    message = f"the context would be {size:,} bytes, more than the limit of {limit:,}"
    return Failure(code=TOO_LARGE, message=message, retryable=False, was_done=True)


def _routed(d: Deciding, key: NodeKey, planned: PlannedNode, written: Object) -> str:
    scope = d.scope(key, written)
    for when, handle in planned.routes:
        if when.truthy(scope):
            return handle
    return DEFAULT
