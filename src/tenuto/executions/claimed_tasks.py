"""Makes the tasks that a worker is sent from the jobs that it was granted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

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


class Handed(NamedTuple):
    """A task for a worker, and the order that it was made from."""

    task: ClaimedTask
    order: StartAttempt
    lease: Lease


class TokenOf(Protocol):
    """Signs the token of a lease."""

    def __call__(self, lease: Lease, *, has_secrets: bool) -> str: ...


def tasks_of(
    held: Held,
    policies: Policies,
    grants: Iterable[Grant],
    token_of: TokenOf,
    now: datetime,
    *,
    with_outputs: bool = False,
    keeps_logs: bool = False,
) -> list[Handed]:
    """The tasks of an instance's jobs that are still outstanding, in the order of the grants.

    Secrets are not filled in yet.

    `with_outputs` adds the outputs of earlier steps, or their size if they are too large.
    `keeps_logs`: reports may have lines of the attempt.
    """
    orders = {
        place: claimed(held.plan, order, policies, now)
        for place, order in _orders(held, policies).items()
    }
    tasks: list[Handed] = []
    for grant in grants:
        order = orders.get(grant.lease.key[1:])
        if order is not None:
            token = token_of(grant.lease, has_secrets=bool(order.secrets))
            task = _task(held, order, grant, token, now, keeps_logs=keeps_logs)
            tasks.append(Handed(task, order, grant.lease))
    if not with_outputs or not tasks:
        return tasks
    outputs = context_of(held).previous_outputs()
    size = len(msgspec.json.encode(outputs))
    with_them: Mapping[str, object] = (
        {"previous_outputs_bytes": size}
        if size > MOST_OUTPUT_BYTES
        else {"previous_outputs": outputs}
    )
    return [each._replace(task=replace(each.task, **with_them)) for each in tasks]


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
    facts = context_for(held, state, order, context_of(held))
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
