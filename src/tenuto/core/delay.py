"""The life of a delay, of a node or after a task: set, fired, in a test run skipped."""

from __future__ import annotations

from datetime import datetime, timedelta

from tenuto.core.deciding import Deciding, Rejection
from tenuto.core.moments import Moments
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.state import attempt_of
from tenuto.expr import ExpressionError
from tenuto.model.durations import Duration, parse_duration, parse_moment
from tenuto.model.entries import HeldResult, TimerFired, TimerSet
from tenuto.model.graph import DEFAULT, Delay
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import SkipDelayAsked, TaskSucceeded, TimerKey, TimerKind
from tenuto.model.status import NodeStatus
from tenuto.model.working_time import WorkingDuration, parse_working_duration

NOT_A_TEST_RUN = "TEN-3022"
NO_DELAY = "TEN-3023"
_MOST_NAMED = 10
"""So many steps a message names."""


def begin(d: Deciding, key: NodeKey, config: Delay) -> None:
    """Set the timer."""
    attempt = attempt_of(d.state, key)
    moments = Moments(d)
    try:
        due = _due(d, key, config, moments)
        fail_at = moments.overrun(key)
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
            fail_at=fail_at,
            calendars=moments.calendars,
        )
    )


def skip(d: Deciding, asked: SkipDelayAsked) -> Rejection | None:
    """End a delay of a test run now; once it is over, asking again changes nothing."""
    key = NodeKey(asked.node, asked.iteration)
    if d.plan.rehearsal is None:
        message = f"{d.state.id} is not a test run: its delays last as long as they say"
        return Rejection(code=NOT_A_TEST_RUN, message=message)
    if TimerKey(TimerKind.DELAY, key.node, key.iteration) in d.state.timers:
        fired(d, key, skipped_by=asked.by)
        return None
    planned, node = d.plan.nodes.get(key.node), d.state.nodes.get(key)
    is_delay = planned is not None and isinstance(planned.node.config, Delay)
    if is_delay and node is not None and node.status is NodeStatus.COMPLETED:
        return None
    name = f"{key.node}[{key.iteration}]" if key.iteration else key.node
    message = f"{name} is not in a delay; {_in_delays(d)}"
    return Rejection(code=NO_DELAY, message=message)


def _in_delays(d: Deciding) -> str:
    names = sorted(
        f"{key.node}[{key.iteration}]" if key.iteration else key.node
        for key in d.state.timers
        if key.kind is TimerKind.DELAY
    )
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    listed = ", ".join(names[:_MOST_NAMED]) + more
    return f"in a delay: {listed}" if names else "no step of the instance is"


def fired(d: Deciding, key: NodeKey, *, skipped_by: str | None = None) -> None:
    """The time is over, or skipped."""
    attempt = attempt_of(d.state, key)
    held = d.state.nodes[key].held
    d.emit(
        TimerFired(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            skipped_by=skipped_by,
        )
    )
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
        worker=report.worker,
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


def _due(d: Deciding, key: NodeKey, config: Delay, moments: Moments) -> datetime:
    due = _wanted(d, key, config, moments)
    rehearsal = d.plan.rehearsal
    return d.now if rehearsal is not None and rehearsal.skips_delays else due


def _wanted(d: Deciding, key: NodeKey, config: Delay, moments: Moments) -> datetime:
    calendar = config.calendar
    if isinstance(config.duration, Duration | WorkingDuration):
        return moments.after(config.duration, calendar)
    field, text = (
        ("until", config.until) if config.duration is None else ("duration", config.duration)
    )
    value = d.plan.template(key.node, field, text).render(d.scope(key))
    if field == "until":
        until = parse_moment(value)
        return until if calendar is None else moments.working(until, calendar)
    if calendar is None:
        return moments.after(parse_duration(value))
    return moments.after(parse_working_duration(value), calendar)
