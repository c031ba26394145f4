"""The life of attempts: ordered, ended, failed, lost, tried again, given up."""

from __future__ import annotations

import hashlib
import math
from datetime import datetime, timedelta
from typing import Literal

from msgspec import UNSET, UnsetType

from tenuto.core.cancelling import cancelled
from tenuto.core.child_start import order_child
from tenuto.core.dead_letter import keep_dead_letter
from tenuto.core.deciding import LATE, STALE, Deciding, Rejection
from tenuto.core.delay import hold
from tenuto.core.moments import Moments, UnknownCalendar, unknown_calendar
from tenuto.core.outcome import NOT_KNOWN, Ran, complete, expression_failure, fail
from tenuto.core.state import InstanceState, NodeState
from tenuto.core.task_input import GivenInput, render_input
from tenuto.expr import ExpressionError
from tenuto.model.effects import StartAttempt
from tenuto.model.entries import NodeDispatched, NodeFailed, RetryScheduled, SystemSet
from tenuto.model.failure import (
    CANCELLED,
    LOST,
    POISON,
    STOPPED,
    UNKNOWN_HANDLE,
    Failure,
)
from tenuto.model.graph import DEFAULT, ERROR, Executed, SubWorkflow, Task
from tenuto.model.ids import NodeKey, idempotency_key
from tenuto.model.inputs import AttemptLost, TaskFailed, TaskSucceeded
from tenuto.model.json import JSON
from tenuto.model.policy import (
    LOSSES_UNTIL_POISON,
    NO_POLICY,
    BusinessRetryPolicy,
    RetryPolicy,
    TaskPolicy,
)
from tenuto.model.secret_place import SecretPlace
from tenuto.model.status import NodeStatus
from tenuto.model.working_time import BusinessDuration, CalendarVersion, WorkingDuration

_MOST_UNITS = 100_000
"""More days than that are longer than any delay."""


def begin(d: Deciding, key: NodeKey, config: Executed | SubWorkflow) -> None:
    """Order the first attempt of a task or a child, or the first since it was re-opened."""
    given = d.state.nodes.get(key)
    attempt = 1 if given is None else given.attempt
    if given is not None and given.input is not UNSET:
        # Re-opened: the idempotency key is the same, so the input must be the same.
        again(d, key, attempt)
        return
    try:
        rendered = render_input(d, key, config)
    except ExpressionError as error:
        fail(d, key, attempt, expression_failure(error))
        return
    policy = _policy(d, config)
    # An input with secrets is checked where they are filled in.
    if policy.check_input is not None and not rendered.secrets:
        misfit = d.misfit(policy.check_input, rendered.value)
        if misfit is not None:
            fail(d, key, attempt, misfit)
            return
    kept = UNSET if key.node in d.plan.fixed_inputs else rendered.value
    if not _dispatch(d, key, config, policy, attempt, input=kept, secrets=rendered.secrets):
        return
    if isinstance(config, SubWorkflow):
        order_child(d, key)
    else:
        d.effects.append(_start(d, key, attempt, rendered, policy))


def again(d: Deciding, key: NodeKey, attempt: int) -> None:
    """Order a further attempt, with the input that the first one had."""
    config = d.plan[key.node].node.config
    assert isinstance(config, Executed | SubWorkflow)
    if not _dispatch(d, key, config, _policy(d, config), attempt):
        return
    if isinstance(config, SubWorkflow):
        order_child(d, key)
    else:
        d.order(start_attempt(d, key))


def _dispatch(
    d: Deciding,
    key: NodeKey,
    config: Executed | SubWorkflow,
    policy: TaskPolicy,
    attempt: int,
    *,
    input: JSON | UnsetType = UNSET,
    secrets: tuple[SecretPlace, ...] = (),
) -> bool:
    """Record that an attempt is ordered; False: the node has failed, since its calendar is gone."""
    timeout_at: datetime | None = None
    calendars: tuple[CalendarVersion, ...] = ()
    timeout = d.plan.nodes[key.node].node.timeout
    if isinstance(timeout, BusinessDuration):
        moments = Moments(d)
        try:
            due = moments.timeout_at(timeout)
        except UnknownCalendar as error:
            fail(d, key, attempt, unknown_calendar(error))
            return False
        # That of a child counts from when the child is started.
        if not isinstance(config, SubWorkflow):
            timeout_at, calendars = due, moments.calendars
    d.emit(
        NodeDispatched(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            input=input,
            policy=policy.version,
            timeout_at=timeout_at,
            calendars=calendars,
            secrets=secrets,
        )
    )
    return True


def start_attempt(d: Deciding, key: NodeKey) -> StartAttempt:
    """The order that runs the newest attempt of a node."""
    config = d.plan[key.node].node.config
    assert isinstance(config, Executed)
    node = d.state.nodes[key]
    given = (
        render_input(d, key, config)
        if node.input is UNSET
        else GivenInput(node.input, node.secrets)
    )
    return _start(d, key, node.attempt, given, _policy(d, config))


def succeeded(d: Deciding, report: TaskSucceeded) -> Rejection | None:
    """An attempt brought a result."""
    key = NodeKey(report.node, report.iteration)
    refused = _refuse_stale(d, key, report.attempt)
    if refused is None and (until := d.state.nodes[key].grace_until) is not None:
        refused = _refuse_after_grace(d, key, until)
    if refused is not None:
        if refused.code == LATE:
            keep_dead_letter(d, key, report.attempt, "late-result", output=report.output)
        return refused
    work = d.plan.nodes[key.node].work
    if work is None:
        return Rejection(code=STALE, message=f"{key.node} is no task")
    if report.handle != DEFAULT and report.handle not in (ERROR, *work.handles):
        handles = work.handles
        names = ", ".join(("default", *handles))
        failure = Failure(
            code=UNKNOWN_HANDLE,
            message=f"the task answered with handle {report.handle!r}; this step has {names}",
            retryable=False,
            was_done=True,
        )
        fail(d, key, report.attempt, failure, output=report.output, ran=report)
        return None
    policy = NO_POLICY if work.built_in else d.policies.tasks.get(work.task_id, NO_POLICY)
    check = policy.check_output
    if check is not None and (misfit := d.misfit(check, report.output)) is not None:
        fail(d, key, report.attempt, misfit, output=report.output, ran=report)
        return None
    if report.delay and hold(d, report):
        return None
    complete(
        d,
        key,
        report.output,
        handles=(report.handle,),
        attempt=report.attempt,
        ran=report,
    )
    return None


def failed(d: Deciding, report: TaskFailed) -> Rejection | None:
    """An attempt brought a failure."""
    key = NodeKey(report.node, report.iteration)
    refused = _refuse_stale(d, key, report.attempt)
    if refused is None:
        tried_in_vain(d, key, report.attempt, report.error, report, retry_after=report.retry_after)
    return refused


def lost(d: Deciding, report: AttemptLost) -> Rejection | None:
    """An attempt is gone with its process; a clean stop does not count as a failure."""
    key = NodeKey(report.node, report.iteration)
    refused = _refuse_stale(d, key, report.attempt)
    if refused is not None:
        return refused
    node = d.state.nodes[key]
    if node.grace_until is not None or d.state.ending is not None:
        cancelled(d, key, report.attempt)
        return None
    if report.clean:
        message = "its process stopped before it ended"
        _go_on(d, key, report.attempt, Failure(code=STOPPED, message=message))
        return None
    failure = Failure(code=LOST, message="its process was lost before it ended")
    if d.plan.retry_of(d.plan[key.node].node, d.policies).on_lost == "fail":
        fail(d, key, report.attempt, failure)
    elif node.losses + 1 >= LOSSES_UNTIL_POISON:
        _poison(d, key, report.attempt)
    else:
        _go_on(d, key, report.attempt, failure)
    return None


def tried_in_vain(
    d: Deciding,
    key: NodeKey,
    attempt: int,
    failure: Failure,
    ran: Ran | TaskSucceeded | TaskFailed = NOT_KNOWN,
    *,
    retry_after: timedelta | None = None,
) -> None:
    """An attempt failed: try again later, as the policy allows, or give up.

    The next one waits `retry_after` at least, but no longer than the policy's longest delay.
    """
    node = d.state.nodes[key]
    policy = d.plan.retry_of(d.plan[key.node].node, d.policies)
    # An attempt may know of the end before this instance has asked it to stop.
    is_cancelled = d.state.ending is not None and d.state.pause is None
    if is_cancelled or node.grace_until is not None:
        if failure.code != CANCELLED:
            _note(d, key, attempt, failure, "cancel", ran=ran)
        cancelled(d, key, attempt)
        return
    failures = node.failures + 1
    may_retry = (
        failure.retryable
        and failure.code not in policy.non_retryable
        and failures < policy.max_attempts
        and d.state.ending is None
    )
    if not may_retry:
        fail(d, key, attempt, failure, ran=ran)
        return
    moments = Moments(d)
    try:
        name = idempotency_key(d.state.id, key)
        due = retry_at(moments, d, policy, name, failures, retry_after=retry_after)
    except UnknownCalendar as error:
        details: JSON = {"error": {"code": failure.code, "message": failure.message}}
        fail(d, key, attempt, unknown_calendar(error, details), ran=ran)
        return
    _note(d, key, attempt, failure, "retry", ran=ran)
    d.emit(
        RetryScheduled(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt + 1,
            due=due,
            calendars=moments.calendars,
        )
    )


def retry_due(d: Deciding, key: NodeKey) -> None:
    """A back-off is over."""
    again(d, key, d.state.nodes[key].attempt + 1)


def timeout_of(d: Deciding, node: NodeState, patience: timedelta | BusinessDuration) -> timedelta:
    """How long the newest attempt of a node may run."""
    if isinstance(patience, timedelta):
        return patience
    # Without one, its calendar was deleted since it was dispatched first.
    return node.patience or d.plan.timeout


def retry_at(
    moments: Moments,
    d: Deciding,
    policy: RetryPolicy,
    key: str,
    failures: int,
    *,
    retry_after: timedelta | None = None,
) -> datetime:
    """When the attempt after `failures` failures is ordered; UnknownCalendar.

    It waits `retry_after` at least, but no longer than the policy's longest delay.
    """
    if not isinstance(policy, BusinessRetryPolicy):
        delay = backoff(policy, key, failures)
        return d.now + max(delay, min(retry_after or delay, policy.max_delay))
    longest = moments.after(policy.longest, policy.calendar)
    due = min(moments.after(business_backoff(policy, key, failures), policy.calendar), longest)
    return due if retry_after is None else max(due, min(d.now + retry_after, longest))


def business_backoff(policy: BusinessRetryPolicy, key: str, failures: int) -> WorkingDuration:
    """How long to wait in working time: as `backoff`, but working days are whole and exact."""
    first = policy.first
    try:
        factor = policy.multiplier ** (failures - 1)
        months, weeks, days = (
            math.ceil(each * factor) for each in (first.months, first.weeks, first.days)
        )
        seconds = first.span.total_seconds() * factor * (1 + _share(key, failures) / 4)
        span = timedelta(milliseconds=round(seconds * 1000))
    except (OverflowError, ValueError):
        return policy.longest
    if max(months, weeks, days) > _MOST_UNITS:
        return policy.longest
    return WorkingDuration(months, weeks, days, span)


def backoff(policy: RetryPolicy, key: str, failures: int) -> timedelta:
    """How long to wait after `failures` failures: growing, capped, plus 0 to 25 % from a hash."""
    try:
        seconds = policy.initial_delay.total_seconds() * policy.multiplier ** (failures - 1)
    except OverflowError:
        seconds = float("inf") if policy.initial_delay else 0.0
    seconds = min(seconds, policy.max_delay.total_seconds())
    return timedelta(milliseconds=round(seconds * (1 + _share(key, failures) / 4) * 1000))


def _share(key: str, failures: int) -> float:
    """A number from 0 to 1 that looks random, and is always the same."""
    digest = hashlib.blake2b(f"{key}:{failures}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def _refuse_stale(d: Deciding, key: NodeKey, attempt: int) -> Rejection | None:
    node = d.state.nodes.get(key)
    if (
        node is not None
        and not d.state.status.is_final
        and node.is_in_flight
        and node.attempt == attempt
    ):
        return None
    if node is not None and _came_too_late(d.state, node, attempt):
        return Rejection(
            code=LATE, message=f"{key.node} was cancelled before attempt {attempt} reported"
        )
    return _stale(key, attempt)


def refused_for_good(state: InstanceState, report: TaskSucceeded | TaskFailed) -> Rejection | None:
    """Why a report counts no more, also in every state that follows: attempts only go up."""
    key = NodeKey(report.node, report.iteration)
    node = state.nodes.get(key)
    if node is None or _came_too_late(state, node, report.attempt):
        return None
    has_ended = node.status in (NodeStatus.COMPLETED, NodeStatus.FAILED)
    if report.attempt < node.attempt or (report.attempt == node.attempt and has_ended):
        return _stale(key, report.attempt)
    return None


def _stale(key: NodeKey, attempt: int) -> Rejection:
    return Rejection(code=STALE, message=f"attempt {attempt} of {key.node} is not the one running")


def _refuse_after_grace(d: Deciding, key: NodeKey, until: datetime) -> Rejection | None:
    """The grace ends by the clock, also when its timer has not been heard of yet."""
    if d.now <= until:
        return None
    return Rejection(code=LATE, message=f"the grace of {key.node} was over at {until}")


def _came_too_late(state: InstanceState, node: NodeState, attempt: int) -> bool:
    if attempt in node.given_up:
        return True
    return node.attempt == attempt and (
        node.status is NodeStatus.CANCELLED or (state.status.is_final and node.is_open)
    )


def _go_on(d: Deciding, key: NodeKey, attempt: int, failure: Failure) -> None:
    """Start again at once, as the next attempt; while paused, when resumed."""
    _note(d, key, attempt, failure, "retry", counts=False)
    if d.state.pause is None:
        again(d, key, attempt + 1)
        return
    d.emit(
        RetryScheduled(
            at=d.now, node=key.node, iteration=key.iteration, attempt=attempt + 1, due=d.now
        )
    )


def _poison(d: Deciding, key: NodeKey, attempt: int) -> None:
    message = f"lost with its process {LOSSES_UNTIL_POISON} times in a row"
    failure = Failure(code=POISON, message=message, retryable=False)
    d.emit(SystemSet(at=d.now, values={"poison": {"stepId": key.node, "message": message}}))
    if fail(d, key, attempt, failure):
        # Handled or not, people should see it; an unhandled one is a dead letter already.
        keep_dead_letter(d, key, attempt, "poison", error=failure)


def _note(
    d: Deciding,
    key: NodeKey,
    attempt: int,
    failure: Failure,
    then: Literal["retry", "cancel"],
    *,
    counts: bool = True,
    ran: Ran | TaskSucceeded | TaskFailed = NOT_KNOWN,
) -> None:
    d.emit(
        NodeFailed(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=attempt,
            error=failure,
            then=then,
            counts=counts,
            execution_time=ran.execution_time,
            worker=ran.worker,
        )
    )


def _policy(d: Deciding, config: Executed | SubWorkflow) -> TaskPolicy:
    """That of the task; built-in ones and children have none of their own."""
    return (
        d.policies.tasks.get(config.task_id, NO_POLICY) if isinstance(config, Task) else NO_POLICY
    )


def _start(
    d: Deciding, key: NodeKey, attempt: int, given: GivenInput, policy: TaskPolicy
) -> StartAttempt:
    work = d.plan.nodes[key.node].work
    assert work is not None
    patience, heartbeat_timeout = d.plan.patience_with(work, policy)
    return StartAttempt(
        node=key.node,
        iteration=key.iteration,
        attempt=attempt,
        task_id=work.task_id,
        input=given.value,
        idempotency_key=idempotency_key(d.state.id, key),
        timeout=patience
        if isinstance(patience, timedelta)
        else timeout_of(d, d.state.nodes[key], patience),
        heartbeat_timeout=heartbeat_timeout,
        handles=work.handles,
        secrets=given.secrets,
    )
