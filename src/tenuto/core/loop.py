"""The life of a loop: entered, one iteration after another or several at once, over."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from tenuto.core import more
from tenuto.core.arrivals import may_arrive
from tenuto.core.cancelling import cancel_iteration, cancel_rest
from tenuto.core.deciding import Deciding
from tenuto.core.loop_entries import iterations_of
from tenuto.core.moments import Moments, UnknownCalendar, unknown_calendar
from tenuto.core.outcome import complete, expression_failure, fail
from tenuto.core.scope import scope_within
from tenuto.core.state import LoopState, attempt_of
from tenuto.expr import Expression, ExpressionError, Undefined
from tenuto.model.entries import IterationEnded, IterationStarted, NodeSkipped
from tenuto.model.failure import LOOP_LIMIT, LOOP_SOURCE, TIMEOUT, TOO_LARGE, Failure
from tenuto.model.graph import DONE, Loop
from tenuto.model.ids import NodeKey, around, iteration_of, path_of
from tenuto.model.json import JSON, Object, kind_of
from tenuto.model.status import NodeStatus


def begin(d: Deciding, key: NodeKey, config: Loop) -> None:
    """Read the source, once, and begin as many iterations as may run."""
    try:
        Moments(d).overrun(key)
    except UnknownCalendar as error:
        fail(d, key, attempt_of(d.state, key), unknown_calendar(error))
        return
    if config.while_ is not None:
        _again(d, key, config, LoopState())
        return
    if config.takes_arrivals:
        _start(d, key, 0)
        _fill(d, key)
        return
    try:
        items = d.plan.template(key.node, "source", config.source).render(d.scope(key))
    except ExpressionError as error:
        fail(d, key, attempt_of(d.state, key), expression_failure(error))
        return
    if not isinstance(items, list):
        found = "undefined" if isinstance(items, Undefined) else kind_of(items)
        _refuse(d, key, LOOP_SOURCE, f"the source is {found}, and a loop goes over an array")
    elif len(items) > d.plan.limits.loop_items:
        most = d.plan.limits.loop_items
        _refuse(d, key, TOO_LARGE, f"{len(items):,} items; a loop takes at most {most:,}")
    elif not items:
        complete(d, key, [], handles=(DONE,))
    else:
        _start(d, key, 0, items)
        if config.more is not None:
            more.listen(d, key, config.more)
        _fill(d, key)


def end_quiet_iterations(d: Deciding) -> None:
    """End the iterations of which nothing is active, innermost first, and go on with their loops.

    What becomes quiet by that has its turn when they are through.
    """
    in_order = sorted(
        d.state.quiet, key=lambda it: (-d.plan.order_of(it.node), path_of(it.iteration))
    )
    for place in in_order:
        if d.state.ending is not None or not d.has_room:
            return
        if place in d.state.quiet:
            _end_quiet(d, place)


def end_early(d: Deciding) -> None:
    """End the loops that have enough, after a record of each item that never begins."""
    for key in sorted(d.state.enough, key=d.plan.place_of):
        _end_early(d, key)


def read_enough(d: Deciding, keys: Iterable[NodeKey]) -> None:
    """Read the `enough` of loops under way again, since something that it names has changed."""
    for key in sorted(keys, key=d.plan.place_of):
        node, loop = d.state.nodes.get(key), d.state.loops.get(key)
        if node is None or not node.is_open or loop is None or loop.has_enough:
            continue
        config = d.plan.nodes[key.node].node.config
        assert isinstance(config, Loop)
        try:
            is_enough = _is_enough(d, key, config, loop)
        except ExpressionError as error:
            fail(d, key, node.attempt, expression_failure(error))
            continue
        if is_enough:
            _end_early(d, key)


def _end_early(d: Deciding, key: NodeKey) -> None:
    loop = d.state.loops[key]
    if loop.ends_all:
        # The step that ends the loop may be the last one of its own iteration.
        for place in iterations_of(d.state, key):
            if place in d.state.quiet and not _has_more(d, place):
                _end_quiet(d, place)
        if d.state.ending is not None or not d.state.nodes[key].is_open:
            return
        loop = d.state.loops[key]
    unstarted = 0 if loop.items is None else d.state.length_of(key) - loop.started
    for index in range(loop.started + loop.skipped, loop.started + unstarted):
        # The first one is recorded in any case: it says that the loop has enough.
        if not d.has_room and d.state.loops[key].has_enough:
            return
        d.emit(
            NodeSkipped(
                at=d.now,
                node=key.node,
                iteration=iteration_of(key.iteration, index),
                attempt=attempt_of(d.state, key),
                reason="enough",
            )
        )
    _finish(d, key, d.state.loops[key])


def _has_more(d: Deciding, place: NodeKey) -> bool:
    """Whether a node of an iteration is about to begin, or to be skipped."""
    inside = (NodeKey(name, place.iteration) for name in d.plan.nodes[place.node].body)
    return any(key in d.state.ready or key in d.state.unreachable for key in inside)


def widen(d: Deciding) -> None:
    """Begin iterations of loops that have room for more of them."""
    for key in sorted(d.state.short, key=d.plan.place_of):
        _fill(d, key)


def _fill(d: Deciding, key: NodeKey) -> None:
    while key in d.state.short and d.has_room:
        started = d.state.loops[key].started
        if started < d.state.length_of(key):
            _start(d, key, started)
        else:
            _go_on(d, key)  # the last edge has arrived, and nothing of the loop is under way


def _end_quiet(d: Deciding, place: NodeKey) -> None:
    key = NodeKey(place.node, around(place.iteration))
    iteration = d.state.iterations[place]
    if iteration.failure is not None:
        _ended(d, place, error=iteration.failure)
    elif iteration.called_off:
        d.emit(
            IterationEnded(
                at=d.now,
                node=place.node,
                iteration=place.iteration,
                attempt=attempt_of(d.state, key),
                status="cancelled",
            )
        )
    else:
        try:
            output = _result(d, place)
        except ExpressionError as error:
            _result_failed(d, key, place, expression_failure(error))
        else:
            _ended(d, place, output=output)
    _go_on(d, key)


def resume(d: Deciding, key: NodeKey) -> None:
    """Go on with a loop that was re-opened: begin the iterations that there is room for."""
    while d.state.nodes[key].is_open and d.state.ending is None and d.has_room:
        is_full = d.state.loops[key].active and key not in d.state.short
        if is_full or key in d.state.enough:
            return
        before = d.state.version
        _go_on(d, key)
        if d.state.version == before:
            return  # it goes on with the next edge that arrives


def overran(d: Deciding, key: NodeKey) -> None:
    """The loop's own `timeout` is over."""
    _refuse(d, key, TIMEOUT, f"{key.node} took longer than its timeout")


def _go_on(d: Deciding, key: NodeKey) -> None:
    """An iteration has ended: begin further ones, or finish."""
    node = d.state.nodes.get(key)
    if node is None or not node.is_open:
        return
    config = d.plan.nodes[key.node].node.config
    assert isinstance(config, Loop)
    loop = d.state.loops[key]
    if loop.has_enough:
        return  # it is about to end, see `end_early`
    try:
        is_enough = _is_enough(d, key, config, loop)
    except ExpressionError as error:
        fail(d, key, node.attempt, expression_failure(error))
        return
    if is_enough:
        _end_early(d, key)
    elif loop.results_size > d.plan.limits.context_bytes:
        most = d.plan.limits.context_bytes
        _refuse(d, key, TOO_LARGE, f"the results are {loop.results_size:,} bytes of {most:,}")
    elif d.state.past and d.state.context_bytes > d.plan.limits.context_bytes:
        size, most = d.state.context_bytes, d.plan.limits.context_bytes
        message = (
            f"with the data kept to undo iterations, the context is {size:,} of {most:,} bytes"
        )
        _refuse(d, key, TOO_LARGE, message)
    elif d.state.version > d.plan.limits.log_entries:
        _refuse(d, key, TOO_LARGE, f"the log has {d.state.version:,} entries")
    elif loop.items is None:
        _again(d, key, config, loop)
    elif loop.started < d.state.length_of(key):
        _start(d, key, loop.started)
    elif not loop.active and not may_arrive(d.plan, d.state, key):
        _finish(d, key, loop)


def _again(d: Deciding, key: NodeKey, config: Loop, loop: LoopState) -> None:
    """Test the condition of a `while`: one more iteration, or the end."""
    assert config.while_ is not None
    names: Object = {"index": loop.started, "last": loop.last}
    variables = loop.variables if loop.started else None
    scope = d.scope(key, names, variables)
    try:
        holds = d.plan.expression(config.while_).truthy(scope)
    except ExpressionError as error:
        fail(d, key, attempt_of(d.state, key), expression_failure(error))
        return
    if not holds:
        _finish(d, key, loop)
    elif loop.started - loop.fresh_from >= config.max_iterations:
        _refuse(d, key, LOOP_LIMIT, f"not over after {config.max_iterations:,} iterations")
    else:
        _start(d, key, loop.started)


def _start(d: Deciding, key: NodeKey, index: int, items: list[JSON] | UnsetType = UNSET) -> None:
    loop = d.state.loops.get(key)
    moments = Moments(d)
    fail_at = moments.overrun(key) if loop is None else None
    added = None if loop is None else loop.added.get(index)
    arrivals = d.state.arrivals.get(key)
    d.emit(
        IterationStarted(
            at=d.now,
            node=key.node,
            iteration=iteration_of(key.iteration, index),
            attempt=attempt_of(d.state, key),
            items=items,
            fail_at=fail_at,
            calendars=moments.calendars,
            event_id=None if added is None else added.event_id,
            from_=None if arrivals is None else arrivals[index],
        )
    )


def _ended(
    d: Deciding, place: NodeKey, *, output: JSON = None, error: Failure | None = None
) -> None:
    d.emit(
        IterationEnded(
            at=d.now,
            node=place.node,
            iteration=place.iteration,
            attempt=attempt_of(d.state, NodeKey(place.node, around(place.iteration))),
            status="success" if error is None else "error",
            output=output,
            error=error,
        )
    )


def _result_failed(d: Deciding, key: NodeKey, place: NodeKey, failure: Failure) -> None:
    """The iteration ran, but what it amounts to cannot be worked out."""
    config = d.plan.nodes[key.node].node.config
    node = d.state.nodes[key]
    is_fatal = node.is_open and isinstance(config, Loop) and config.on_item_error == "fail"
    if is_fatal and not fail(d, key, node.attempt, failure):
        return  # the instance ends; should it be retried, the iteration is there to be ended
    _ended(d, place, error=failure)


def _finish(d: Deciding, key: NodeKey, loop: LoopState) -> None:
    """The loop is over with what its iterations gave, in the order of the items."""
    late = iterations_of(d.state, key)
    complete(d, key, _results(loop), handles=(DONE,))
    if d.plan.nodes[key.node].node.cancel_rest or loop.ends_all:
        for place in late:
            cancel_iteration(d, place)
    planned = d.plan.nodes[key.node]
    is_done = d.state.nodes[key].status is NodeStatus.COMPLETED
    if planned.takes_arrivals and planned.node.cancel_rest and is_done:
        cancel_rest(d, key)


def _results(loop: LoopState) -> list[JSON]:
    """Of each iteration that has ended; null where it failed."""
    ended = (
        index for index in range(loop.started) if index in loop.results or index in loop.errors
    )
    return [loop.results.get(index) for index in ended]


def _gathered(d: Deciding, key: NodeKey, loop: LoopState) -> list[JSON]:
    """`ctx.results`: of each iteration that has ended its index and result, as they ended.

    Nothing is kept of it: within a decision, the next one is added.
    """
    known = d.gathered.get(key)
    have_ended = len(loop.ended)
    if known is None or known[0] > have_ended:
        # Of a loop that began before the order was kept, the first ones come by their index.
        kept = {*loop.ended.values()}
        first = sorted(index for index in (*loop.results, *loop.errors) if index not in kept)
        known = 0, [_shown(loop, index) for index in first]
    count, results = known
    results.extend(_shown(loop, loop.ended[number]) for number in range(count, have_ended))
    d.gathered[key] = have_ended, results
    return results


def _shown(loop: LoopState, index: int) -> JSON:
    return {"index": index, "result": loop.results.get(index)}


def _is_enough(d: Deciding, key: NodeKey, config: Loop, loop: LoopState) -> bool:
    if config.enough is None:
        return False
    if isinstance(config.enough, int):
        return loop.succeeded >= config.enough
    expression = d.plan.expression(config.enough)
    names: Object
    if _only_counts(expression):
        names = {"results": {"length": len(loop.results) + len(loop.errors)}}
    else:
        names = {"results": _gathered(d, key, loop)}
    return expression.truthy(d.scope(key, names))


def _only_counts(expression: Expression) -> bool:
    """Whether of all results it asks how many there are: then they need not be gathered."""
    return all(
        path[:3] == ("ctx", "results", "length")
        if path[:2] == ("ctx", "results")
        else path != ("ctx",) and path[:3] != ("workflow", "instance", "state")[: len(path)]
        for path in expression.paths
    )


def _result(d: Deciding, place: NodeKey) -> JSON:
    config = d.plan.nodes[place.node].node.config
    assert isinstance(config, Loop)
    if config.result is not None:
        scope = scope_within(d.plan, d.state, place, d)
        value = d.plan.template(place.node, "result", config.result).render(scope)
        return None if isinstance(value, Undefined) else value
    sinks: Object = {}
    for name in d.plan.sinks_of(place.node):
        node = d.state.nodes.get(NodeKey(name, place.iteration))
        if node is not None and node.status in (NodeStatus.COMPLETED, NodeStatus.FAILED):
            sinks[name] = node.output
    return next(iter(sinks.values())) if len(sinks) == 1 else sinks


def _refuse(d: Deciding, key: NodeKey, code: str, message: str) -> None:
    attempt = attempt_of(d.state, key)
    fail(d, key, attempt, Failure(code=code, message=message, retryable=False))
