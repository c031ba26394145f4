"""How a node ends: with a result, a failure, or passed over; and which handles that takes."""

from __future__ import annotations

from typing import Literal

from tenuto.core.cancelling import call_off
from tenuto.core.dead_letter import keep_dead_letter
from tenuto.core.deciding import Deciding
from tenuto.core.node_entries import context_size, written_by
from tenuto.core.plan import PlannedNode
from tenuto.expr import ExpressionError
from tenuto.model.entries import NodeCompleted, NodeFailed
from tenuto.model.failure import EXPRESSION_ERROR, POISON, TOO_LARGE, Failure
from tenuto.model.graph import DEFAULT, ERROR
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object


def complete(
    d: Deciding,
    key: NodeKey,
    output: JSON,
    *,
    handles: tuple[str, ...] = (DEFAULT,),
    variables: Object | None = None,
    attempt: int = 1,
) -> None:
    """Record a result; `conditions` are read with the output already in `ctx`.

    A node that was called off and ended well all the same is recorded, and nothing follows.
    """
    planned = d.plan.nodes[key.node]
    node = d.state.nodes.get(key)
    is_called_off = node is not None and node.grace_until is not None
    written = written_by(planned.node.output_variable, output, variables)
    if written and not is_called_off:
        total = context_size(d.state, written)
        if total > d.plan.limits.context_bytes:
            fail(d, key, attempt, _too_large(total, d.plan.limits.context_bytes))
            return
    if handles == (DEFAULT,) and planned.routes and not is_called_off:
        try:
            handles = (_routed(d, planned, written),)
        except ExpressionError as error:
            fail(d, key, attempt, expression_failure(error))
            return
    d.emit(
        NodeCompleted(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            variable=planned.node.output_variable,
            output=output,
            handles=handles,
            variables=variables,
        )
    )
    if planned.node.cancels and not is_called_off:
        call_off(d, (NodeKey(name, key.iteration) for name in planned.node.cancels))


def fail(d: Deciding, key: NodeKey, attempt: int, failure: Failure) -> None:
    """Record a final failure: an error handle is taken, or the workflow fails."""
    planned = d.plan[key.node]
    handle = error_handle(planned, failure.code)
    d.emit(
        NodeFailed(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            error=failure,
            then="fail" if handle is None else "route",
        )
    )
    if handle is None:
        kind: Literal["poison", "task-failed"] = (
            "poison" if failure.code == POISON else "task-failed"
        )
        keep_dead_letter(d, key, attempt, kind, error=failure)
        return
    output: Object = {
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
            output=output,
            handles=(handle,),
        )
    )


def error_handle(planned: PlannedNode, code: str) -> str | None:
    """The handle that a failure with `code` takes; None: nothing handles it."""
    for route in planned.node.on_error:
        # A route that leads nowhere handles nothing: an error is never swallowed.
        if code in route.codes and route.handle in planned.handles:
            return route.handle
    if planned.node.error_handling == "continue" and ERROR in planned.handles:
        return ERROR
    return None


def expression_failure(error: ExpressionError) -> Failure:
    """What a node fails with when one of its expressions cannot be worked out."""
    return Failure(code=EXPRESSION_ERROR, message=str(error), retryable=False)


def _too_large(size: int, limit: int) -> Failure:
    message = f"the context would be {size:,} bytes, more than the limit of {limit:,}"
    return Failure(code=TOO_LARGE, message=message, retryable=False)


def _routed(d: Deciding, planned: PlannedNode, written: Object) -> str:
    scope = d.scope(written)
    for when, handle in planned.routes:
        if when.truthy(scope):
            return handle
    return DEFAULT
