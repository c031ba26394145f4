"""How an instance ends: open nodes are cancelled first, then the final status is declared."""

from __future__ import annotations

from msgspec import UNSET

from tenuto.core import compensation
from tenuto.core.cancelling import withdraw
from tenuto.core.child_start import end_child
from tenuto.core.deciding import Deciding
from tenuto.core.parent import tell_parent
from tenuto.core.plan import Plan
from tenuto.core.state import InstanceState
from tenuto.model.effects import ClearTimer, CloseWait, StopAttempt
from tenuto.model.entries import NodeFailed, StatusChanged, SystemSet
from tenuto.model.failure import INTERNAL, TOO_LARGE, Failure, LastError
from tenuto.model.graph import Executed
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import TRANSITIONS, NodeStatus, Status


def advance(d: Deciding) -> None:
    """Cancel the open nodes; once there are none, declare the end."""
    ending = d.state.ending
    assert ending is not None
    # When most results arrive during the end, all open nodes have been asked to stop already.
    if d.state.open > d.state.stopping and d.has_room:
        _withdraw_all(d)
    # What was done is undone once nothing more is being done.
    is_undoing = not d.state.open and compensation.is_due(d)
    if d.state.open or is_undoing:
        move(d, Status.RUNNING)
    if is_undoing and d.state.compensation is None:
        # As a RUNNING instance, wherever it was before: its plan depends on no moment.
        compensation.plan(d)
    if not d.state.open and not (is_undoing and compensation.advance(d)):
        move(d, ending.status)


def _withdraw_all(d: Deciding) -> None:
    for key in sorted(d.state.open_nodes(), key=d.plan.place_of):
        if not d.has_room:
            return
        node = d.state.nodes[key]
        # A loop takes its body with it.
        if node.is_open:
            withdraw(d, key, node)


def move(d: Deciding, to: Status) -> None:
    """Change the status if it is another one, through RUNNING where the table asks for it."""
    if d.state.status is to:
        return
    if to not in TRANSITIONS[d.state.status]:
        move(d, Status.RUNNING)
    d.emit(
        StatusChanged(
            at=d.now,
            from_=d.state.status,
            to=to,
            error=d.state.last_error if to is Status.FAILED else None,
        )
    )
    if to.is_final and d.state.parent is not None:
        output = output_of(d.plan, d.state) if to is Status.COMPLETED else None
        tell_parent(d, d.state.parent, output)


def quarantine(d: Deciding, message: str, code: str = INTERNAL) -> None:
    """Fail an instance that cannot be decided on, visibly, so that it blocks no other instance.

    One that has ended stays as it is.
    """
    if d.state.compensation is not None:
        failure = Failure(code=code, message=message, retryable=False)
        compensation.break_off(d, failure)
    if d.state.status.is_final:
        return
    error = LastError(code=code, message=message, step_id=None, at=d.now)
    d.emit(SystemSet(at=d.now, values={"quarantine": {"message": message}}))
    if Status.FAILED not in TRANSITIONS[d.state.status]:
        move(d, Status.RUNNING)
    for key in sorted(d.state.open_nodes()):
        node = d.state.nodes[key]
        place = {"node": key.node, "iteration": key.iteration}
        end_child(d, node)
        if node.listens:
            d.order(CloseWait(**place, event_id=None))
        elif node.is_in_flight and isinstance(d.plan[key.node].node.config, Executed):
            d.order(StopAttempt(**place, attempt=node.attempt, grace=d.plan.cancel_grace))
    for timer_key, timer in sorted(d.state.timers.items()):
        if timer_key.node:
            d.order(ClearTimer(key=timer_key, due=timer.due, set_at=timer.set_at))
    d.emit(StatusChanged(at=d.now, from_=d.state.status, to=Status.FAILED, error=error))
    if d.state.parent is not None:
        tell_parent(d, d.state.parent, None)


def give_up(d: Deciding) -> bool:
    """Fail an instance whose log exceeds the limit, even if its parts handle failures.

    A log gets so long by a loop: the loop fails, and with it the instance, which is then undone.
    If no loop is open, the instance is quarantined, and that is all (True).
    """
    most = d.plan.limits.log_entries
    message = f"the log has {d.state.version:,} entries of {most:,}"
    loops = [key for key in d.state.open_nodes() if d.state.nodes[key].is_loop]
    if not loops:
        quarantine(d, message, TOO_LARGE)
        return True
    outermost = min(loops, key=d.plan.place_of)
    d.emit(
        NodeFailed(
            at=d.now,
            node=outermost.node,
            iteration=outermost.iteration,
            attempt=d.state.nodes[outermost].attempt,
            error=Failure(code=TOO_LARGE, message=message, retryable=False),
            then="fail",
        )
    )
    return False


def output_of(plan: Plan, state: InstanceState) -> JSON:
    """What a completed instance gives back."""
    if state.ending is not None:
        return state.ending.output
    if state.output is not UNSET:
        return state.output
    sinks: Object = {}
    for name in plan.sinks:
        node = state.nodes.get(NodeKey(name))
        if node is not None and node.status in (NodeStatus.COMPLETED, NodeStatus.FAILED):
            sinks[name] = node.output
    if len(sinks) == 1:
        return next(iter(sinks.values()))
    return sinks
