"""The life of an event wait: opened, resolved by an event, timed out."""

from __future__ import annotations

import msgspec

from tenuto.core.deciding import EVENT_TAKEN, STALE, Deciding, Rejection
from tenuto.core.moments import Moments, UnknownCalendar
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.payload import mapped
from tenuto.core.plan import Plan
from tenuto.core.state import Counted, attempt_of
from tenuto.core.terms import indexed_terms
from tenuto.expr import CountedScope, ExpressionError, Undefined
from tenuto.model.effects import CloseWait, OpenWait, TakeEvent
from tenuto.model.entries import WaitArm, WaitOpened, WaitResolved
from tenuto.model.events import Event
from tenuto.model.failure import TIMEOUT as TIMED_OUT, TOO_LARGE, WAIT_TIMEOUT, Failure
from tenuto.model.graph import DEFAULT, TIMEOUT, Arm, EventWait
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import EventMatched
from tenuto.model.json import JSON, Object, size_of
from tenuto.model.status import NodeStatus

_encode = msgspec.json.Encoder().encode


def arms_of(config: EventWait) -> tuple[Arm, ...]:
    """What a wait takes; one that has no arms is one without a name."""
    if config.event_pattern is None:
        return config.arms
    return (
        Arm(
            id="",
            event_pattern=config.event_pattern,
            event_condition=config.event_condition,
            event_payload_mapping=config.event_payload_mapping,
        ),
    )


def begin(d: Deciding, key: NodeKey, config: EventWait) -> None:
    """Open the wait: the instance's side of its conditions is worked out now, once."""
    attempt = attempt_of(d.state, key)
    arms = arms_of(config)
    captured: list[tuple[JSON, ...]] = []
    scope = d.scope(key)
    for arm in arms:
        condition = d.plan.condition(arm.event_condition)
        captured.append(tuple(condition.capture(scope)) if condition else ())
    moments = Moments(d)
    try:
        correlation_id = correlation_id_of(d.plan, key, config, d.scope(key))
        timeout_at = moments.after(config.event_timeout) if config.event_timeout else None
        fail_at = moments.overrun(key)
    except (ExpressionError, UnknownCalendar) as error:
        fail(d, key, attempt, expression_failure(error))
        return
    since = d.state.created_at if config.lookback is None else config.lookback.before(d.now)
    d.emit(
        WaitOpened(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            pattern=config.event_pattern or "",
            since=since,
            captures=() if config.arms else captured[0],
            correlation_id=correlation_id,
            timeout_at=timeout_at,
            fail_at=fail_at,
            calendars=moments.calendars,
            arms=tuple(
                WaitArm(id=arm.id, pattern=arm.event_pattern, captures=captures)
                for arm, captures in zip(config.arms, captured, strict=False)
            ),
        )
    )
    for position, (arm, captures) in enumerate(zip(arms, captured, strict=True)):
        condition = d.plan.condition(arm.event_condition)
        paths, values = indexed_terms(condition, captures, d, correlation_id)
        d.order(
            OpenWait(
                node=key.node,
                iteration=key.iteration,
                attempt=attempt,
                pattern=arm.event_pattern,
                condition=arm.event_condition,
                captures=captures,
                since=since,
                term_paths=paths,
                term_values=values,
                correlation_id=correlation_id,
                arm=arm.id,
                position=position,
                # Clocks differ by a little: a wait without look-back must not find events of that
                # little time. One that opens in its instance's first millisecond does look back.
                looks_back=config.lookback is None or since < d.now,
            )
        )


def matched(d: Deciding, report: EventMatched) -> Rejection | None:
    """An event fits: the wait takes it, unless something else ended the wait first."""
    key = NodeKey(report.node, report.iteration)
    node = d.state.nodes.get(key)
    is_waiting = node is not None and node.status is NodeStatus.WAITING and node.listens
    # A quarantined instance leaves its waits as they were.
    if node is None or not is_waiting or d.state.status.is_final:
        return Rejection(code=STALE, message=f"{key.node} is not waiting for an event")
    if node.attempt != report.attempt:
        # The wait was opened anew: it looks back by itself, from where it looks now.
        return Rejection(code=STALE, message=f"{key.node} waits anew since this event came")
    if report.by_lookback and report.event.id in d.state.taken_events:
        return Rejection(code=EVENT_TAKEN, message="another wait has taken this event")
    config = d.plan[key.node].node.config
    assert isinstance(config, EventWait)
    arm = next((each for each in arms_of(config) if each.id == report.arm), None)
    if arm is None:
        return Rejection(code=STALE, message=f"{key.node} has no arm {report.arm!r}")
    event = report.event
    if config.count is not None:
        return _count(d, key, config.count, event)
    _resolved(d, key, event, arm.id)
    try:
        variables = _mapped(d, key, arm, event)
    except ExpressionError as error:
        fail(d, key, node.attempt, expression_failure(error))
        return None
    handles = (arm.id or DEFAULT,)
    complete(d, key, _output(event), handles=handles, variables=variables or None)
    return None


def _count(d: Deciding, key: NodeKey, count: int, event: Event) -> Rejection | None:
    """A wait for several events takes one: the last one completes it."""
    node = d.state.nodes[key]
    counted = node.counted or Counted()
    if event.id in counted.ids:
        return Rejection(code=EVENT_TAKEN, message=f"{key.node} has taken this event already")
    value: JSON = _output(event)
    size, most = counted.size + size_of(value), d.plan.limits.output_bytes
    if size > most:
        d.order(CloseWait(node=key.node, iteration=key.iteration, event_id=None))
        message = f"the events have {size:,} bytes, more than the limit of {most:,}"
        fail(d, key, node.attempt, Failure(code=TOO_LARGE, message=message, retryable=False))
        return None
    remaining = count - len(counted.events) - 1
    if remaining <= 0:
        _resolved(d, key, event)
        complete(d, key, {"events": [*counted.events, value]})
        return None
    d.emit(
        WaitResolved(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=node.attempt,
            outcome="event",
            event_id=event.id,
            remaining=remaining,
            event=value,
        )
    )
    d.order(TakeEvent(node=key.node, iteration=key.iteration, event_id=event.id))
    return None


def timed_out(d: Deciding, key: NodeKey, *, requested_by: str | None = None) -> None:
    """No event came in time: the handle `timeout`, or a failure where nothing hangs on it."""
    node = d.state.nodes[key]
    config = d.plan[key.node].node.config
    assert isinstance(config, EventWait)
    came = list(node.counted.events) if node.counted else []
    _resolved(d, key, None, requested_by=requested_by)
    if TIMEOUT in d.plan[key.node].handles:
        output: JSON = None if config.count is None else {"events": came}
        complete(d, key, output, handles=(TIMEOUT,))
        return
    number = f"{len(came)} of {config.count}" if config.count is not None else "no"
    message = f"{number} {_pattern(d, key)} event{'s' * (config.count is not None)} came in time"
    fail(d, key, node.attempt, Failure(code=WAIT_TIMEOUT, message=message, retryable=False))


def overran(d: Deciding, key: NodeKey) -> None:
    """The node's own `timeout` is over."""
    node = d.state.nodes[key]
    if node.listens:
        d.order(CloseWait(node=key.node, iteration=key.iteration, event_id=None))
    message = f"{key.node} took longer than its timeout"
    fail(d, key, node.attempt, Failure(code=TIMED_OUT, message=message, retryable=False))


def _resolved(
    d: Deciding,
    key: NodeKey,
    event: Event | None,
    arm: str = "",
    *,
    requested_by: str | None = None,
) -> None:
    event_id = event.id if event else None
    d.emit(
        WaitResolved(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=d.state.nodes[key].attempt,
            outcome="event" if event else "timeout",
            event_id=event_id,
            arm=arm or None,
            requested_by=requested_by,
        )
    )
    d.order(CloseWait(node=key.node, iteration=key.iteration, event_id=event_id, arm=arm))


def _output(event: Event) -> Object:
    value = event.as_value()
    del value["id"]
    return value


def _mapped(d: Deciding, key: NodeKey, arm: Arm, event: Event) -> Object:
    return mapped(
        arm.event_payload_mapping or {},
        event,
        lambda: d.scope(key, event=event.as_value()),
    )


def correlation_id_of(
    plan: Plan, key: NodeKey, config: EventWait, scope: CountedScope
) -> str | None:
    """What events have to belong to; None: to anything. ExpressionError where it has no value."""
    if config.correlation_id is None:
        return None
    value = plan.template(key.node, "correlationId", config.correlation_id).render(scope)
    if value is None or isinstance(value, Undefined):
        # Without one it would take events that are meant for other instances.
        what = "null" if value is None else "undefined"
        message = f"`correlationId` is {what}, and would fit every event"
        raise ExpressionError(message, source=config.correlation_id)
    return value if isinstance(value, str) else _encode(value).decode()


def _pattern(d: Deciding, key: NodeKey) -> str:
    config = d.plan[key.node].node.config
    assert isinstance(config, EventWait)
    return config.event_pattern or " or ".join(arm.event_pattern for arm in config.arms)
