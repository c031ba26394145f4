"""An instance as lines for people: one for each step, worked out from its state alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Final, NamedTuple

from tenuto.cli.views.marks import MARKS
from tenuto.cli.views.terminal import countdown
from tenuto.core import InstanceState, Plan
from tenuto.core.incomplete_joins import join_message
from tenuto.core.iterations import progress_of
from tenuto.core.state import NodeState
from tenuto.core.wait import arms_of
from tenuto.model.failure import LOST, STOPPED
from tenuto.model.graph import EventWait, Loop
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.json import JSON
from tenuto.model.lengths import length
from tenuto.model.policy import NO_POLICIES, Policies
from tenuto.model.status import NodeStatus

_SHOWN_QUEUE: Final = timedelta(seconds=1)
"""Shorter times in a queue are not shown."""


class Line(NamedTuple):
    """One step: a mark, its name, what there is to say, and in which colour."""

    mark: str
    step: str
    note: str
    style: str
    detail: str = ""
    """What went wrong, where something did."""


_MOST_INSIDE: Final = 10
"""Failed steps inside of loops that are shown."""
_FEW_LINES: Final = 40
"""So many lines are all shown."""
_ENDS_SHOWN: Final = 3
"""Steps at either end of a stretch that are shown."""
_QUIET: Final = {
    MARKS[status][0]: status.value.lower()
    for status in (
        NodeStatus.COMPLETED,
        NodeStatus.PENDING,
        NodeStatus.SKIPPED,
        NodeStatus.CANCELLED,
    )
}
"""By their marks: nothing happens to these now."""
_ENDED: Final = frozenset(
    {NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED, NodeStatus.CANCELLED}
)


def lines_of(
    plan: Plan, state: InstanceState, now: datetime, policies: Policies = NO_POLICIES
) -> list[Line]:
    """Every step in the order of the graph; times are what they are at `now`.

    The steps of a loop's body are many, or none yet: the loop speaks for them.
    """
    names = sorted(_outside_loops(plan), key=plan.order_of)
    return [_line(plan, state, NodeKey(name), now, policies) for name in names]


def collapsed(lines: Sequence[Line]) -> list[Line]:
    """Of many lines those that matter: long stretches of steps that rest are counted on one line.

    The ends of a stretch stay, and all that fails, runs, waits or has something to say about it.
    """
    if len(lines) <= _FEW_LINES:
        return [*lines]
    kept: list[Line] = []
    for is_quiet, group in groupby(lines, key=lambda line: line.mark in _QUIET and not line.detail):
        stretch = list(group)
        hidden = stretch[_ENDS_SHOWN:-_ENDS_SHOWN]
        if not is_quiet or len(hidden) < _ENDS_SHOWN:
            kept += stretch
            continue
        counted = Counter(_QUIET[line.mark] for line in hidden)
        what = ", ".join(f"{count} {name}" for name, count in counted.items())
        more = Line("…", f"{what} steps", "--all shows them", "dim")
        kept += [*stretch[:_ENDS_SHOWN], more, *stretch[-_ENDS_SHOWN:]]
    return kept


def failed_inside(plan: Plan, state: InstanceState, now: datetime) -> list[Line]:
    """The first steps inside of loops that failed: `b[1]`; their loop may be cancelled for it."""
    failed = (
        key
        for key, node in state.nodes.items()
        if key.iteration and node.status is NodeStatus.FAILED
    )
    first = sorted(islice(failed, _MOST_INSIDE), key=lambda key: (key.node, key.iteration))
    lines = (_line(plan, state, key, now, NO_POLICIES) for key in first)
    return [
        line._replace(step=f"{key.node}[{key.iteration}]")
        for key, line in zip(first, lines, strict=True)
    ]


def line_of(
    plan: Plan, state: InstanceState, step: str, now: datetime, policies: Policies = NO_POLICIES
) -> Line:
    """One step."""
    return _line(plan, state, NodeKey(step), now, policies)


def counts(plan: Plan, state: InstanceState) -> tuple[int, int]:
    """How many steps have ended, and how many there are."""
    ended = sum(node.status in _ENDED for key, node in state.nodes.items() if not key.iteration)
    return ended, len(_outside_loops(plan))


def _outside_loops(plan: Plan) -> list[str]:
    return [name for name, planned in plan.nodes.items() if planned.loop is None]


def elapsed(state: InstanceState, now: datetime) -> timedelta:
    """How long an instance has been going, or went."""
    return (state.completed_at or now) - (state.started_at or state.created_at)


def _line(
    plan: Plan, state: InstanceState, key: NodeKey, now: datetime, policies: Policies
) -> Line:
    node = state.nodes.get(key)
    status = node.status if node is not None else NodeStatus.PENDING
    mark, style = MARKS[status]
    if node is None:
        missing = join_message(plan, state, key) if key in state.joins else None
        return Line(mark, key.node, missing or "", style)
    note = _note(plan, state, key, node, now, policies=policies)
    return Line(mark, key.node, note, style, _detail(node))


def _note(
    plan: Plan,
    state: InstanceState,
    key: NodeKey,
    node: NodeState,
    now: datetime,
    *,
    policies: Policies,
) -> str:
    match node.status:
        case NodeStatus.COMPLETED:
            tries = f"  on attempt {node.attempt}" if node.attempt > 1 else ""
            items = f"  {_items(len(node.errors))} failed" if node.errors else ""
            return _count(plan, key, node) + _decided(node) + _span(node, now) + items + tries
        case NodeStatus.FAILED:
            tries = f"{node.attempt} attempts, " if node.attempt > 1 else ""
            return f"failed  {turns_of(plan, state, key)}{tries}{_span(node, now)}"
        case NodeStatus.RUNNING if node.grace_until is not None:
            return f"asked to stop, {countdown(node.grace_until - now)} left"
        case NodeStatus.RUNNING if node.is_loop:
            return f"{turns_of(plan, state, key)}{_span(node, now)}"
        case NodeStatus.RUNNING if node.child_id is not None:
            return f"runs {node.child_id}, {_span(node, now)}"
        case NodeStatus.RUNNING:
            if node.attempt == 1:
                return _span(node, now)
            return f"attempt {node.attempt}{_of(plan, key, node, node.attempt, policies)}"
        case NodeStatus.RETRYING:
            upcoming = node.attempt + 1
            timer = state.timers.get(TimerKey(TimerKind.RETRY, key.node, key.iteration))
            due = f", next try in {countdown(timer.due - now)}" if timer else ""
            return f"attempt {upcoming}{_of(plan, key, node, upcoming, policies)}{due}"
        case NodeStatus.WAITING:
            return _waiting(plan, state, key, node, now)
        case NodeStatus.SKIPPED:
            return "skipped"
        case NodeStatus.CANCELLED:
            return f"cancelled  {turns_of(plan, state, key)}".removesuffix(", ").rstrip()
        case _:
            return ""


def _count(plan: Plan, key: NodeKey, node: NodeState) -> str:
    """How many items a loop that is over had: its output has one for each."""
    if not node.is_loop or not isinstance(node.output, list):
        return ""
    config = plan[key.node].node.config
    if isinstance(config, Loop) and config.while_ is not None:
        count = len(node.output)
        return f"{count} iteration  " if count == 1 else f"{count} iterations  "
    return f"{_items(len(node.output))}  "


def _decided(node: NodeState) -> str:
    """The decision of an approval, and who decided."""
    if node.approval is None:
        return ""
    match node.output:
        case {"decision": decision, "by": by}:
            return f"{decision} by {by}, "
        case _:
            return "not decided in time, "


def turns_of(plan: Plan, state: InstanceState, key: NodeKey) -> str:
    """How far a loop is, or was when it ended; empty for other steps."""
    loop = progress_of(plan, state, key)
    if loop is None:
        return ""
    if loop.length is None:
        return f"iteration {loop.started}, "
    failed = f"{loop.failed} failed, " if loop.failed else ""
    return f"{loop.done} of {_items(loop.length)}, {failed}"


def _items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


def _waiting(plan: Plan, state: InstanceState, key: NodeKey, node: NodeState, now: datetime) -> str:
    config = plan[key.node].node.config
    if isinstance(config, EventWait):
        patterns = " or ".join(arm.event_pattern for arm in arms_of(config))
        timer = state.timers.get(TimerKey(TimerKind.WAIT_TIMEOUT, key.node, key.iteration))
        until = f", times out in {countdown(timer.due - now)}" if timer else ""
        return f"waiting for {patterns}, {_span(node, now)} so far{until}"
    if node.approval is not None:
        timer = state.timers.get(TimerKey(TimerKind.WAIT_TIMEOUT, key.node, key.iteration))
        until = f", times out in {countdown(timer.due - now)}" if timer else ""
        return f"for {node.approval.assignees} to decide, {_span(node, now)} so far{until}"
    timer = state.timers.get(TimerKey(TimerKind.DELAY, key.node, key.iteration))
    return f"sleeping, wakes in {countdown(timer.due - now)}" if timer else "sleeping"


def _of(plan: Plan, key: NodeKey, node: NodeState, attempt: int, policies: Policies) -> str:
    """` of 5`: the last attempt there can be; lost ones use up nothing.

    Empty where the policies of tasks are not known here, and the step says nothing itself.
    """
    step = plan[key.node].node
    if step.retry is None and policies is NO_POLICIES:
        return ""
    return f" of {plan.retry_of(step, policies).max_attempts + max(attempt - 1 - node.failures, 0)}"


def _detail(node: NodeState) -> str:
    """The error that explains the state of a step; one that completed needs none."""
    if node.errors:
        return _first_of(node.errors)
    if node.error is None or node.status is NodeStatus.COMPLETED:
        return ""
    if node.error.code in (LOST, STOPPED):
        how = "was lost with" if node.error.code == LOST else "was cut short by the end of"
        return f"attempt {node.error.attempt} {how} its process"
    return f"{node.error.code}: {node.error.message}"


def _first_of(errors: list[JSON]) -> str:
    match errors[0]:
        case {"index": index, "error": {"code": code, "message": message}}:
            return f"item {index}: {code}: {message}"
        case _:
            return ""


def _span(node: NodeState, now: datetime) -> str:
    if node.execution_time is not None and node.completed_at is not None and node.attempt == 1:
        queued = timedelta(milliseconds=node.queue_time or 0)
        shown = length(timedelta(milliseconds=node.execution_time))
        return shown if queued < _SHOWN_QUEUE else f"{shown}, queued {length(queued)}"
    return length((node.completed_at or now) - (node.started_at or now))
