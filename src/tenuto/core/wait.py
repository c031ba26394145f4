"""The life of an event wait: opened, resolved by an event, timed out."""

from __future__ import annotations

import msgspec

from tenuto.core.deciding import EVENT_TAKEN, STALE, Deciding, Rejection
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.scope import scope_of
from tenuto.core.state import attempt_of
from tenuto.expr import (
    ExpressionError,
    SplitCondition,
    Undefined,
    compile_template,
    look_up,
    parse_path,
)
from tenuto.model.effects import CloseWait, OpenWait
from tenuto.model.entries import WaitOpened, WaitResolved
from tenuto.model.events import Event
from tenuto.model.failure import TIMEOUT as TIMED_OUT, WAIT_TIMEOUT, Failure
from tenuto.model.graph import TIMEOUT, EventWait
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import EventMatched
from tenuto.model.json import JSON, Object
from tenuto.model.status import NodeStatus

_encode = msgspec.json.Encoder().encode

INDEXED_BYTES = 1_000
"""So many the terms of a wait may take in the index: PostgreSQL bounds the length of its rows."""


def begin(d: Deciding, key: NodeKey, config: EventWait) -> None:
    """Open the wait: the instance's side of its condition is worked out now, once."""
    assert config.event_pattern is not None
    attempt = attempt_of(d.state, key)
    condition = d.plan.condition(config.event_condition)
    captures = tuple(condition.capture(d.scope(key))) if condition else ()
    try:
        correlation_id = _correlation_id(d, key, config)
    except ExpressionError as error:
        fail(d, key, attempt, expression_failure(error))
        return
    since = d.state.created_at if config.lookback is None else config.lookback.before(d.now)
    timeout = d.plan[key.node].node.timeout
    d.emit(
        WaitOpened(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            pattern=config.event_pattern,
            since=since,
            captures=captures,
            correlation_id=correlation_id,
            timeout_at=config.event_timeout.after(d.now) if config.event_timeout else None,
            fail_at=d.now + timeout if timeout else None,
        )
    )
    paths, values = _terms(condition, captures)
    d.order(
        OpenWait(
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            pattern=config.event_pattern,
            condition=config.event_condition,
            captures=captures,
            since=since,
            term_paths=paths,
            term_values=values,
            correlation_id=correlation_id,
        )
    )


def matched(d: Deciding, report: EventMatched) -> Rejection | None:
    """An event fits: the wait takes it, unless something else ended the wait first."""
    key = NodeKey(report.node, report.iteration)
    node = d.state.nodes.get(key)
    is_waiting = node is not None and node.status is NodeStatus.WAITING and node.listens
    # An instance that was set aside leaves its waits as they were.
    if node is None or not is_waiting or d.state.status.is_final:
        return Rejection(code=STALE, message=f"{key.node} is not waiting for an event")
    if node.attempt != report.attempt:
        # The wait was opened anew: it looks back by itself, from where it looks now.
        return Rejection(code=STALE, message=f"{key.node} waits anew since this event came")
    if report.by_lookback and report.event.id in d.state.taken_events:
        return Rejection(code=EVENT_TAKEN, message="another wait has taken this event")
    config = d.plan[key.node].node.config
    assert isinstance(config, EventWait)
    event = report.event
    _resolved(d, key, event)
    try:
        variables = _mapped(d, key, config, event)
    except ExpressionError as error:
        fail(d, key, node.attempt, expression_failure(error))
        return None
    complete(d, key, _output(event), variables=variables or None)
    return None


def timed_out(d: Deciding, key: NodeKey) -> None:
    """No event came in time: the handle `timeout`, or a failure where nothing hangs on it."""
    node = d.state.nodes[key]
    _resolved(d, key, None)
    if TIMEOUT in d.plan[key.node].handles:
        complete(d, key, None, handles=(TIMEOUT,))
        return
    message = f"no {_pattern(d, key)} event came in time"
    fail(d, key, node.attempt, Failure(code=WAIT_TIMEOUT, message=message, retryable=False))


def overran(d: Deciding, key: NodeKey) -> None:
    """The node's own `timeout` is over."""
    node = d.state.nodes[key]
    if node.listens:
        d.order(CloseWait(node=key.node, iteration=key.iteration, event_id=None))
    message = f"{key.node} took longer than its timeout"
    fail(d, key, node.attempt, Failure(code=TIMED_OUT, message=message, retryable=False))


def _resolved(d: Deciding, key: NodeKey, event: Event | None) -> None:
    event_id = event.id if event else None
    d.emit(
        WaitResolved(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=d.state.nodes[key].attempt,
            outcome="event" if event else "timeout",
            event_id=event_id,
        )
    )
    d.order(CloseWait(node=key.node, iteration=key.iteration, event_id=event_id))


def _output(event: Event) -> Object:
    value = event.as_value()
    del value["id"]
    return value


def _mapped(d: Deciding, key: NodeKey, config: EventWait, event: Event) -> Object:
    mapping = config.event_payload_mapping or {}
    mapped: Object = {}
    for name, source in mapping.items():
        value: JSON
        if isinstance(source, str) and "{{" not in source:
            value = look_up(event.payload, parse_path(source))
        else:
            scope = scope_of(d.plan, d.state, key, event=event.as_value())
            rendered = compile_template(source).render(scope)
            value = None if isinstance(rendered, Undefined) else rendered
        mapped[name] = value
    return mapped


def _terms(condition: SplitCondition | None, captures: tuple[JSON, ...]) -> tuple[str, str]:
    """The wait's place in the index: which properties of an event it compares, and with what."""
    if condition is None or not condition.term_paths:
        return "", ""
    values = condition.term_values(list(captures)) or ()
    for count in range(len(values), 0, -1):
        paths, wanted = _encode(condition.term_paths[:count]), _encode(values[:count])
        # With fewer terms an event finds more waits than it fits, and the whole condition decides.
        if len(paths) + len(wanted) <= INDEXED_BYTES:
            return paths.decode(), wanted.decode()
    return "", ""


def _correlation_id(d: Deciding, key: NodeKey, config: EventWait) -> str | None:
    if config.correlation_id is None:
        return None
    value = d.plan.template(key.node, "correlationId", config.correlation_id).render(d.scope(key))
    if value is None or isinstance(value, Undefined | str):
        return None if isinstance(value, Undefined) else value
    return _encode(value).decode()


def _pattern(d: Deciding, key: NodeKey) -> str:
    config = d.plan[key.node].node.config
    assert isinstance(config, EventWait)
    return config.event_pattern or ""
