"""The life of a compensation: planned, then each in its turn tried, tried again, done or given up.

It begins once nothing of the instance is open any more. Its attempts are reported as those of tasks
are, under the compensation step's id. One that is given up is kept for people, and the next one has
its turn.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeGuard

from msgspec import UNSET, UnsetType

from tenuto.core.attempt import retry_at, timeout_of
from tenuto.core.deciding import CANNOT_GO_ON, NOT_THIS_STATUS, STALE, Deciding, Rejection
from tenuto.core.moments import Moments, UnknownCalendar, unknown_calendar
from tenuto.core.outcome import expression_failure
from tenuto.core.plan import Plan
from tenuto.core.state import Compensation, InstanceState
from tenuto.core.task_input import GivenInput
from tenuto.core.undo_plan import has_undo, is_wanted, own_input, plan_undo, undo_given
from tenuto.expr import ExpressionError
from tenuto.model.effects import (
    DropDeadLetters,
    KeepDeadLetter,
    SendMail,
    StartAttempt,
    StopAttempt,
)
from tenuto.model.entries import (
    CompensationCompleted,
    CompensationDispatched,
    CompensationEnded,
    CompensationFailed,
    CompensationPlanned,
    PlannedUndo,
    RetryScheduled,
)
from tenuto.model.failure import (
    CHILD_NOT_UNDONE,
    LOST,
    POISON,
    STOPPED,
    UNKNOWN_HANDLE,
    Failure,
)
from tenuto.model.family import Parent
from tenuto.model.graph import DEFAULT
from tenuto.model.ids import NodeKey, idempotency_key
from tenuto.model.inputs import (
    AttemptLost,
    ChildUndone,
    CompensationRetryAsked,
    Input,
    TaskFailed,
    TaskSucceeded,
    UndoAsked,
)
from tenuto.model.json import JSON
from tenuto.model.policy import LOSSES_UNTIL_POISON, NO_POLICY, TaskPolicy
from tenuto.model.secret_place import SecretPlace
from tenuto.model.status import NodeStatus, Status

Report = TaskSucceeded | TaskFailed | AttemptLost


def is_due(d: Deciding) -> bool:
    """Whether the end that an instance is on its way to has something to undo, or has had."""
    state = d.state
    if state.compensation is not None:
        return True
    return is_wanted(d.plan, state) and has_undo(d.plan, state)


def undo_asked(d: Deciding, asked: UndoAsked) -> Rejection | None:
    """A parent wants this child undone, after its end; or once more what of that was given up."""
    state, undoing = d.state, d.state.compensation
    if state.status is not Status.COMPLETED or state.parent is None:
        return Rejection(code=STALE, message=f"a {state.status} instance has nothing to undo")
    if undoing is None:
        if has_undo(d.plan, state):
            plan(d, asked=asked.attempt)
        else:
            _tell_parent(d, "COMPLETED")
    elif undoing.is_under_way:
        pass  # its end is what the parent hears
    elif undoing.failed and asked.attempt > max(undoing.asked, 1):
        again = tuple(undoing.plan[place] for place in sorted(undoing.failed))
        d.emit(CompensationPlanned(at=d.now, plan=again, asked=asked.attempt))
    else:
        _tell_parent(d, undoing.outcome)
    return None


def never_undone(state: InstanceState, now: datetime) -> SendMail | None:
    """What tells a parent that its child cannot even be asked to undo itself."""
    if state.parent is None:
        return None
    return _answer(state, state.parent, "COMPLETED_WITH_ERRORS", now)


def retry_asked(d: Deciding, asked: CompensationRetryAsked) -> Rejection | None:
    """Try one again that was given up; the status of the instance stays what it is."""
    undoing = d.state.compensation
    if undoing is None or undoing.is_under_way:
        message = f"nothing of {d.state.id} that was given up can be undone again now"
        return Rejection(code=NOT_THIS_STATUS, message=message)
    wanted = NodeKey(asked.step_id, asked.iteration)
    for place, error in undoing.failed.items():
        item = undoing.plan[place]
        if item.key != wanted:
            continue
        if asked.input is UNSET:
            _begin(d, item, error.attempt + 1)
        elif item.is_child:
            message = f"{asked.step_id} undoes itself: it has no input that could be edited"
            return Rejection(code=CANNOT_GO_ON, message=message)
        else:
            d.order(DropDeadLetters(node=item.step_id, iteration=item.iteration))
            d.emit(_dispatched(d, item, error.attempt + 1, asked.input, _secrets_of(d, item)))
            d.order(start_attempt(d))
        return None
    message = f"there is no compensation {asked.step_id} that was given up"
    return Rejection(code=CANNOT_GO_ON, message=message)


def undone_too_late(d: Deciding) -> bool:
    """A parent cancels a child that has completed in the meantime: the child is undone."""
    state = d.state
    if state.status is not Status.COMPLETED or state.compensation is not None:
        return False
    if not has_undo(d.plan, state):
        return False
    plan(d)
    return True


def plan(d: Deciding, *, asked: int = 0) -> None:
    """Record the undo plan."""
    found = plan_undo(d.plan, d.state, d)
    d.emit(CompensationPlanned(at=d.now, plan=found.plan, skipped=found.skipped, asked=asked))


def advance(d: Deciding) -> bool:
    """Continue the undo; False: all items have had their turn."""
    while (undoing := _of(d)).is_idle:
        if undoing.position == len(undoing.plan) and not undoing.again:
            _end(d, undoing)
        elif not d.has_room:
            break
        elif undoing.again:
            place = undoing.again[0]
            _begin(d, undoing.plan[place], undoing.failed[place].attempt + 1)
        else:
            _begin(d, undoing.plan[undoing.position], 1)
    return undoing.is_under_way


def is_report(input: Input, plan: Plan) -> TypeGuard[Report]:
    """Whether an input is a report about a compensation: no step has such an id."""
    return isinstance(input, Report) and input.node in plan.undo_steps


def reported(d: Deciding, report: Report) -> Rejection | None:
    """An attempt of a compensation has ended, or is gone with its process."""
    item = _running(d, report)
    if item is None:
        message = f"attempt {report.attempt} of {report.node} is not the one running"
        return Rejection(code=STALE, message=message)
    match report:
        case TaskSucceeded():
            _succeeded(d, item, report)
        case TaskFailed():
            _tried_in_vain(d, item, report)
        case AttemptLost():
            _lost(d, item, report)
    return None


def child_undone(d: Deciding, report: ChildUndone) -> Rejection | None:
    """A child has undone itself, or what of it could be."""
    undoing = d.state.compensation
    work = None if undoing is None else undoing.work
    if undoing is not None and not undoing.is_under_way and report.status == "COMPLETED":
        return _undone_after_all(d, undoing, report)
    if undoing is None or work is None or work.child_id != report.child_id:
        message = f"{report.node} does not wait for {report.child_id}"
        return Rejection(code=STALE, message=message)
    assert undoing.current is not None
    item = undoing.plan[undoing.current]
    if report.status == "COMPLETED":
        _complete(d, item, work.attempt, None)
        return None
    failure = Failure(
        code=CHILD_NOT_UNDONE,
        message=f"not everything in {report.child_id} could be undone",
        details={"childId": report.child_id},
        retryable=False,
    )
    _give_up(d, item, work.attempt, failure)
    return None


def _undone_after_all(d: Deciding, undoing: Compensation, report: ChildUndone) -> Rejection | None:
    """A child whose undo was given up here was retried and succeeded: record it here too."""
    for place, error in undoing.failed.items():
        item = undoing.plan[place]
        if item.is_child and d.state.nodes[item.undone].child_id == report.child_id:
            d.order(DropDeadLetters(node=item.step_id, iteration=item.iteration))
            d.emit(_dispatched(d, item, error.attempt + 1))
            _complete(d, item, error.attempt + 1, None)
            return None
    message = f"{report.child_id} is not among what was given up"
    return Rejection(code=STALE, message=message)


def retry_due(d: Deciding) -> None:
    """A back-off is over."""
    undoing = _of(d)
    assert undoing.current is not None
    assert undoing.work is not None
    _again(d, undoing.plan[undoing.current], undoing.work.attempt + 1)


def start_attempt(d: Deciding) -> StartAttempt:
    """The order that runs the attempt that is under way."""
    undoing = _of(d)
    assert undoing.current is not None
    work = undoing.work
    assert work is not None
    item = undoing.plan[undoing.current]
    given = (
        undo_given(d.plan, d.state, item, d)
        if work.input is UNSET
        else GivenInput(work.input, work.secrets)
    )
    return _start(d, item, work.attempt, given)


def break_off(d: Deciding, failure: Failure) -> None:
    """The instance cannot be decided on any more: the rest of the undo is left to operators."""
    undoing = _of(d)
    if not undoing.is_under_way:
        return
    if undoing.is_in_flight and undoing.current is not None and undoing.work is not None:
        item = undoing.plan[undoing.current]
        d.order(
            StopAttempt(
                node=item.step_id,
                iteration=item.iteration,
                attempt=undoing.work.attempt,
                grace=d.plan.cancel_grace,
            )
        )
    while (place := _place_left(undoing)) is not None:
        work = undoing.work
        # Of a back-off it is the attempt that will not be that is given up.
        attempt = 1 if work is None else work.attempt + (work.status is NodeStatus.RETRYING)
        _give_up(d, undoing.plan[place], attempt, failure)
        undoing = _of(d)
    _end(d, undoing)


def _place_left(undoing: Compensation) -> int | None:
    if undoing.current is not None:
        return undoing.current
    return undoing.position if undoing.position < len(undoing.plan) else None


def _end(d: Deciding, undoing: Compensation) -> None:
    status = undoing.outcome
    d.emit(CompensationEnded(at=d.now, status=status))
    if d.state.status is Status.COMPLETED and d.state.parent is not None:
        _tell_parent(d, status)


def _begin(d: Deciding, item: PlannedUndo, attempt: int) -> None:
    """Order the first attempt, or the first since it was given up."""
    if attempt > 1:
        # Should it be given up once more, that is kept in its place.
        d.order(DropDeadLetters(node=item.step_id, iteration=item.iteration))
    if item.is_child:
        d.emit(_dispatched(d, item, attempt))
        _ask_child(d, item, attempt)
        return
    try:
        given = undo_given(d.plan, d.state, item, d)
    except ExpressionError as error:
        _give_up(d, item, attempt, expression_failure(error))
        return
    step = d.plan.undo_steps[item.step_id]
    # An input with secrets is checked where they are filled in.
    check = None if given.secrets else _policy(d, item).check_input
    if (misfit := d.misfit(check, given.value)) is not None:
        _give_up(d, item, attempt, misfit)
        return
    try:
        Moments(d).timeout_at(step.timeout)
    except UnknownCalendar as error:
        _give_up(d, item, attempt, unknown_calendar(error))
        return
    kept = given.value if step.has_input else UNSET
    d.emit(_dispatched(d, item, attempt, kept, given.secrets))
    d.order(_start(d, item, attempt, given))


def _again(d: Deciding, item: PlannedUndo, attempt: int) -> None:
    """Order a further attempt, with the input that the first one had."""
    d.emit(_dispatched(d, item, attempt))
    d.order(start_attempt(d))


def _succeeded(d: Deciding, item: PlannedUndo, report: TaskSucceeded) -> None:
    if report.handle == DEFAULT:
        check = _policy(d, item).check_output
        if (misfit := d.misfit(check, report.output)) is not None:
            _give_up(d, item, report.attempt, misfit, report.worker)
        else:
            _complete(d, item, report.attempt, report.output, report.worker)
        return
    message = f"the task answered with handle {report.handle!r}; a compensation step has none"
    failure = Failure(code=UNKNOWN_HANDLE, message=message, retryable=False)
    _give_up(d, item, report.attempt, failure, report.worker)


def _tried_in_vain(d: Deciding, item: PlannedUndo, report: TaskFailed) -> None:
    """Try again later, as the policy allows, or give up."""
    attempt, failure = report.attempt, report.error
    work = _of(d).work
    assert work is not None
    policy = d.plan.undo_retry(item.step_id, d.policies)
    failures = work.failures + 1
    if (
        not failure.retryable
        or failure.code in policy.non_retryable
        or failures >= policy.max_attempts
    ):
        _give_up(d, item, attempt, failure, report.worker)
        return
    moments = Moments(d)
    try:
        due = retry_at(moments, d, policy, idempotency_key(d.state.id, item.key), failures)
    except UnknownCalendar as error:
        details: JSON = {"error": {"code": failure.code, "message": failure.message}}
        _give_up(d, item, attempt, unknown_calendar(error, details), report.worker)
        return
    _note(d, item, attempt, failure, worker=report.worker)
    d.emit(
        RetryScheduled(
            at=d.now,
            node=item.step_id,
            iteration=item.iteration,
            attempt=attempt + 1,
            due=due,
            calendars=moments.calendars,
        )
    )


def _lost(d: Deciding, item: PlannedUndo, report: AttemptLost) -> None:
    """An attempt is gone with its process; a clean stop does not count as a failure."""
    work = _of(d).work
    assert work is not None
    if report.clean:
        failure = Failure(code=STOPPED, message="its process stopped before it ended")
    else:
        failure = Failure(code=LOST, message="its process was lost before it ended")
        if d.plan.undo_retry(item.step_id, d.policies).on_lost == "fail":
            _give_up(d, item, report.attempt, failure)
            return
        if work.losses + 1 >= LOSSES_UNTIL_POISON:
            message = f"lost with its process {LOSSES_UNTIL_POISON} times in a row"
            poison = Failure(code=POISON, message=message, retryable=False)
            _give_up(d, item, report.attempt, poison)
            return
    _note(d, item, report.attempt, failure, counts=False)
    _again(d, item, report.attempt + 1)


def _complete(
    d: Deciding, item: PlannedUndo, attempt: int, output: JSON, worker: str | None = None
) -> None:
    d.emit(
        CompensationCompleted(
            at=d.now,
            node=item.step_id,
            iteration=item.iteration,
            attempt=attempt,
            output=output,
            worker=worker,
        )
    )


def _give_up(
    d: Deciding, item: PlannedUndo, attempt: int, failure: Failure, worker: str | None = None
) -> None:
    """Record that one could not be done, and keep it for people."""
    step = d.plan.undo_steps.get(item.step_id)
    d.order(
        KeepDeadLetter(
            kind="compensation-failed",
            node=item.step_id,
            iteration=item.iteration,
            attempt=attempt,
            task_id=None if step is None else step.task_id,
            input=_given(d, item),
            error=failure,
        )
    )
    _note(d, item, attempt, failure, then="fail", worker=worker)


def _given(d: Deciding, item: PlannedUndo) -> JSON:
    """What its task was given, as far as it is about this one; None where it never got so far."""
    work = _of(d).work
    if work is None or item.is_child:
        return None
    return own_input(d.state, item) if work.input is UNSET else work.input


def _note(
    d: Deciding,
    item: PlannedUndo,
    attempt: int,
    failure: Failure,
    *,
    then: Literal["retry", "fail"] = "retry",
    counts: bool = True,
    worker: str | None = None,
) -> None:
    d.emit(
        CompensationFailed(
            at=d.now,
            node=item.step_id,
            iteration=item.iteration,
            attempt=attempt,
            error=failure,
            then=then,
            counts=counts,
            worker=worker,
        )
    )


def _dispatched(
    d: Deciding,
    item: PlannedUndo,
    attempt: int,
    input: JSON | UnsetType = UNSET,
    secrets: tuple[SecretPlace, ...] = (),
) -> CompensationDispatched:
    moments = Moments(d)
    timeout = None if item.is_child else d.plan.undo_steps[item.step_id].timeout
    try:
        timeout_at = moments.timeout_at(timeout)
    except UnknownCalendar:
        timeout_at = None  # a calendar that is gone is noticed when a compensation is begun
    return CompensationDispatched(
        at=d.now,
        node=item.step_id,
        iteration=item.iteration,
        attempt=attempt,
        input=input,
        policy=_policy(d, item).version,
        timeout_at=timeout_at,
        calendars=moments.calendars,
        secrets=secrets,
    )


def _policy(d: Deciding, item: PlannedUndo) -> TaskPolicy:
    if item.is_child:
        return NO_POLICY
    return d.policies.policy(d.plan.undo_steps[item.step_id].task_id)


def _secrets_of(d: Deciding, item: PlannedUndo) -> tuple[SecretPlace, ...]:
    """The places of secrets that an edited input keeps where it still has their names."""
    try:
        return undo_given(d.plan, d.state, item, d).secrets
    except ExpressionError:
        return ()


def _start(d: Deciding, item: PlannedUndo, attempt: int, given: GivenInput) -> StartAttempt:
    step, work = d.plan.undo_steps[item.step_id], _of(d).work
    assert work is not None
    patience, heartbeat_timeout = d.plan.undo_patience(step, _policy(d, item))
    return StartAttempt(
        node=item.step_id,
        iteration=item.iteration,
        attempt=attempt,
        task_id=step.task_id,
        input=given.value,
        idempotency_key=idempotency_key(d.state.id, item.key),
        timeout=timeout_of(d, work, patience),
        heartbeat_timeout=heartbeat_timeout,
        handles=(),
        secrets=given.secrets,
    )


def _ask_child(d: Deciding, item: PlannedUndo, attempt: int) -> None:
    child = d.state.nodes[item.undone].child_id
    assert child is not None
    asked = UndoAsked(by=d.state.id, attempt=attempt)
    d.order(SendMail(to=child, id=f"{child}/undo/{attempt}", at=d.now, input=asked))


def _tell_parent(d: Deciding, status: Literal["COMPLETED", "COMPLETED_WITH_ERRORS"]) -> None:
    assert d.state.parent is not None
    d.order(_answer(d.state, d.state.parent, status, d.now))


def _answer(
    state: InstanceState,
    parent: Parent,
    status: Literal["COMPLETED", "COMPLETED_WITH_ERRORS"],
    now: datetime,
) -> SendMail:
    report = ChildUndone(
        node=parent.node, iteration=parent.iteration, child_id=state.id, status=status
    )
    # A parent may ask again, and then nothing new is written here.
    id = f"{state.id}/undone/{state.version}"
    return SendMail(to=parent.id, id=id, at=now, input=report)


def _running(d: Deciding, report: Report) -> PlannedUndo | None:
    undoing = _of(d)
    if undoing.current is None or undoing.work is None or not undoing.is_in_flight:
        return None
    is_it = undoing.place == (report.node, report.iteration, report.attempt)
    return undoing.plan[undoing.current] if is_it else None


def _of(d: Deciding) -> Compensation:
    assert d.state.compensation is not None
    return d.state.compensation
