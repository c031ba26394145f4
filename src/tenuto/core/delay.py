"""The life of a delay, of a node or after a task: set, fired."""

from __future__ import annotations

from datetime import datetime, timedelta

from tenuto.core.deciding import Deciding
from tenuto.core.outcome import complete, expression_failure, fail, overrun_at
from tenuto.core.state import attempt_of
from tenuto.expr import ExpressionError
from tenuto.model.durations import Duration, parse_duration, parse_moment
from tenuto.model.entries import HeldResult, TimerFired, TimerSet
from tenuto.model.graph import DEFAULT, Delay
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TaskSucceeded


def begin(d: Deciding, key: NodeKey, config: Delay) -> None:
    """Set the timer."""
    attempt = attempt_of(d.state, key)
    try:
        due = _due(d, key, config)
    except (ExpressionError, ValueError) as error:
        fail(d, key, attempt, expression_failure(error))
        return
    d.emit(
        TimerSet(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            due=due,
            fail_at=overrun_at(d, key),
        )
    )


def fired(d: Deciding, key: NodeKey) -> None:
    """The time is over."""
    attempt = attempt_of(d.state, key)
    held = d.state.nodes[key].held
    d.emit(TimerFired(at=d.now, node=key.node, iteration=key.iteration, attempt=attempt))
    if held is None:
        complete(d, key, None)
    else:
        complete(d, key, held.output, handles=(held.handle or DEFAULT,), attempt=attempt)


def hold(d: Deciding, report: TaskSucceeded) -> bool:
    """Keep a result that asks for a delay until that is over; False where nothing is delayed.

    One that is being cancelled completes at once: nothing follows it.
    """
    key = NodeKey(report.node, report.iteration)
    rehearsal = d.plan.rehearsal
    is_skipped = rehearsal is not None and rehearsal.skips_delays
    node = d.state.nodes[key]
    if not report.delay or is_skipped or node.grace_until is not None or d.state.ending is not None:
        return False
    held = HeldResult(
        output=report.output,
        handle=None if report.handle == DEFAULT else report.handle,
        execution_time=report.execution_time,
    )
    due = Duration(timedelta(milliseconds=report.delay)).after(d.now)
    d.emit(
        TimerSet(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=report.attempt,
            due=due,
            held=held,
        )
    )
    return True


def _due(d: Deciding, key: NodeKey, config: Delay) -> datetime:
    due = _wanted(d, key, config)
    rehearsal = d.plan.rehearsal
    return d.now if rehearsal is not None and rehearsal.skips_delays else due


def _wanted(d: Deciding, key: NodeKey, config: Delay) -> datetime:
    if isinstance(config.duration, Duration):
        return config.duration.after(d.now)
    field, text = (
        ("until", config.until) if config.duration is None else ("duration", config.duration)
    )
    value = d.plan.template(key.node, field, text).render(d.scope(key))
    if field == "until":
        return parse_moment(value)
    return parse_duration(value).after(d.now)
