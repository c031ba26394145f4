"""Mutexes of steps: asked for before the first attempt, kept until the final outcome."""

from __future__ import annotations

import msgspec

from tenuto.core.child_start import held_around
from tenuto.core.deciding import STALE, Deciding, Rejection
from tenuto.core.outcome import expression_failure, fail
from tenuto.core.state import attempt_of
from tenuto.expr import ExpressionError, Undefined
from tenuto.model.effects import AskSlot
from tenuto.model.entries import MutexGranted, MutexRequested
from tenuto.model.failure import MUTEX_SELF, Failure
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import Admitted
from tenuto.model.json import JSON


def has_it(d: Deciding, key: NodeKey) -> bool:
    """Whether a step that is about to begin has its mutex."""
    node = d.state.nodes.get(key)
    return node is not None and node.is_open and node.mutex is not None and not node.is_queued


def request(d: Deciding, key: NodeKey, template: str) -> None:
    """Ask for the mutex of a step; it begins when it has that."""
    attempt = attempt_of(d.state, key)
    try:
        value: JSON | Undefined = d.plan.template(key.node, "mutex", template).render(d.scope(key))
    except ExpressionError as error:
        fail(d, key, attempt, expression_failure(error))
        return
    if value is None or isinstance(value, Undefined) or value == "":
        nothing = ExpressionError("`mutex` gives no value")
        fail(d, key, attempt, expression_failure(nothing))
        return
    mutex = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if mutex in held_around(d.state, key):
        message = f"a step around it has the mutex {mutex!r}: it would wait for itself"
        fail(d, key, attempt, Failure(code=MUTEX_SELF, message=message, retryable=False))
        return
    d.emit(
        MutexRequested(
            at=d.now, node=key.node, iteration=key.iteration, attempt=attempt, mutex=mutex
        )
    )
    d.order(AskSlot(number=attempt, mutex=mutex, node=key.node, iteration=key.iteration))


def granted(d: Deciding, report: Admitted) -> Rejection | None:
    """A step has its mutex."""
    node = d.state.nodes.get(NodeKey(report.node, report.iteration))
    is_asked = node is not None and node.is_open and node.is_queued
    if not is_asked or d.state.status.is_final or node is None or node.attempt != report.number:
        return Rejection(code=STALE, message="this mutex is not asked for any more")
    place = {"node": report.node, "iteration": report.iteration}
    d.emit(MutexGranted(at=d.now, **place, attempt=node.attempt))
    return None
