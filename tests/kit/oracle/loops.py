"""Loops again: entered, one iteration after another or several at once, over."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING

from tests.kit.checker.expression import UNDEFINED, Json, evaluate, render, truthy
from tests.kit.checker.graph import MAX_ITERATIONS
from tests.kit.checker.patterns import fits
from tests.kit.oracle.activation import Activation, Scope

if TYPE_CHECKING:
    from tests.kit.oracle.inbox import Received
    from tests.kit.oracle.model import Model


def enter(model: Model, loop: Activation) -> None:
    """Read the source, once, and begin as many iterations as may run."""
    config = loop.plan.config
    loop.next_ctx = dict(loop.scope.ctx)
    if "while" in config:
        _again(model, loop)
        return
    # Edges that are taken later are in this list too.
    is_fixed = not loop.plan.takes_arrivals
    items = model.rendered(config["source"], loop.scope) if is_fixed else loop.arrivals
    if not isinstance(items, list):
        model.failed(loop, "LOOP_SOURCE", retryable=False)
    elif not items:
        model.complete(loop, [], ["done"])
    else:
        loop.items = items
        loop.sees = model.sight(loop.scope)
        for _ in range(min(loop.plan.concurrency, len(items))):
            _iterate(model, loop)


def iterations_of(model: Model, loop: Activation) -> list[Scope]:
    """Those that are under way."""
    return [scope for scope in model.scopes if scope.loop is loop]


def _within(model: Model, scope: Scope) -> bool:
    """Whether iterations of inner loops are under way in an iteration."""
    return any(inner.loop is not None and inner.loop.scope is scope for inner in model.scopes)


def end_a_quiet_iteration(model: Model) -> bool:
    """End an iteration of which nothing is active; whether there was one."""
    for scope in reversed(model.scopes[1:]):
        if _within(model, scope) or any(node.open for node in scope.nodes.values()):
            continue
        _end(model, scope)
        return True
    return False


def resume(model: Model, loop: Activation) -> None:
    """Go on with a loop that was re-opened: begin the iterations that there is room for."""
    while loop.open and model.ending is None:
        if loop.completed:
            return  # it ends with what it has
        active = len(iterations_of(model, loop))
        is_short = loop.items is not None and loop.started < len(loop.items)
        if active and not (is_short and active < loop.plan.concurrency):
            return
        if not active and not is_short and _may_arrive(loop):
            return
        _go_on(model, loop)


def _end(model: Model, scope: Scope) -> None:
    loop = scope.loop
    assert loop is not None
    index = int(scope.path.rpartition("/")[2])
    if not scope.called_off or scope.failed:
        loop.ends.append(index)
    if scope.failed:
        loop.results[index] = loop.last = None
    elif not scope.called_off:
        loop.results[index] = loop.last = _result(model, loop, scope)
        loop.succeeded += 1
    if not loop.plan.is_parallel:
        loop.next_ctx = scope.ctx
    model.leave(scope)
    if loop.open:
        _go_on(model, loop)


def _go_on(model: Model, loop: Activation) -> None:
    if loop.completed:
        return
    if _is_enough(model, loop):
        _finish(model, loop)
    elif loop.items is None:
        _again(model, loop)
    elif loop.started < len(loop.items):
        _iterate(model, loop)
    elif not iterations_of(model, loop) and not _may_arrive(loop):
        _finish(model, loop)


def _may_arrive(loop: Activation) -> bool:
    return loop.plan.takes_arrivals and not loop.has_all_edges


def end_idle_loops(model: Model) -> bool:
    """End a loop over arrivals whose last edge came when nothing of it was under way; if any."""
    for node in model.nodes:
        if not node.open or not node.plan.takes_arrivals or node.scope.over:
            continue
        is_idle = node.started == len(node.arrivals) and not iterations_of(model, node)
        if is_idle and node.has_all_edges and not node.completed:
            _finish(model, node)
            return True
    return False


def _again(model: Model, loop: Activation) -> None:
    names = {"index": loop.started, "last": loop.last}
    seen = Scope({**loop.next_ctx, **loop.scope.names, **names})
    if not model.true(loop.plan.config["while"], seen):
        _finish(model, loop)
    elif loop.started - loop.fresh_from >= int(
        loop.plan.config.get("maxIterations", MAX_ITERATIONS)
    ):
        model.failed(loop, "LOOP_LIMIT", retryable=False)
    else:
        _iterate(model, loop)


def _iterate(model: Model, loop: Activation) -> None:
    index = loop.started
    if index == 0:
        loop.status = "RUNNING"
        model.limit(loop)
    loop.started += 1
    names: dict[str, Json] = {**loop.scope.names, "index": index}
    if loop.items is None:
        names["last"] = loop.last
    else:
        names["item"] = loop.items[index]
    around = loop.scope.path
    path = f"{around}/{index}" if around else str(index)
    scope = Scope(dict(loop.next_ctx), loop, path, names)
    model.open(scope, loop.plan.body)
    for edge in loop.plan.inward:
        scope.nodes[edge.target].arrive(loop.plan.id, None)


def _finish(model: Model, loop: Activation) -> None:
    late = iterations_of(model, loop)
    model.complete(loop, loop.collected, ["done"])
    if loop.plan.config.get("cancelRest") or loop.completed:
        for scope in late:
            model.call_off_scope(scope)
    if loop.plan.takes_arrivals and loop.plan.config.get("cancelRest"):
        model.call_off_rest(loop)


def _is_enough(model: Model, loop: Activation) -> bool:
    enough = loop.plan.config.get("enough")
    if enough is None or isinstance(enough, int):
        return enough is not None and loop.succeeded >= enough
    shown = [{"index": index, "result": loop.results[index]} for index in loop.ends]
    seen = Scope(
        {**loop.scope.ctx, "results": shown},
        loop.scope.loop,
        loop.scope.path,
        loop.scope.names,
        loop.scope.nodes,
    )
    return model.true(enough, seen)


def append(model: Model, loop: Activation, event: Received) -> None:
    """An event appends an item, if the loop takes it."""
    more = loop.plan.config.get("more")
    if more is None or loop.items is None or loop.completed:
        return
    shown = {"id": event.id, "pattern": event.pattern, "payload": event.payload}
    seen = {**loop.sees, "event": shown}
    condition = more.get("eventCondition")
    if not fits(str(more["eventPattern"]), event.pattern) or (
        condition is not None and not truthy(evaluate(condition, seen))
    ):
        return
    now = {**model.sight(loop.scope), "event": shown}
    item = render(more.get("item", "{{event.payload}}"), now)
    loop.items = [*loop.items, None if item is UNDEFINED else item]


def begin_appended_items(model: Model) -> bool:
    """Begin an item that was appended, where there is room; whether there was one."""
    for node in model.nodes:
        is_short = node.items is not None and node.started < len(node.items)
        if not (node.open and is_short) or node.completed or node.scope.over:
            continue
        if len(iterations_of(model, node)) < node.plan.concurrency:
            _iterate(model, node)
            return True
    return False


def end_what_has_enough(model: Model) -> bool:
    """End a loop that a step completed, or whose `enough` names what has changed; if there is."""
    for node in model.nodes:
        if not node.open or node.plan.type != "loop" or node.scope.over:
            continue
        if node.completed:
            for scope in iterations_of(model, node):
                busy = any(each.open or each.may_begin for each in scope.nodes.values())
                if not busy and not _within(model, scope):
                    _end(model, scope)
            if node.open:
                _finish(model, node)
            return True
        if _has_changed(model, node) and _is_enough(model, node):
            _finish(model, node)
            return True
    return False


def _has_changed(model: Model, loop: Activation) -> bool:
    """Whether the steps and variables that `enough` names are not as they were read last."""
    enough = loop.plan.config.get("enough")
    if not isinstance(enough, str):
        return False
    named: dict[str, Json] = {}
    sight = model.sight(loop.scope)
    for root, name in re.findall(r"\b(ctx|steps)\.(\w+)", enough):
        if name != "results":
            named[f"{root}.{name}"] = deepcopy(sight[root].get(name))
    before, loop.named = loop.named, named
    return before is not None and before != named


def _result(model: Model, loop: Activation, scope: Scope) -> Json:
    template = loop.plan.config.get("result")
    if template is not None:
        value = model.rendered(template, scope)
        return None if value is UNDEFINED else value
    sinks = {
        id: node.output
        for id, node in scope.nodes.items()
        if not node.plan.outgoing and node.status in ("COMPLETED", "FAILED")
    }
    return next(iter(sinks.values())) if len(sinks) == 1 else sinks
