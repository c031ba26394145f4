"""A time-out on request: an open wait or a running attempt ends as if its time were over."""

from __future__ import annotations

from tenuto.core import approval, child, compensation, loop, wait
from tenuto.core.attempt import tried_in_vain
from tenuto.core.deciding import NOT_THIS_STATUS, Deciding, Rejection
from tenuto.core.state import NodeState
from tenuto.model.effects import StopAttempt
from tenuto.model.failure import TIMEOUT, Failure
from tenuto.model.graph import SubWorkflow
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import TaskFailed, TimeOutAsked
from tenuto.model.status import NodeStatus

NOT_OPEN = "TEN-3024"
_MOST_NAMED = 10
"""So many steps a message names."""


def asked_for(d: Deciding, asked: TimeOutAsked) -> Rejection | None:
    """Time out a step; once it has ended there is nothing more to time out."""
    key = NodeKey(asked.node, asked.iteration)
    if key.node in d.plan.undo_steps:
        return _of_compensation(d, key, asked)
    node = d.state.nodes.get(key)
    why = _why_not(d, key, node, asked)
    if why is not None:
        code = NOT_THIS_STATUS if d.state.status.is_final else NOT_OPEN
        return Rejection(code=code, message=why)
    assert node is not None
    if node.approval is not None:
        approval.timed_out(d, key, requested_by=asked.by)
    elif node.is_wait:
        wait.timed_out(d, key, requested_by=asked.by)
    elif node.is_loop:
        loop.overran(d, key)
    elif isinstance(d.plan[key.node].node.config, SubWorkflow):
        child.overran(d, key)
    elif node.status is NodeStatus.WAITING:
        wait.overran(d, key)
    else:
        _attempt(d, key, node, asked)
    return None


def _attempt(d: Deciding, key: NodeKey, node: NodeState, asked: TimeOutAsked) -> None:
    _stop(d, key, node.attempt)
    tried_in_vain(d, key, node.attempt, _failure(asked))


def _of_compensation(d: Deciding, key: NodeKey, asked: TimeOutAsked) -> Rejection | None:
    undoing = d.state.compensation
    place = None if undoing is None else undoing.place
    is_running = undoing is not None and undoing.is_in_flight
    if place is None or not is_running or place[:2] != (key.node, key.iteration):
        return Rejection(code=NOT_OPEN, message=f"no attempt of {_spelled(key)} is running")
    if asked.attempt not in (None, place[2]):
        return Rejection(code=NOT_OPEN, message=_another(key, place[2], asked))
    _stop(d, key, place[2])
    report = TaskFailed(
        node=key.node, iteration=key.iteration, attempt=place[2], error=_failure(asked)
    )
    return compensation.reported(d, report)


def _why_not(d: Deciding, key: NodeKey, node: NodeState | None, asked: TimeOutAsked) -> str | None:
    """Why a step cannot be timed out now."""
    state, name = d.state, _spelled(key)
    if state.status.is_final:
        return f"{name} cannot be timed out: the instance is {state.status}"
    if key.node not in d.plan.nodes:
        return f"{name} is no step of the workflow; {_open_steps(d)}"
    if node is None or not node.is_open:
        was = "has not begun" if node is None else f"is {node.status}"
        return f"{name} is not open: it {was}; {_open_steps(d)}"
    if asked.attempt not in (None, node.attempt):
        return _another(key, node.attempt, asked)
    if node.grace_until is not None or (state.ending is not None and state.pause is None):
        return f"{name} is being cancelled"
    if node.status is NodeStatus.RETRYING:
        return f"no attempt of {name} is running: it is tried again later"
    if node.held is not None:
        return f"{name} is done, and what follows is delayed"
    return None


def _open_steps(d: Deciding) -> str:
    names = sorted(map(_spelled, d.state.open_nodes()))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"open: {', '.join(names[:_MOST_NAMED])}{more}" if names else "no step is open"


def _another(key: NodeKey, attempt: int, asked: TimeOutAsked) -> str:
    return f"{_spelled(key)} is at attempt {attempt}, not {asked.attempt}"


def _stop(d: Deciding, key: NodeKey, attempt: int) -> None:
    d.order(
        StopAttempt(
            node=key.node, iteration=key.iteration, attempt=attempt, grace=d.plan.cancel_grace
        )
    )


def _failure(asked: TimeOutAsked) -> Failure:
    message = f"the task was timed out on request of {asked.by}"
    return Failure(code=TIMEOUT, message=message, details={"requestedBy": asked.by})


def _spelled(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node
