"""What an attempt that was ordered earlier begins to run with."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from tenuto.calendars import add
from tenuto.core.moments import LONGEST_ATTEMPT
from tenuto.core.plan import Plan
from tenuto.model.durations import Duration
from tenuto.model.effects import StartAttempt
from tenuto.model.policy import Policies
from tenuto.model.working_time import BusinessDuration


def claimed(plan: Plan, order: StartAttempt, policies: Policies, now: datetime) -> StartAttempt:
    """The order of an attempt that begins to run now: a `timeout` in working time counts from now.

    If its calendar was deleted since, the length that was recorded with the order counts.
    """
    patience = _patience(plan, order, policies)
    if not isinstance(patience, BusinessDuration):
        return order
    calendar = policies.calendars.get(patience.calendar)
    if calendar is None:
        return order
    until = min(add(calendar, now, patience.duration), Duration(LONGEST_ATTEMPT).after(now))
    return replace(order, timeout=until - now)


def _patience(
    plan: Plan, order: StartAttempt, policies: Policies
) -> timedelta | BusinessDuration | None:
    policy = policies.policy(order.task_id)
    if (step := plan.undo_steps.get(order.node)) is not None:
        return plan.undo_patience(step, policy)[0]
    work = plan.nodes[order.node].work
    return None if work is None or work.built_in else plan.patience_with(work, policy)[0]
