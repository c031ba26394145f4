"""(plan, state, input, now, policies) → new entries and effects. The only entry point of the core.

Everything that can happen to an instance arrives here as one value of one union. An input that does
not fit is answered with a rejection, and then the instance does not change.
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from tenuto.core import (
    approval,
    attempt,
    child,
    commands,
    compensation,
    delay,
    more,
    mutex,
    refused,
    retry,
    sla,
    slots,
    time_out,
    timer,
    wait,
)
from tenuto.core.deciding import GO_ON, NO_SUCH_INSTANCE, STALE, Deciding, Decision, Rejection
from tenuto.core.flow import settle
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.core.watching import all_watching
from tenuto.model.inputs import (
    Admitted,
    AttemptLost,
    CancelAsked,
    ChildReported,
    ChildResolved,
    ChildUndone,
    CompensationRetryAsked,
    DecisionAsked,
    EventMatched,
    Input,
    InputRefused,
    Occurrence,
    PauseAsked,
    ResumeAsked,
    RetryAsked,
    SkipDelayAsked,
    Started,
    TaskFailed,
    TaskSucceeded,
    TimeOutAsked,
    TimerDue,
    TimerKind,
    TriggerMatched,
    UndoAsked,
)
from tenuto.model.policy import Policies


def decide(
    plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
) -> Decision:
    """What follows from `input`; it depends on these arguments and on nothing else."""
    if isinstance(input, InputRefused):
        return refused.decided(plan, state, input, now, policies)
    if state.version == 0 and not isinstance(input, Started):
        nothing = Rejection(code=NO_SUCH_INSTANCE, message=f"there is no instance {state.id}")
        return Decision(state=state, rejection=nothing)
    goes_on = isinstance(input, TimerDue) and input.key == GO_ON
    d = Deciding(plan, state, now, policies, goes_on=goes_on)
    was_paused = state.pause is not None
    has_overrun = state.deadline is not None and timer.has_overrun(d)
    if state.sla and not state.status.is_final:
        sla.notice(d, input, ends_all=has_overrun)
    if has_overrun and not _ends_it(input):
        # A deadline passes by the clock, also when its timer has not been heard of yet.
        timer.pass_deadline(d)
        settle(d)
    ordered = len(d.effects)
    rejection = _take(d, input)
    if rejection is not None:
        if rejection.code == STALE and d.entries and isinstance(input, TimerDue):
            # The deadline, which was due as well, has taken the timer along: were it refused, its
            # row would come due again for ever, and might keep others from being seen.
            return d.done()
        effects = tuple(d.effects[ordered:])
        return Decision(state=state, effects=effects, rejection=rejection, steps=d.taken)
    if not d.entries and not goes_on:
        return d.done()
    if plan.watching and (was_paused or isinstance(input, RetryAsked)):
        # What has changed while it was paused, or ending, was not read then.
        d.to_read |= all_watching(plan, d.state)
    if was_paused and d.state.pause is None and d.state.ending is None:
        timer.resumed(d)
    if policies.slots is not None and d.state.pause is None and slots.joins(d, state):
        slots.join(d)
    settle(d)
    return d.done()


def _ends_it(input: Input) -> bool:
    return isinstance(input, CancelAsked) or (
        isinstance(input, TimerDue) and input.key.kind is TimerKind.DEADLINE
    )


def _take(d: Deciding, input: Occurrence) -> Rejection | None:  # noqa: C901 - one arm each
    if d.state.compensation is not None and compensation.is_report(input, d.plan):
        return compensation.reported(d, input)
    match input:
        case TaskSucceeded():
            return attempt.succeeded(d, input)
        case TaskFailed():
            return attempt.failed(d, input)
        case Started():
            return commands.start(d, input)
        case TimerDue():
            return timer.due(d, input)
        case EventMatched() if input.node in d.plan.hearing:
            return more.matched(d, input)
        case EventMatched():
            return wait.matched(d, input)
        case TriggerMatched():
            return commands.cancel_by_event(d, input)
        case ChildReported():
            return child.reported(d, input)
        case UndoAsked():
            return compensation.undo_asked(d, input)
        case ChildUndone():
            return compensation.child_undone(d, input)
        case ChildResolved():
            return child.resolved(d, input)
        case AttemptLost():
            return attempt.lost(d, input)
        case DecisionAsked():
            return approval.decided(d, input)
        case CancelAsked():
            return commands.cancel(d, input)
        case PauseAsked():
            return commands.pause(d, input)
        case ResumeAsked():
            return commands.resume(d, input)
        case SkipDelayAsked():
            return delay.skip(d, input)
        case TimeOutAsked():
            return time_out.asked_for(d, input)
        case RetryAsked():
            return retry.retry(d, input)
        case CompensationRetryAsked():
            return compensation.retry_asked(d, input)
        case Admitted(node=""):
            return slots.admitted(d, input)
        case Admitted():
            return mutex.granted(d, input)
        case _:
            assert_never(input)
