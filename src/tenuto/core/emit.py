"""An emit node: publishes an event, under an id that stays the same however often it is asked."""

from __future__ import annotations

import msgspec

from tenuto.core.deciding import Deciding
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.state import attempt_of
from tenuto.expr import ExpressionError, Undefined
from tenuto.model.effects import PublishEvent
from tenuto.model.events import Event, event_name_problem
from tenuto.model.failure import INVALID_EVENT, TOO_LARGE, Failure
from tenuto.model.graph import Emit
from tenuto.model.ids import NodeKey, idempotency_key, too_long, unseen_in
from tenuto.model.json import JSON, size_of
from tenuto.model.status import NodeStatus

_encode = msgspec.json.Encoder().encode


def begin(d: Deciding, key: NodeKey, config: Emit) -> None:
    """Publish the event and continue, whether or not a wait takes it."""
    attempt = attempt_of(d.state, key)
    try:
        pattern = _value(d, key, "pattern", config.pattern)
        payload = _value(d, key, "payload", config.payload)
        correlation_id = _text(d, key, "correlationId", config.correlation_id)
    except ExpressionError as error:
        fail(d, key, attempt, expression_failure(error))
        return
    failure = _refusal(pattern, payload, correlation_id, d.plan.limits.event_bytes)
    if failure is not None:
        fail(d, key, attempt, failure)
        return
    assert isinstance(pattern, str)
    event = Event(
        id=idempotency_key(d.state.id, key),
        pattern=pattern,
        payload=payload,
        received_at=d.now,
        correlation_id=correlation_id,
        chain=d.state.chain,
        origin=d.state.led_to_by,
    )
    complete(d, key, {"eventId": event.id, "pattern": pattern})
    node = d.state.nodes[key]
    if node.status is NodeStatus.COMPLETED:
        d.order(PublishEvent(event=event))


def _refusal(
    pattern: JSON, payload: JSON, correlation_id: str | None, most_bytes: int
) -> Failure | None:
    problem: str | None = "the name of an event is text"
    if isinstance(pattern, str):
        problem = event_name_problem(pattern)
    if problem is None and correlation_id is not None:
        problem = too_long(correlation_id) or unseen_in(correlation_id)
    if problem is not None:
        return Failure(code=INVALID_EVENT, message=problem, retryable=False)
    size = size_of(payload)
    if size > most_bytes:
        message = f"the payload has {size:,} bytes, more than the limit of {most_bytes:,}"
        return Failure(code=TOO_LARGE, message=message, retryable=False)
    return None


def _value(d: Deciding, key: NodeKey, field: str, template: JSON) -> JSON:
    if template is None:
        return None
    value = d.plan.template(key.node, field, template).render(d.scope(key))
    return None if isinstance(value, Undefined) else value


def _text(d: Deciding, key: NodeKey, field: str, template: str | None) -> str | None:
    value = _value(d, key, field, template)
    return value if value is None or isinstance(value, str) else _encode(value).decode()
