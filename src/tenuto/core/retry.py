"""Retry by hand: a failed instance goes on where it failed."""

from __future__ import annotations

from tenuto.core import loop, more, slots
from tenuto.core.cancelling import cancel_nodes, cancelled
from tenuto.core.deciding import CANNOT_GO_ON, NOT_THIS_STATUS, Deciding, Rejection
from tenuto.core.moments import Moments, UnknownCalendar
from tenuto.core.reopening import held_back_by_end, left_open, reopened_by_retry
from tenuto.core.task_input import GivenInput, known_input
from tenuto.model.durations import iso
from tenuto.model.edited import EditedInput
from tenuto.model.effects import DropDeadLetters
from tenuto.model.entries import NodeMoment, RetryRequested, StatusChanged
from tenuto.model.graph import Executed, Http, Loop
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import RetryAsked
from tenuto.model.json import JSON
from tenuto.model.secret_place import origin_of
from tenuto.model.status import NodeStatus, Status
from tenuto.model.working_time import BusinessDuration


def retry(d: Deciding, asked: RetryAsked) -> Rejection | None:
    """Re-open what failed unhandled and what the failure withdrew; what completed stays."""
    refused = _refuse(d)
    if refused is not None:
        return refused
    reopened = [key for key, _ in reopened_by_retry(d.plan, d.state)]
    refused = _refuse_edit(d, asked.edited, reopened)
    if refused is not None:
        return refused
    held_back = held_back_by_end(d.state)
    to_cancel = left_open(d.plan, d.state)
    loops = [key for key in reopened if key in d.state.loops]
    moments = Moments(d)
    try:
        fail_at = _overruns(d, loops, moments)
    except UnknownCalendar as error:
        return Rejection(code=CANNOT_GO_ON, message=f"it cannot be retried: {error}")
    _drop_dead_letters(d)
    d.emit(
        RetryRequested(
            at=d.now,
            by=asked.by,
            edited=asked.edited,
            fail_at=fail_at,
            calendars=moments.calendars,
        )
    )
    d.emit(StatusChanged(at=d.now, from_=Status.FAILED, to=Status.RUNNING))
    slots.retried(d)
    for key in to_cancel:
        cancelled(d, key, d.state.nodes[key].attempt)
    for key in held_back:
        names = d.plan[key.node].node.cancels
        cancel_nodes(d, (d.plan.seen_from(key, name) for name in names))
    for key in loops:
        config = d.plan[key.node].node.config
        if isinstance(config, Loop) and config.more is not None and d.state.nodes[key].is_open:
            more.listen(d, key, config.more)
        loop.resume(d, key)
    return None


def _overruns(d: Deciding, loops: list[NodeKey], moments: Moments) -> tuple[NodeMoment, ...]:
    """When loops that go on have taken too long, where that is counted in working time."""
    found: list[NodeMoment] = []
    for key in loops:
        if isinstance(d.plan[key.node].node.timeout, BusinessDuration):
            at = moments.overrun(key)
            assert at is not None
            found.append(NodeMoment(node=key.node, iteration=key.iteration, at=at))
    return tuple(found)


def _drop_dead_letters(d: Deciding) -> None:
    """What failed runs again: should it fail once more, that is kept in its place."""
    for key, node in reopened_by_retry(d.plan, d.state):
        if node.status is NodeStatus.FAILED and isinstance(d.plan[key.node].node.config, Executed):
            d.order(DropDeadLetters(node=key.node, iteration=key.iteration))


def _refuse(d: Deciding) -> Rejection | None:
    state = d.state
    if state.status is not Status.FAILED:
        message = f"cannot retry an instance that is {state.status}"
        return Rejection(code=NOT_THIS_STATUS, message=message)
    if state.parent is not None:
        message = f"it is a step of {state.parent.id}: retry that one, and it is started anew"
        return Rejection(code=CANNOT_GO_ON, message=message)
    because = None if state.ending is None else state.ending.because
    if because == "terminated":
        message = "a terminate step ended it on purpose: it cannot be retried"
    elif because == "cancelled":
        message = "it was being cancelled when it was quarantined: it cannot be retried"
    elif state.deadline is not None and state.deadline <= d.now:
        message = f"its deadline passed at {iso(state.deadline)}: it cannot be retried"
    elif state.compensation is not None and state.compensation.has_begun:
        message = "what it had done has been undone, or tried to be: it cannot be retried"
    else:
        return None
    return Rejection(code=CANNOT_GO_ON, message=message)


def _refuse_edit(
    d: Deciding, edited: EditedInput | None, reopened: list[NodeKey]
) -> Rejection | None:
    """An edit must be for a task that runs again: nothing else would use it.

    It may not send the secrets of a request elsewhere: they are for where the definition says.
    """
    if edited is None:
        return None
    config = d.plan[edited.step_id].node.config if edited.key in reopened else None
    if not isinstance(config, Executed):
        message = f"{edited.step_id} is no task that a retry runs again: its input cannot be edited"
        return Rejection(code=CANNOT_GO_ON, message=message)
    if not isinstance(config, Http) or _goes_there(known_input(d, edited.key, config), edited):
        return None
    message = f"the edited input would send the secrets of {edited.step_id} to another address"
    return Rejection(code=CANNOT_GO_ON, message=message)


def _goes_there(known: GivenInput | None, edited: EditedInput) -> bool:
    """Whether an edited request goes where the secrets of the known one go, if it has any."""
    if known is None:
        return False
    if not known.secrets:
        return True
    before, now = _url_of(known.value), _url_of(edited.input)
    if any(place.path == ("url",) for place in known.secrets):
        # What follows a secret could be a part of its host.
        return before == now
    return origin_of(before) is not None and origin_of(before) == origin_of(now)


def _url_of(request: JSON) -> str:
    url = request.get("url") if isinstance(request, dict) else None
    return url if isinstance(url, str) else ""
