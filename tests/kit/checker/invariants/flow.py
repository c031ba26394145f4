"""Edges, joins, routes and what is called off: I14, I15, ROUTE, CANCEL, GRACE, OUTPUT."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.expression import Json, Unknown, render
from tests.kit.checker.invariants.judgement import Moment, Rest
from tests.kit.checker.life import Life
from tests.kit.checker.picture import calls_off
from tests.kit.checker.record import Row


def no_step_before_its_dependencies(moment: Moment) -> Iterator[str]:
    """I14: No step before its dependencies; what is copied had them where it ran.

    There a step that began may have called something off: here it does when it is copied.
    """
    row, life = moment.row, moment.life
    if life is None or life.node.id in moment.picture.graph.roots or row.reused is not None:
        return
    tokens = f"{life.taken} taken and {life.dead} dead of {life.total}"
    if moment.picture.begins(row) and not life.satisfied:
        yield f"{row.node} starts with {tokens}"
    if (
        row.type == "NODE_SKIPPED"
        and row.payload.get("reason") == "dead-path"
        and not life.ended
        and not life.dead_path
        and not moment.picture.ending
    ):
        yield f"{row.node} is skipped as a dead path with {tokens}"


def copies_had_their_dependencies(rest: Rest) -> Iterator[str]:
    """I14: what a rerun copies could also have run here, once everything has ended."""
    if rest.picture.status != "COMPLETED" or rest.picture.ending:
        return
    for node in rest.picture.reused:
        life = rest.picture.lives[node, ""]
        if life.node.id not in rest.picture.graph.roots and not life.satisfied:
            tokens = f"{life.taken} taken and {life.dead} dead of {life.total}"
            yield f"{life.name} is copied, and has {tokens}"


def nothing_enabled_is_left(rest: Rest) -> Iterator[str]:
    """I14: at rest no node is enabled and unscheduled; every dead path is skipped."""
    done = rest.picture.status == "COMPLETED" and not rest.picture.ending
    if not done and not (rest.run.at_rest and rest.moves and not rest.picture.is_final):
        return
    for life in rest.picture.lives.values():
        if life.begun or life.ended or rest.picture.is_over(life):
            continue
        if life.satisfied and (life.total or life.node.id in rest.picture.graph.roots):
            yield f"{life.name} may start and was not started"
        elif life.dead_path:
            yield f"{life.name} can never start and was not skipped"


def joins_fire_once(moment: Moment) -> Iterator[str]:
    """I15: Each join activation fires once."""
    row, life = moment.row, moment.life
    if life is None:
        return
    if row.type == "WAIT_OPENED" and life.waited:
        yield f"{row.node} opens its wait a second time"
    elif row.type == "TIMER_SET" and life.slept:
        yield f"{row.node} sets its timer a second time"
    elif life.ended and row.type in ("NODE_DISPATCHED", "NODE_COMPLETED", "NODE_SKIPPED"):
        repeated = (row.node, row.iteration, row.type, row.attempt) in moment.picture.seen
        if not repeated and life.outcomes.get(row.attempt) is None:
            yield f"{row.type} of {row.node}, which ended at row {life.ended}"


def held_results_count_once_their_delay_is_over(moment: Moment) -> Iterator[str]:
    """HELD: a task that ran may ask for a delay; its node completes with that result after it."""
    row, life = moment.row, moment.life
    if life is None:
        return
    if row.type == "TIMER_SET" and row.payload.get("held") is not None:
        if life.node.type != "task" or not life.running or life.told is not None:
            yield f"{row.node} holds a result, and no attempt of a task brought one"
    elif life.held is not None and row.type == "NODE_DISPATCHED":
        yield f"{row.node} begins again while its result is held"
    elif life.held is not None and row.type == "NODE_COMPLETED" and row.status != "error":
        if row.payload.get("output") != life.held.get("output"):
            yield f"{row.node} completes with another result than it held"
        if life.due is not None and life.told is None:
            yield f"{row.node} completes before its delay is over"


def tokens_are_conserved(rest: Rest) -> Iterator[str]:
    """I15: all-join has one token (done or skipped) per incoming edge; tokens in = tokens out."""
    if rest.picture.status != "COMPLETED" or rest.picture.ending:
        return
    for life in rest.picture.lives.values():
        if life.begun and not life.ended:
            yield f"completed while {life.name} is open"
        elif rest.picture.is_over(life):
            continue
        elif not life.ended and not life.satisfied and not life.dead_path:
            yield f"completed while {life.name} still waits for an edge"


def routes_are_its_own(moment: Moment) -> Iterator[str]:
    """ROUTE: a node takes handles that it has, as many as its type gives."""
    row, life = moment.row, moment.life
    if row.type != "NODE_COMPLETED" or life is None or life.ended:
        return
    handles = row.handles
    if row.status == "error" and row.reused is not None:
        yield from _copied_error_route(row, life, handles)
        return
    if row.status == "error":
        yield from _error_route(row, life, handles)
        return
    if life.then == "route":
        yield f"{row.node} failed, was to be routed, and now succeeds"
    strange = sorted(set(handles) - life.node.success_handles())
    if strange:
        yield f"{row.node} takes {strange}, which it does not have"
    several = life.node.type == "condition" and life.node.config.get("select") == "all"
    if len(handles) != len(set(handles)) or (several and "else" in handles and len(handles) > 1):
        yield f"{row.node} takes {handles}"
    if not several and len(handles) > 1:
        yield f"{row.node} takes {len(handles)} handles at once"
    if life.node.type == "eventWait" and life.resolved is not None:
        late = life.resolved.payload.get("outcome") == "timeout"
        if ("timeout" in handles) != late:
            yield f"{row.node} takes {handles} after {life.resolved.payload.get('outcome')}"
        arm = life.resolved.payload.get("arm")
        if arm is not None and handles != [arm]:
            yield f"{row.node} takes {handles}, the event came by {arm}"


def _copied_error_route(row: Row, life: Life, handles: list[str]) -> Iterator[str]:
    """The failure is in another log; what was handed on tells its code."""
    right = life.node.error_handle(str(_handed_on(row)))
    if handles and handles != [right]:
        yield f"{row.node} is copied with {handles}, {_handed_on(row)} goes to {right}"


def _handed_on(row: Row) -> object:
    return ((row.payload.get("output") or {}).get("error") or {}).get("code")


def _error_route(row: Row, life: Life, handles: list[str]) -> Iterator[str]:
    if life.then != "route":
        yield f"{row.node} takes {handles} without a failure that was to be routed"
        return
    if (right := life.node.error_handle(life.code)) is not None and handles != [right]:
        yield f"{row.node} takes {handles} after {life.code}, which goes to {right}"
    if _handed_on(row) != life.code:
        yield f"{row.node} hands on {_handed_on(row)}, it failed with {life.code}"


def failures_are_decided_rightly(moment: Moment) -> Iterator[str]:
    """ROUTE: first matching `onError.codes`, else `error`, else the workflow fails."""
    row, life = moment.row, moment.life
    if row.type != "NODE_FAILED" or life is None or life.ended:
        return
    then, handle = row.payload.get("then"), life.node.error_handle(row.code)
    if then == "route" and handle is None:
        yield f"{row.node} routes {row.code} and has nothing to route it to"
    if then in ("fail", "iteration") and handle is not None and life.node.has_edge_on(handle):
        yield f"{row.node} fails the workflow though {row.code} goes to {handle}"
    elif then in ("fail", "iteration") and then != (right := _fate(moment, life)):
        yield f"{life.name} fails with `{then}`, the loops around it say `{right}`"
    if then == "cancel" and not life.called_off and not moment.picture.ending:
        yield f"{row.node} failed as if it were being cancelled"


def _fate(moment: Moment, life: Life) -> str:
    """What becomes of a failure that the node itself does not handle: a loop around it may make do
    with it, may handle it as its own, or has ended, so that nothing changes any more.
    """
    for loop in moment.picture.loops_around(life):
        handled = loop.node.error_handle(moment.row.code) is not None
        if loop.ended or loop.node.continues or handled:
            return "iteration"
    return "fail"


def routed_failures_arrive(rest: Rest) -> Iterator[str]:
    """ROUTE: a handled failure is NODE_FAILED and one NODE_COMPLETED with status error."""
    for life in rest.picture.lives.values():
        if life.then == "route" and not life.ended:
            yield f"{life.name} was to be routed and never was"


def failed_items_fail_their_loop(rest: Rest) -> Iterator[str]:
    """ROUTE: `"fail"`: a loop fails with its item, unless it is told to continue."""
    for key, turns in rest.picture.turns.items():
        life = rest.picture.lives[key]
        # A failure that uses up no budget, as a loss does, is one all the same.
        failed = bool(life.failures) or life.outcome == "FAILED"
        if turns.must_fail is not None and not failed:
            yield f"{life.name} did not fail with row {turns.must_fail.seq}"


def conditions_hold(moment: Moment) -> Iterator[str]:
    """ROUTE: `when`, `branches` and `conditions` were read as they are true."""
    row, life = moment.row, moment.life
    if life is None or life.ended:
        return
    config = life.node.config
    if row.type == "NODE_SKIPPED" and row.payload.get("reason") == "when" and "when" not in config:
        yield f"{row.node} is passed over without a `when`"
    if row.reused is not None:
        return  # it was read in another context, perhaps with another input
    if moment.picture.begins(row) and (when := config.get("when")) is not None:
        said = row.payload.get("reason") != "when"
        held = moment.truth(when, moment.picture.scope(when, life.place))
        if held is not None and held != said and row.type != "NODE_FAILED":
            yield f"{row.node}: `{when}` is {held}"
    if row.type == "NODE_COMPLETED" and row.status != "error":
        if life.node.type == "condition":
            yield from _right_branches(moment, life)
        elif (
            config.get("conditions")
            and "timeout" not in row.handles
            and (life.withdrawn or not life.called_off)
        ):
            yield from _right_condition(moment, life)


def values_are_computed_as_told(moment: Moment) -> Iterator[str]:
    """SET: the values of a set step are its templates in the context before it, each a variable."""
    row, life = moment.row, moment.life
    if row.type != "NODE_COMPLETED" or life is None or life.ended or life.node.type != "set":
        return
    if row.status == "error" or row.reused is not None:
        return
    told = life.node.config["values"]
    try:
        scope = moment.picture.scope(str(told), life.place)
        rendered = render(told, scope, moment.evaluate)
    except Unknown:
        return
    right = {name: rendered.get(name) for name in told}
    if row.payload.get("output") != right:
        yield f"{row.node} computes {row.payload.get('output')!r}, its templates say {right!r}"
    if row.payload.get("variables") != right:
        yield f"{row.node} writes {row.payload.get('variables')!r}, its templates say {right!r}"


def _right_branches(moment: Moment, life: Life) -> Iterator[str]:
    right: list[str] = []
    for branch in life.node.config.get("branches") or ():
        held = moment.truth(branch["when"], moment.picture.scope(branch["when"], life.place))
        if held is None:
            return
        if held:
            right.append(str(branch["id"]))
    if life.node.config.get("select", "first") == "first":
        right = right[:1]
    if sorted(moment.row.handles) != sorted(right or ["else"]):
        yield f"{life.node.id} takes {moment.row.handles}, true are {right or ['else']}"


def _right_condition(moment: Moment, life: Life) -> Iterator[str]:
    if set(moment.row.handles) & set(life.node.config.get("handles") or ()):
        return
    row, right = moment.row, "default"
    for route in life.node.config["conditions"]:
        scope = moment.picture.scope(route["when"], life.place)
        if row.variable is not None:
            scope["ctx"][row.variable] = row.payload.get("output")
        scope["ctx"].update(row.payload.get("variables") or {})
        held = moment.truth(route["when"], scope)
        if held is None:
            return
        if held:
            right = str(route["handle"])
            break
    if row.handles != [right]:
        yield f"{life.node.id} takes {row.handles}, its conditions say {right}"


def only_the_region_is_called_off(moment: Moment) -> Iterator[str]:
    """CANCEL: `cancelRest` and `cancels` end what they reach, and nothing else."""
    row, life = moment.row, moment.life
    if life is None or not calls_off(row) or moment.picture.ending or life.may_cancel:
        return
    if moment.picture.firing_rest_of(life) is None and life.node.loop is None:
        yield f"{row.node} is called off and nothing asked for it"


def called_off_bodies_had_a_reason(rest: Rest) -> Iterator[str]:
    """CANCEL: what was called off in a body was asked for, or its loop failed just then."""
    for life, row in rest.picture.unexplained:
        if life.node.loop is not None:
            yield f"{life.name} is called off at row {row.seq} and nothing asked for it"


def what_is_called_off_stays_so(moment: Moment) -> Iterator[str]:
    """CANCEL: what was never dispatched never is; what runs is told before it may end."""
    row, life = moment.row, moment.life
    if life is None or life.ended or moment.picture.ending:
        return
    if row.reused is not None and not row.handles:
        return  # it ended well in its grace: it had been called off, and starts nothing here
    if not life.must_cancel and not life.called_off:
        return
    if row.type in ("NODE_DISPATCHED", "WAIT_OPENED", "TIMER_SET", "RETRY_SCHEDULED"):
        yield f"{row.type} of {row.node}, which was called off"
    elif row.type in ("NODE_COMPLETED", "WAIT_RESOLVED", "TIMER_FIRED") and not life.called_off:
        yield f"{row.type} of {row.node}, which had to be called off at row {life.must_cancel}"


def the_region_is_called_off(rest: Rest) -> Iterator[str]:
    """CANCEL: every unfinished node of the region is called off, and ends."""
    for life in rest.picture.lives.values():
        if life.must_cancel and not life.called_off and not rest.picture.ending:
            yield f"{life.name} had to be called off at row {life.must_cancel} and was not"


def grace_is_kept(moment: Moment) -> Iterator[str]:
    """GRACE: running ones are told and have the grace period; a result within it is recorded."""
    row, life = moment.row, moment.life
    if life is None:
        return
    if row.type == "NODE_CANCEL_REQUESTED" and life.held is not None:
        # Its work is done, and completes it at once.
        if row.moment("graceUntil") != row.at:
            yield f"{row.node} holds its result, and has a grace"
    elif row.type == "NODE_CANCEL_REQUESTED":
        until = row.moment("graceUntil")
        if until != row.at + moment.picture.graph.grace_ms:
            yield f"{row.node} gets {(until or 0) - row.at} ms of grace"
        if not life.running:
            yield f"{row.node} is told to stop and is not running"
    if life.told is None or life.ended or row.seq == life.told.seq:
        return
    until = life.told.moment("graceUntil") or 0
    if row.type == "NODE_COMPLETED" and row.at > until:
        yield f"{row.node} has a result {row.at - until} ms after its grace"


def grace_is_waited_for(rest: Rest) -> Iterator[str]:
    """GRACE: otherwise NODE_CANCELLED, after it; sooner only when the attempt itself has ended."""
    if rest.ledgers.effects is None:
        return
    calls = rest.ledgers.effects.get(rest.instance.id, [])
    told: dict[tuple[str | None, str, int], Row] = {}
    for row in rest.rows:
        key = (row.node, row.iteration, row.attempt)
        if row.type == "NODE_CANCEL_REQUESTED":
            told[key] = row
        if row.type != "NODE_CANCELLED" or key not in told:
            continue
        early = (told[key].moment("graceUntil") or 0) - row.at
        outcomes = [
            call.get("outcome")
            for call in calls
            if (call["node"], call.get("iteration") or "", call["attempt"]) == key
        ]
        if early > 0 and not _ended_by_itself(outcomes) and not rest.run.faults:
            name = rest.picture.lives[row.node or "", row.iteration].name
            yield f"{name} is given up {early} ms before its grace is over"


def _ended_by_itself(outcomes: list[Json]) -> bool:
    """Of an attempt that was told to stop before it began there is no call at all."""
    return not outcomes or outcomes[-1] in ("cancelled", "failed", "lost", "stopped")


def output_is_as_promised(rest: Rest) -> Iterator[str]:
    """OUTPUT: several `end`s merge in order of completion; else the only completed sink's output,
    else `{sinkId: output}`; `terminate` gives its own.
    """
    row = rest.instance.row
    if row is None or "output" not in row or rest.picture.status != "COMPLETED":
        return
    expected = expected_output(rest)
    if row["output"] not in expected:
        yield f"output {row['output']!r}, by the log {expected[0]!r}"


def expected_output(rest: Rest) -> list[Json]:
    """What the output may be: several where the specification leaves it open."""
    picture = rest.picture
    if picture.terminated is not None:
        return [picture.terminated.payload.get("output"), rest.instance.row["output"]]  # type: ignore[index]
    if picture.ended_by_end:
        return [picture.end_output]
    sinks: dict[str, Json] = {}
    open_ended = False
    for life in picture.lives.values():
        if life.outcome != "COMPLETED" or life.node.loop is not None:
            continue
        if not life.node.outgoing:
            sinks[life.node.id] = life.output
        elif not any(edge.handle in life.handles for edge in life.node.outgoing):
            open_ended = True
    answers: list[Json] = [next(iter(sinks.values())) if len(sinks) == 1 else sinks]
    if not sinks:
        answers.append(None)
    if open_ended and rest.instance.row is not None:
        answers.append(rest.instance.row["output"])
    return answers
