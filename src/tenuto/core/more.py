"""Events that append items to a loop under way."""

from __future__ import annotations

from tenuto.core.deciding import EVENT_TAKEN, STALE, Deciding, Rejection
from tenuto.core.outcome import expression_failure, fail
from tenuto.core.terms import indexed_terms
from tenuto.expr import ExpressionError, Undefined
from tenuto.model.effects import OpenWait, TakeEvent
from tenuto.model.entries import WaitResolved
from tenuto.model.failure import TOO_LARGE, Failure
from tenuto.model.graph import Loop, More
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import EventMatched
from tenuto.model.json import JSON, size_of


def listen(d: Deciding, key: NodeKey, config: More) -> None:
    """Have events matched from now on: what came before the loop appends nothing."""
    condition = d.plan.condition(config.event_condition)
    captures = tuple(condition.capture(d.scope(key))) if condition else ()
    paths, values = indexed_terms(condition, captures, d)
    d.order(
        OpenWait(
            node=key.node,
            iteration=key.iteration,
            attempt=d.state.nodes[key].attempt,
            pattern=config.event_pattern,
            condition=config.event_condition,
            captures=captures,
            since=d.now,
            term_paths=paths,
            term_values=values,
            correlation_id=None,
            looks_back=False,
        )
    )


def matched(d: Deciding, report: EventMatched) -> Rejection | None:
    """An event appends an item, unless the loop has ended, or has enough."""
    key = NodeKey(report.node, report.iteration)
    node, loop = d.state.nodes.get(key), d.state.loops.get(key)
    is_open = node is not None and node.is_open and node.hears and not d.state.status.is_final
    if node is None or loop is None or not is_open or loop.has_enough:
        return Rejection(code=STALE, message=f"{key.node} takes no more items")
    if node.attempt != report.attempt:
        return Rejection(code=STALE, message=f"{key.node} was opened anew since this event came")
    if report.event.id in loop.heard:
        return Rejection(code=EVENT_TAKEN, message=f"{key.node} has taken this event already")
    try:
        item = _item(d, key, report)
    except ExpressionError as error:
        fail(d, key, node.attempt, expression_failure(error))
        return None
    size, most_bytes = loop.items_size + size_of(item), d.plan.limits.context_bytes
    most = d.plan.limits.loop_items
    if size > most_bytes or loop.length >= most:
        message = f"more than {most:,} items, or than {most_bytes:,} bytes of them"
        fail(d, key, node.attempt, Failure(code=TOO_LARGE, message=message, retryable=False))
        return None
    d.emit(
        WaitResolved(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=node.attempt,
            outcome="event",
            event_id=report.event.id,
            event=item,
        )
    )
    d.order(TakeEvent(node=key.node, iteration=key.iteration, event_id=report.event.id))
    return None


def _item(d: Deciding, key: NodeKey, report: EventMatched) -> JSON:
    config = d.plan.nodes[key.node].node.config
    assert isinstance(config, Loop)
    assert config.more is not None
    scope = d.scope(key, event=report.event.as_value())
    value = d.plan.template(key.node, "more.item", config.more.item).render(scope)
    return None if isinstance(value, Undefined) else value
