"""What people and the clock ask of an instance as a whole: start, pause, resume, cancel."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET

from tenuto.core import compensation, slots
from tenuto.core.cancel_trigger import holds, listens
from tenuto.core.deciding import DOES_NOT_HOLD, NOT_THIS_STATUS, STALE, Deciding, Rejection
from tenuto.core.moments import Moments, UnknownCalendar
from tenuto.core.parent import never_began
from tenuto.core.rerun import take_over
from tenuto.core.scope import scope_of
from tenuto.core.sla import set_by
from tenuto.core.sla_entries import INSTANCE
from tenuto.expr import ExpressionError
from tenuto.model.durations import parse_moment, to_milliseconds
from tenuto.model.effects import CloseWait
from tenuto.model.entries import (
    CancelRequested,
    InputSet,
    PauseRequested,
    ResumeRequested,
    ScheduledBy,
    SlaSet,
    StatusChanged,
)
from tenuto.model.inputs import CancelAsked, PauseAsked, ResumeAsked, Started, TriggerMatched
from tenuto.model.slots import SlotRequest
from tenuto.model.status import Status

NO_CALENDAR = "TEN-2102"
ALREADY_STARTED = Rejection(
    code=NOT_THIS_STATUS, message="there is an instance with this id already"
)


def start(d: Deciding, asked: Started) -> Rejection | None:
    """Accept a new instance."""
    if d.state.version:
        return ALREADY_STARTED
    moments = Moments(d)
    begun = _beginning(d, asked, moments)
    if isinstance(begun, Rejection):
        if asked.parent is not None:
            d.order(never_began(d.state.id, asked.parent, begun, d.now))
        return begun
    deadline, sla, slot = begun
    d.emit(
        InputSet(
            at=d.now,
            input=asked.input,
            definition_id=asked.definition_id,
            definition_version=asked.definition_version,
            correlation_id=asked.correlation_id,
            priority=asked.priority,
            deadline=deadline,
            rerun_of=asked.rerun_of,
            parent=asked.parent,
            event_id=None if asked.cause is None else asked.cause.event_id,
            chain=asked.chain,
            origin=None if asked.origin is UNSET else asked.origin,
            traceparent=None if asked.traceparent is UNSET else asked.traceparent,
            calendars=moments.calendars,
            schedule=_scheduled_by(asked),
        )
    )
    if slot is None:
        d.emit(StatusChanged(at=d.now, from_=Status.CREATED, to=Status.RUNNING))
    if sla is not None:
        d.emit(sla)
    misfit = take_over(d, asked)
    if slot is not None and misfit is None:
        slots.begin(d, slot)
    if misfit is not None:
        # The instance will not exist: it must leave no timer.
        d.effects.clear()
    return misfit


def _scheduled_by(asked: Started) -> ScheduledBy | None:
    cause = asked.schedule
    if cause is UNSET:
        return None
    return ScheduledBy(id=cause.id, nominal=cause.nominal, mark=cause.mark)


def _beginning(
    d: Deciding, asked: Started, moments: Moments
) -> tuple[datetime | None, SlaSet | None, SlotRequest | None] | Rejection:
    """The deadline, the SLA and the slot of an instance that begins now."""
    slot = slots.wanted(d.plan, d.policies, asked, d)
    if isinstance(slot, Rejection):
        return slot
    try:
        sla = set_by(d, INSTANCE, d.plan.definition.options.sla)
        deadline = _deadline(d, asked, moments, is_queued=slots.waits(d, slot))
        return deadline, sla, slot
    except UnknownCalendar as error:
        return Rejection(code=NO_CALENDAR, message=f"options: {error}")
    except (ExpressionError, ValueError) as error:
        return Rejection(code="TEN-2101", message=f"options.deadline: {error}")


def pause(d: Deciding, asked: PauseAsked) -> Rejection | None:
    """Dispatch nothing new until resumed."""
    refused = _refuse(d, "pause", {Status.RUNNING, Status.WAITING_FOR_EVENT})
    if refused is None:
        until = None if asked.until is None else to_milliseconds(asked.until)
        d.emit(PauseRequested(at=d.now, by=asked.by, reason=asked.reason, until=until))
    return refused


def resume(d: Deciding, asked: ResumeAsked) -> Rejection | None:
    """Go on."""
    refused = _refuse(d, "resume", {Status.PAUSED})
    if refused is None:
        d.emit(ResumeRequested(at=d.now, by=asked.by))
    return refused


def cancel(d: Deciding, asked: CancelAsked) -> Rejection | None:
    """End the instance; asking again changes nothing and is no mistake."""
    if d.state.cancellation is not None:
        return None
    if d.state.status.is_final:
        by_parent = asked.source == "PARENT" and asked.should_compensate
        if by_parent and compensation.undone_too_late(d):
            return None
        return Rejection(
            code=NOT_THIS_STATUS, message=f"a {d.state.status} instance cannot be cancelled"
        )
    ending = d.state.ending
    if ending is not None and ending.status is not Status.COMPLETED and d.state.pause is None:
        return None
    d.emit(
        CancelRequested(
            at=d.now,
            reason=asked.reason,
            by=asked.by,
            source=asked.source,
            should_compensate=asked.should_compensate,
            event_id=asked.event_id,
        )
    )
    return None


def cancel_by_event(d: Deciding, report: TriggerMatched) -> Rejection | None:
    """An event fits a cancellation trigger: its condition is read as the context stands now."""
    if not listens(d.plan, d.state):
        return Rejection(code=STALE, message="its end has begun: no event cancels it any more")
    triggers = d.plan.definition.cancellation_triggers
    number = report.trigger
    if number >= len(triggers) or not holds(d.plan, d.state, number, report.event, d):
        message = f"the condition of cancellationTriggers[{report.trigger}] does not hold"
        return Rejection(code=DOES_NOT_HOLD, message=message)
    trigger = triggers[report.trigger]
    place = {"node": "", "iteration": "", "arm": str(report.trigger)}
    d.order(CloseWait(**place, event_id=report.event.id))
    asked = CancelAsked(
        by="system",
        reason=trigger.reason,
        source="EVENT",
        should_compensate=trigger.should_compensate,
        event_id=report.event.id,
    )
    return cancel(d, asked)


def _refuse(d: Deciding, verb: str, allowed: set[Status]) -> Rejection | None:
    if d.state.status not in allowed:
        return Rejection(
            code=NOT_THIS_STATUS, message=f"cannot {verb} an instance that is {d.state.status}"
        )
    if d.state.ending is not None and d.state.pause is None:
        return Rejection(code=NOT_THIS_STATUS, message=f"cannot {verb} an instance that is ending")
    return None


def _deadline(d: Deciding, asked: Started, due: Moments, *, is_queued: bool) -> datetime | None:
    """The earliest of what the start asks for and what the definition's options say.

    Where it waits for a slot, `options.timeout` counts from when it has that.
    """
    options = d.plan.definition.options
    moments = [to_milliseconds(asked.deadline)] if asked.deadline is not None else []
    if options.timeout is not None and not is_queued:
        moments.append(due.after(options.timeout))
    if options.deadline is not None:
        state = d.state
        template = d.plan.template("", "deadline", options.deadline)
        # Only the input exists yet; a deadline cannot depend on anything else.
        scope = scope_of(d.plan, state, steps=d)
        scope |= {"ctx": {"input": asked.input}, "workflow": {"input": asked.input}}
        moments.append(parse_moment(template.render(scope)))
    return min(moments, default=None)
