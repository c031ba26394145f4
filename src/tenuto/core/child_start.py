"""Effects for the child of a step: find its version, start it, end it."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from tenuto.core.deciding import Deciding
from tenuto.core.moments import Moments
from tenuto.core.state import InstanceState, NodeState
from tenuto.core.task_input import render_input
from tenuto.model.effects import ResolveChild, SendMail
from tenuto.model.entries import ChildStarted
from tenuto.model.family import Parent, child_id
from tenuto.model.graph import SubWorkflow
from tenuto.model.ids import NodeKey, start_letter
from tenuto.model.inputs import CancelAsked, Started, TimerKey, TimerKind
from tenuto.model.json import JSON
from tenuto.model.slots import SLOT
from tenuto.model.status import NodeStatus, Status
from tenuto.model.traces import of_attempt


def order_child(d: Deciding, key: NodeKey) -> None:
    """Order the child of the newest attempt: once its version is known it stays the same."""
    version = d.state.nodes[key].child_version
    if version:
        start_child(d, key, version)
    else:
        d.order(resolve_child(d, key))


def resolve_child(d: Deciding, key: NodeKey) -> ResolveChild:
    """The order that finds out which version a step starts, and whether it can."""
    config = _config(d, key)
    return ResolveChild(
        node=key.node,
        iteration=key.iteration,
        attempt=d.state.nodes[key].attempt,
        workflow_id=config.workflow_id,
        version=config.version,
        input=_input(d, key, config),
    )


def start_child(d: Deciding, key: NodeKey, version: int) -> None:
    """Record the child of the newest attempt, and send it its start; UnknownCalendar."""
    node = d.state.nodes[key]
    config = _config(d, key)
    dispatched_at = node.dispatched_at or node.started_at
    assert dispatched_at is not None
    child = child_id(dispatched_at, d.state.id, key, node.attempt)
    moments = Moments(d)
    timer = TimerKey(TimerKind.NODE_TIMEOUT, key.node, key.iteration)
    # It bounds the whole node: a further attempt does not begin it anew.
    fail_at = None if timer in d.state.timers else moments.overrun(key)
    d.emit(
        ChildStarted(
            at=d.now,
            node=key.node,
            iteration=key.iteration,
            attempt=node.attempt,
            child_id=child,
            workflow_id=config.workflow_id,
            version=version,
            fail_at=fail_at,
            calendars=moments.calendars,
        )
    )
    started = Started(
        definition_id=config.workflow_id,
        definition_version=version,
        input=_input(d, key, config),
        correlation_id=d.state.correlation_id,
        priority=d.state.priority,
        deadline=d.state.deadline,
        parent=_parent(d, key, node.attempt),
        chain=d.state.chain,
        origin=UNSET if d.state.origin is None else d.state.origin,
        traceparent=_traceparent(d.state, key, node.attempt),
    )
    d.order(SendMail(to=child, id=start_letter(child), at=d.now, input=started))


def _traceparent(state: InstanceState, key: NodeKey, attempt: int) -> str | UnsetType:
    parent = state.traceparent
    return UNSET if parent is None else of_attempt(parent, state.id, key, attempt)


def end_child(d: Deciding, node: NodeState) -> None:
    """Ask the child of a cancelled node to end, if there is one."""
    if node.child_id is None or node.status is not NodeStatus.RUNNING:
        return
    cancellation = d.state.cancellation
    asked = CancelAsked(
        by=d.state.id,
        reason=cancellation.reason if cancellation else "its parent needs it no more",
        source="PARENT",
        should_compensate=_should_compensate(d),
    )
    id = f"{node.child_id}/cancel"
    d.order(SendMail(to=node.child_id, id=id, at=d.now, input=asked))


def _should_compensate(d: Deciding) -> bool:
    """Whether a cancelled child undoes its work: if its parent does."""
    if d.state.cancellation is not None:
        return d.state.cancellation.should_compensate
    ending = d.state.ending
    if ending is None:
        return True
    if ending.status is Status.COMPLETED:
        return False
    return d.plan.definition.options.compensate_on_failure is not False


def depth_below(d: Deciding) -> int:
    """How deep a child of this instance lies."""
    return 1 if d.state.parent is None else d.state.parent.depth + 1


def held_around(state: InstanceState, key: NodeKey) -> tuple[str, ...]:
    """The mutexes of a step and of those around its instance."""
    outer = () if state.parent is None else state.parent.mutexes
    node = state.nodes.get(key)
    return outer if node is None or node.mutex is None else (*outer, node.mutex)


def _parent(d: Deciding, key: NodeKey, attempt: int) -> Parent:
    return Parent(
        id=d.state.id,
        node=key.node,
        iteration=key.iteration,
        attempt=attempt,
        root_id=d.state.id if d.state.parent is None else d.state.parent.root_id,
        depth=depth_below(d),
        mutexes=held_around(d.state, key),
        slots=_with_slots(d.state),
    )


def _with_slots(state: InstanceState) -> tuple[str, ...]:
    """This instance and those above it, as far as limits count them."""
    outer = () if state.parent is None else state.parent.slots
    return (*outer, state.id) if state.system and SLOT in state.system else outer


def _input(d: Deciding, key: NodeKey, config: SubWorkflow) -> JSON:
    node = d.state.nodes[key]
    return render_input(d, key, config).value if node.input is UNSET else node.input


def _config(d: Deciding, key: NodeKey) -> SubWorkflow:
    config = d.plan[key.node].node.config
    assert isinstance(config, SubWorkflow)
    return config
