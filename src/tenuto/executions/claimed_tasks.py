"""Makes the tasks that a worker is sent from the jobs that it was granted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from tenuto.core import claimed, outstanding
from tenuto.engine.effects.task_context import context_for, context_of
from tenuto.engine.turns.held import Held, Place
from tenuto.executions.tokens import execution_id
from tenuto.model.durations import Duration
from tenuto.model.effects import StartAttempt
from tenuto.model.executions import (
    LOGS,
    MOST_OUTPUT_BYTES,
    REPORT_FIELDS,
    ClaimedTask,
    TaskContext,
    UndoneStep,
)
from tenuto.model.policy import Policies
from tenuto.store.parts.jobs import Grant, Lease


def tasks_of(
    held: Held,
    policies: Policies,
    grants: Iterable[Grant],
    token_of: Callable[[Lease], str],
    now: datetime,
    *,
    with_outputs: bool = False,
    keeps_logs: bool = False,
) -> list[ClaimedTask]:
    """The tasks of an instance's jobs that are still outstanding, in the order of the grants.

    `with_outputs` adds the outputs of earlier steps, or their size if they are too large.
    `keeps_logs`: reports may have lines of the attempt.
    """
    orders = {
        place: claimed(held.plan, order, policies, now)
        for place, order in _orders(held, policies).items()
    }
    tasks = [
        _task(
            held,
            orders[grant.lease.key[1:]],
            grant,
            token_of(grant.lease),
            now,
            keeps_logs=keeps_logs,
        )
        for grant in grants
        if grant.lease.key[1:] in orders
    ]
    if not with_outputs or not tasks:
        return tasks
    outputs = context_of(held.state).previous_outputs()
    size = len(msgspec.json.encode(outputs))
    if size > MOST_OUTPUT_BYTES:
        return [replace(each, previous_outputs_bytes=size) for each in tasks]
    return [replace(each, previous_outputs=outputs) for each in tasks]


def timeouts_of(
    held: Held, policies: Policies, grants: Iterable[Grant], now: datetime
) -> dict[Lease, timedelta]:
    """The time-outs in working time of jobs that are claimed at `now`."""
    orders = _orders(held, policies) if policies.calendars else {}
    found: dict[Lease, timedelta] = {}
    for lease, _ in grants:
        order = orders.get(lease.key[1:])
        if order is not None:
            timed = claimed(held.plan, order, policies, now)
            if timed is not order:
                found[lease] = timed.timeout
    return found


def _orders(held: Held, policies: Policies) -> dict[Place, StartAttempt]:
    return {
        (effect.node, effect.iteration, effect.attempt): effect
        for effect in outstanding(held.plan, held.state, policies)
        if isinstance(effect, StartAttempt)
    }


def _task(
    held: Held,
    order: StartAttempt,
    grant: Grant,
    token: str,
    now: datetime,
    *,
    keeps_logs: bool,
) -> ClaimedTask:
    state = held.state
    overdue = Duration(order.timeout).after(now)
    silence = order.heartbeat_timeout
    facts = context_for(held, state, order, context_of(state))
    undo = facts.undo
    return ClaimedTask(
        execution_id=execution_id(grant.lease.key),
        lease_token=token,
        task_id=order.task_id,
        instance_id=state.id,
        step_id=order.node,
        iteration=order.iteration,
        input=order.input,
        attempt=order.attempt,
        idempotency_key=order.idempotency_key,
        deadline=overdue if state.deadline is None else min(overdue, state.deadline),
        lease_until=grant.until,
        timeout=order.timeout.total_seconds(),
        heartbeat_timeout=None if silence is None else silence.total_seconds(),
        handles=order.handles,
        reports=(*REPORT_FIELDS, LOGS) if keeps_logs else REPORT_FIELDS,
        undo=None
        if undo is None
        else UndoneStep(step_id=undo.step_id, has_input=undo.has_input, output=undo.output),
        context=TaskContext(
            workflow_definition_id=state.definition_id,
            correlation_id=state.correlation_id,
            retry_count=order.attempt - 1,
            deadline=state.deadline,
            traceparent=facts.traceparent,
        ),
    )
