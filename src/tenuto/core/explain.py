"""Says why an instance is not moving, from its state and some facts about the world.

Nothing is decided here. Every instance that has not ended has a cause, and so has one that has.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.core.decide import decide
from tenuto.core.explain_steps import Steps, position, standing, usually
from tenuto.core.plan import Plan
from tenuto.core.state import Compensation, InstanceState
from tenuto.core.view import compensation_view, error_view
from tenuto.model.causes import (
    Breaker,
    Cause,
    CauseKind,
    Estimate,
    Explanation,
    Past,
    ProcessBound,
    Queued,
    RequestWait,
    TaskLimit,
)
from tenuto.model.durations import iso
from tenuto.model.failure import (
    IN_THE_DEFINITION,
    INVALID_INPUT,
    LastError,
    is_in_the_definition,
)
from tenuto.model.inputs import RetryAsked
from tenuto.model.json import JSON, Object
from tenuto.model.policy import FORESEEN, NO_POLICIES, Policies
from tenuto.model.slots import PACES
from tenuto.model.status import Status

Owner: TypeAlias = Literal["here", "elsewhere", "silent", "nobody"]
_SLOT: tuple[Past, str] = ("slot", "")
_NO_OWNER: Mapping[str, str] = {
    "silent": "the process that worked for it is silent; another one takes it over",
    "nobody": "no process works for it; the next one that does goes on with it",
}


class Quarantined(Struct, frozen=True, gc=False, kw_only=True):
    """Why no process decides on an instance."""

    reason: str
    since: datetime


class Facts(Struct, frozen=True, gc=False, kw_only=True):
    """Facts that are not in the log."""

    now: datetime
    owner: Owner = "here"
    jobs: Mapping[tuple[str, str, int], int] = {}
    """Attempts that were offered (node, iteration, attempt), each with the token of its lease; 0 if
    it was not claimed."""
    heartbeats: Mapping[tuple[str, str, int], datetime] = {}
    """The last heartbeats of attempts that send them, as far as this process knows."""
    near: Mapping[tuple[str, str, str], list[JSON]] = {}
    """By node, iteration and arm, the events that an open wait nearly took."""
    children: Mapping[str, Explanation] = {}
    """Instances that steps are, as far as they were looked at."""
    policies: Policies = NO_POLICIES
    """How tasks are tried where a step does not say."""
    quarantine: Quarantined | None = None
    breakers: Mapping[str, Breaker] = {}
    """Open breakers of push targets, by the ids of their tasks."""
    waits: Mapping[tuple[str, str, int], RequestWait] = {}
    """Attempts (node, iteration, attempt) whose requests may not be sent yet."""
    takers: Mapping[str, int] = {}
    """By task id, how many connected workers take a task that waits."""
    estimates: Mapping[tuple[Past, str], Estimate] = {}
    """By what was timed and step, how long earlier ones took; of the instance itself, without one.
    """
    meant: Mapping[str, str] = {}
    """By the id of a task that nothing takes, a known one that it may be a misspelling of."""
    queued_ticks: int = 0
    """How many later ticks of its schedule wait for its end, as far as they were counted."""
    queued: frozenset[tuple[str, str, int]] = frozenset()
    """Attempts (node, iteration, attempt) in this process that wait for a place to run in."""
    bounded: Mapping[tuple[str, str, int], ProcessBound] = {}
    """Attempts in this process that wait for a bound on its attempts."""
    limited: Mapping[str, TaskLimit] = {}
    """By the id of a task, the limit that lets no attempt of it begin now."""
    here: frozenset[tuple[str, str, int]] = frozenset()
    """Attempts that this process has in flight."""
    slot: Queued | None = None
    """Of one that waits for a slot: what for."""
    mutexes: Mapping[tuple[str, str], Queued] = {}
    """By node and iteration, what steps wait for that have no mutex yet."""


def explain(plan: Plan, state: InstanceState, facts: Facts) -> Explanation:
    """Where an instance stands and why."""
    if facts.quarantine is not None:
        # Nothing else: to look further may be what kills a process.
        causes = [_quarantined(state.id, facts.quarantine)]
    else:
        causes = _ended(plan, state, facts) if state.has_ended else _going(plan, state, facts)
    slas = () if facts.quarantine is not None else _slas(plan, state, facts)
    return Explanation(
        instance_id=state.id,
        status=state.status,
        summary=_summary(causes),
        causes=(*causes, *slas, *_schedule(state, facts)),
    )


def _summary(causes: list[Cause]) -> str:
    first, *others = causes
    place = f"{spelled(first)}: " if first.step_id else ""
    more = f"; and {len(others)} more" if others else ""
    return f"{place}{first.message}{more}"


def spelled(cause: Cause) -> str:
    """The step that a cause is about, with its iteration: `pack[2]`."""
    return f"{cause.step_id}[{cause.iteration}]" if cause.iteration else f"{cause.step_id}"


def _slas(plan: Plan, state: InstanceState, facts: Facts) -> list[Cause]:
    """The SLAs that are under way; they hold nothing up."""
    return _steps(plan, state, facts).slas() if state.sla and not state.has_ended else []


def _schedule(state: InstanceState, facts: Facts) -> list[Cause]:
    """The tick of a schedule that started it; it holds nothing up."""
    tick = state.schedule
    if tick is None:
        return []
    message = f"schedule {tick.id} started it for {iso(tick.nominal)}"
    if facts.queued_ticks == 1:
        message += "; 1 later tick waits for its end"
    elif facts.queued_ticks:
        message += f"; {facts.queued_ticks} later ticks wait for its end"
    details: Object = {"scheduleId": tick.id, "nominal": iso(tick.nominal)}
    if facts.queued_ticks:
        details["queued"] = facts.queued_ticks
    return [
        Cause(kind=CauseKind.SCHEDULE, message=message, since=state.created_at, details=details)
    ]


def _steps(plan: Plan, state: InstanceState, facts: Facts) -> Steps:
    return Steps(
        plan,
        state,
        facts.jobs,
        facts.heartbeats,
        facts.near,
        facts.children,
        facts.policies,
        facts.breakers,
        facts.waits,
        facts.takers,
        facts.estimates,
        facts.owner not in _NO_OWNER,
        facts.meant,
        facts.now,
        facts.queued,
        facts.bounded,
        facts.limited,
        facts.here,
        facts.mutexes,
    )


def _going(plan: Plan, state: InstanceState, facts: Facts) -> list[Cause]:
    steps = _steps(plan, state, facts)
    causes = steps.open()
    if causes:
        causes += steps.joins()
    if state.compensation is not None:
        causes = [_undoing(state.compensation, steps.undoing(state.compensation))]
    if facts.slot is not None and state.is_without_slot:
        # One that was woken goes before those that earlier ones tell of.
        is_new = state.status is Status.CREATED
        causes.insert(0, _queued(facts.slot, facts.estimates.get(_SLOT) if is_new else None))
    if state.pause is not None:
        causes = [_paused(state, causes)]
    elif state.ending is not None and state.compensation is None:
        causes = [_ending(state, causes)]
    if state.needs_owner and facts.owner in _NO_OWNER:
        causes.insert(0, Cause(kind=CauseKind.OWNER, message=_NO_OWNER[facts.owner]))
    if state.is_unsettled or not causes:
        message = "it goes on with the next decision"
        causes.append(Cause(kind=CauseKind.DECIDING, message=message, since=state.updated_at))
    return causes


def _queued(queued: Queued, estimate: Estimate | None) -> Cause:
    """Such as "position 3 of 9; limit tenant:acme 10 of 10, held by …; usually 40 s"."""
    if queued.is_on_hold:
        message, estimate = "it is on hold: it waits until it is released", None
    elif queued.limit.startswith(PACES):
        return _paced(queued)
    elif not queued.limit:
        message = "it waits for a slot, and is about to be looked at"
    else:
        limit = f"limit {queued.limit} {queued.held} of {queued.most}"
        if queued.why:
            limit += f" ({queued.why})"
        message = f"{position(queued, limit)}{usually(estimate)}"
    details: Object = {
        "limit": queued.limit,
        "held": queued.held,
        "max": queued.most,
        "position": queued.place,
        "of": queued.length,
        "queuePosition": queued.queue_place,
        "holders": [each.instance_id for each in queued.holders],
        "onHold": queued.is_on_hold,
    }
    return Cause(
        kind=CauseKind.SLOT,
        message=message,
        since=queued.since,
        details=details,
        estimate=estimate,
    )


def _paced(queued: Queued) -> Cause:
    """Such as "position 3 of 9; rate:acme/order/7: 10 of 10 have begun within 60 s"."""
    details: Object = {"limit": queued.limit}
    if queued.per is None:
        message = "it is debounced: it begins unless another start with its key follows"
        kind = CauseKind.TIMER
    else:
        seconds = queued.per.total_seconds()
        message = (
            f"{standing(queued)}; "
            f"{queued.limit}: {queued.held} of {queued.most} have begun within {seconds:g} s"
        )
        kind = CauseKind.RATE_LIMIT
        details |= {
            "held": queued.held,
            "max": queued.most,
            "seconds": seconds,
            "position": queued.place,
            "of": queued.length,
            "queuePosition": queued.queue_place,
        }
    return Cause(
        kind=kind, message=message, since=queued.since, until=queued.until, details=details
    )


def _quarantined(instance_id: str, quarantine: Quarantined) -> Cause:
    advice = f"Mend the cause, then release it: tenuto retry {instance_id}"
    return Cause(
        kind=CauseKind.QUARANTINED,
        message=f"it is quarantined: {quarantine.reason}",
        since=quarantine.since,
        details={"reason": quarantine.reason, "advice": advice},
    )


def _paused(state: InstanceState, causes: list[Cause]) -> Cause:
    pause = state.pause
    assert pause is not None
    why = f": {pause.reason}" if pause.reason else ""
    return Cause(
        kind=CauseKind.PAUSED,
        message=f"{pause.by} paused it{why}",
        since=pause.at,
        until=pause.until,
        details={"by": pause.by, "reason": pause.reason},
        causes=tuple(causes),
    )


def _ending(state: InstanceState, causes: list[Cause]) -> Cause:
    ending = state.ending
    assert ending is not None
    message = f"it is about to be {ending.status}: what still runs is waited for"
    details: Object = {"status": ending.status.value}
    if state.last_error is not None:
        details["error"] = error_view(state.last_error)
    if state.cancellation is not None:
        details["requestedBy"] = state.cancellation.requested_by
        details["reason"] = state.cancellation.reason
    return Cause(kind=CauseKind.ENDING, message=message, details=details, causes=tuple(causes))


def _undoing(undoing: Compensation, causes: list[Cause]) -> Cause:
    view = compensation_view(undoing)
    assert isinstance(view, dict)
    return Cause(
        kind=CauseKind.COMPENSATION,
        message=f"what it did is being undone: {undoing.position} of {len(undoing.plan)}",
        since=undoing.started_at,
        details=view,
        causes=tuple(causes),
    )


def _ended(plan: Plan, state: InstanceState, facts: Facts) -> list[Cause]:
    match state.status:
        case Status.FAILED:
            causes = [_failed(plan, state, facts)]
        case Status.CANCELLED:
            causes = [_cancelled(state)]
        case _:
            causes = [
                Cause(
                    kind=CauseKind.COMPLETED, message="it has completed", since=state.completed_at
                )
            ]
    undoing = state.compensation
    if undoing is not None and undoing.failed:
        causes.append(_not_undone(undoing))
    return causes


def _failed(plan: Plan, state: InstanceState, facts: Facts) -> Cause:
    error = state.last_error
    asked = RetryAsked(by="explain")
    policies = FORESEEN if facts.policies is NO_POLICIES else facts.policies
    can_retry = decide(plan, state, asked, facts.now, policies).rejection is None
    details: Object = {"canRetry": can_retry, "advice": _advice(error, can_retry=can_retry)}
    if error is not None:
        details["error"] = error_view(error)
    return Cause(
        kind=CauseKind.FAILED,
        message=f"it has failed: {_said(error)}",
        step_id=None if error is None else error.step_id,
        iteration="" if error is None else error.iteration,
        since=state.completed_at,
        details=details,
    )


def _advice(error: LastError | None, *, can_retry: bool) -> str:
    if error is not None and error.code == INVALID_INPUT:
        return (
            "A retry gives the step the same input: correct the definition, deploy it, then rerun "
            "the instance with the new version; or retry the dead letter of the step with another "
            "input. Where the types of the task are wrong, correct them, then retry."
        )
    if error is not None and error.code in IN_THE_DEFINITION:
        return (
            "The cause is in the definition, and a retry uses the same version: "
            "correct the definition, deploy it, then rerun the instance with the new version."
        )
    if error is not None and is_in_the_definition(error.code, error.details):
        return (
            "The cause is in the definition of a child, and a retry uses the same version of it: "
            "correct that definition, deploy it, then rerun the instance."
        )
    if can_retry:
        return "Mend what it failed for, then retry it."
    return "It cannot be retried as it is; a rerun makes a new instance of it."


def _said(error: LastError | None) -> str:
    return "nothing is known of why" if error is None else f"{error.code}: {error.message}"


def _cancelled(state: InstanceState) -> Cause:
    asked = state.cancellation
    message, details = "it was cancelled", dict[str, JSON]()
    if asked is not None:
        why = f": {asked.reason}" if asked.reason else ""
        message = f"{asked.requested_by} cancelled it{why}"
        details = {
            "requestedBy": asked.requested_by,
            "requestedAt": iso(asked.requested_at),
            "reason": asked.reason,
            "source": asked.source,
        }
        if asked.event_id is not None:
            details["eventId"] = asked.event_id
    return Cause(
        kind=CauseKind.CANCELLED, message=message, since=state.completed_at, details=details
    )


def _not_undone(undoing: Compensation) -> Cause:
    failed = [
        Cause(
            kind=CauseKind.FAILED,
            message=f"it was given up: {_said(undoing.failed[place])}",
            step_id=undoing.plan[place].step_id,
            iteration=undoing.plan[place].iteration,
            since=undoing.failed[place].at,
            details={"error": error_view(undoing.failed[place])},
        )
        for place in sorted(undoing.failed)
    ]
    return Cause(
        kind=CauseKind.COMPENSATION,
        message=f"{len(failed)} of {len(undoing.plan)} could not be undone",
        since=undoing.completed_at,
        details={"advice": "Mend what they failed for, then retry the compensation."},
        causes=tuple(failed),
    )
