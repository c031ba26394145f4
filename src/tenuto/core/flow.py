"""Advances an instance as far as possible: begins ready nodes, skips unreachable ones."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from tenuto.core import (
    approval,
    attempt,
    child,
    compensation,
    delay,
    emit,
    ending,
    loop,
    mutex,
    set_values,
    sla,
    slots,
    wait,
)
from tenuto.core.cancelling import cancel_rest, pass_over
from tenuto.core.deciding import Deciding
from tenuto.core.keys import Keys
from tenuto.core.moments import UnknownCalendar, unknown_calendar
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.state import attempt_of
from tenuto.expr import ExpressionError, Undefined
from tenuto.model.graph import (
    DEFAULT,
    ELSE,
    Approval,
    Condition,
    Config,
    DataQuery,
    Delay,
    Emit,
    End,
    EventWait,
    Http,
    JavaScript,
    Loop,
    SetValues,
    Start,
    SubWorkflow,
    Task,
    Terminate,
)
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON
from tenuto.model.policy import MOST_ENTRIES
from tenuto.model.status import Status


def settle(d: Deciding) -> None:  # noqa: C901 - one arm for each status
    """Do all that follows from the state as it is."""
    state = d.state
    if state.status.is_final:
        if not state.has_ended:
            compensation.advance(d)
        return
    # An end is bounded by the nodes to cancel and to undo: it is never given up.
    is_too_long = state.version > d.plan.limits.log_entries + MOST_ENTRIES
    if is_too_long and state.ending is None and ending.give_up(d):
        return
    if d.to_read and state.pause is None:
        _read_enough(d)
    is_admitted = not (state.system and state.is_without_slot and _is_held_up(d))
    is_settled = state.begins_nothing
    while (
        not is_settled
        and is_admitted
        and state.pause is None
        and state.ending is None
        and d.has_room
    ):
        _follow(d)
        # Also where no room is left: what has changed is known in this decision alone.
        if d.to_read:
            _read_enough(d)
        is_settled = state.begins_nothing
    if state.pause is not None:
        ending.move(d, Status.PAUSED)
    elif state.ending is not None:
        ending.advance(d)
    elif not is_admitted and state.status is Status.CREATED:
        return
    elif not is_settled and (state.is_unsettled or not is_admitted):
        ending.move(d, Status.RUNNING)
    elif not state.open:
        ending.move(d, Status.COMPLETED)
    elif state.open == state.open_waits + state.open_loops:
        ending.move(d, Status.WAITING_FOR_EVENT)
    elif state.status is not Status.RUNNING:
        ending.move(d, Status.RUNNING)
    if state.system and not (state.running and state.ending is None):
        slots.give_back(d)


def _is_held_up(d: Deciding) -> bool:
    """Whether nothing begins for want of a slot, which is asked for again where it is needed."""
    state = d.state
    if state.ending is not None:
        return False
    if state.pause is None and not state.begins_nothing:
        slots.ask_again(d)
    return True


def _read_enough(d: Deciding) -> None:
    while d.to_read and d.state.ending is None:
        keys, d.to_read = d.to_read, frozenset()
        loop.read_enough(d, keys)


def _follow(d: Deciding) -> None:
    """Do some of what follows."""
    state = d.state
    if state.unreachable:
        _skip_unreachable(d)
    if state.enough:
        loop.end_early(d)
    elif state.ready:
        _begin_ready(d)
    elif state.unreachable:
        pass  # a skipped node made others unreachable
    elif state.quiet:
        loop.end_quiet_iterations(d)
    elif state.short:
        loop.widen(d)


def _skip_unreachable(d: Deciding) -> None:
    for key in _in_order(d, d.state.unreachable):
        if not d.has_room:
            return
        if key in d.state.unreachable:
            pass_over(d, key, "dead-path")


def _begin_ready(d: Deciding) -> None:
    for key in _in_order(d, d.state.ready):
        if d.state.ending is not None or not d.has_room:
            return
        if key in d.state.ready:
            _begin(d, key)


def _begin(d: Deciding, key: NodeKey) -> None:
    planned = d.plan.nodes[key.node]
    if d.plan.has_mutexes and mutex.has_it(d, key):
        _begin_config(d, key, planned.node.config)
        return
    if planned.node.cancel_rest and not planned.takes_arrivals:
        cancel_rest(d, key)
    if planned.when is not None:
        try:
            wanted = planned.when.truthy(d.scope(key))
        except ExpressionError as error:
            fail(d, key, attempt_of(d.state, key), expression_failure(error))
            return
        if not wanted:
            pass_over(d, key, "when")
            return
    begun = None
    if planned.node.sla is not None:
        try:
            begun = sla.set_by(d, key, planned.node.sla)
        except UnknownCalendar as error:
            fail(d, key, attempt_of(d.state, key), unknown_calendar(error))
            return
    if planned.node.mutex is None or d.plan.rehearsal is not None:
        _begin_config(d, key, planned.node.config)
    else:
        mutex.request(d, key, planned.node.mutex)
    if begun is not None and d.state.nodes[key].is_open:
        d.emit(replace(begun, attempt=attempt_of(d.state, key)))


def _begin_config(d: Deciding, key: NodeKey, config: Config) -> None:
    match config:
        case Task() | JavaScript() | DataQuery() | Http():
            attempt.begin(d, key, config)
        case EventWait():
            wait.begin(d, key, config)
        case Delay():
            delay.begin(d, key, config)
        case Loop():
            loop.begin(d, key, config)
        case SubWorkflow():
            child.begin(d, key, config)
        case Emit():
            emit.begin(d, key, config)
        case SetValues():
            set_values.begin(d, key, config)
        case Approval():
            approval.begin(d, key, config)
        case Start() | End() | Condition() | Terminate():
            _finish_at_once(d, key, config)
        case _:
            assert_never(config)


def _finish_at_once(d: Deciding, key: NodeKey, config: Start | End | Condition | Terminate) -> None:
    """Nodes that the core finishes by itself."""
    handles: tuple[str, ...] = (DEFAULT,)
    try:
        match config:
            case Start():
                output: JSON = {"started": True, "inputReceived": d.state.input}
            case End():
                output = _rendered(d, key, "outputParameters", config.output_parameters, {})
            case Condition():
                handles = _branches(d, key, config)
                output = {"branches": list(handles)}
            case Terminate(status="FAILED"):
                output = {"reason": _rendered(d, key, "reason", config.reason, None)}
            case Terminate():
                output = _rendered(d, key, "output", config.output, None)
            case _:
                assert_never(config)
    except ExpressionError as error:
        fail(d, key, attempt_of(d.state, key), expression_failure(error))
        return
    complete(d, key, output, handles=handles)


def _branches(d: Deciding, key: NodeKey, config: Condition) -> tuple[str, ...]:
    scope = d.scope(key)
    truthy = (
        branch.id for branch in config.branches if d.plan.expression(branch.when).truthy(scope)
    )
    if config.select == "first":
        return (next(truthy, ELSE),)
    return tuple(truthy) or (ELSE,)


def _rendered(d: Deciding, key: NodeKey, field: str, template: JSON, without: JSON) -> JSON:
    if template is None:
        return without
    value = d.plan.template(key.node, field, template).render(d.scope(key))
    return None if isinstance(value, Undefined) else value


def _in_order(d: Deciding, keys: Keys) -> list[NodeKey]:
    if len(keys) < 2:
        return list(keys)
    return sorted(keys, key=d.plan.place_of)
