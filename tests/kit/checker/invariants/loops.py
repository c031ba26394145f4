"""Loops: I16 (iterations), LOOP (what a loop goes over and gives) and SCOPE (what a body sees)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.expression import UNDEFINED, Json, Unknown, render
from tests.kit.checker.graph import MAX_ITERATIONS
from tests.kit.checker.invariants.judgement import Moment, Rest, truth
from tests.kit.checker.life import Life
from tests.kit.checker.patterns import fits
from tests.kit.checker.picture import is_never_begun
from tests.kit.checker.turns import Turns, index_of, outcome_of

_NOT_KNOWN = object()


def iterations_follow_each_other(moment: Moment) -> Iterator[str]:
    """I16: Loop and multi-instance: child indexes are 0…n-1 once each, no more at once than told,
    none after its loop has an outcome or is called off.
    """
    row, loop = moment.row, moment.life
    if row.type != "ITERATION_STARTED" or loop is None:
        return
    if loop.node.type != "loop":
        yield f"{row.node} is no loop"
        return
    turns = _turns(moment, loop)
    begun = 0 if turns is None else len(turns.iterations)
    if index_of(row.iteration) != begun:
        yield f"{row.node}[{row.iteration}] begins after {begun} others"
    active = 0 if turns is None else len(turns.active)
    if active >= loop.node.concurrency:
        yield f"{row.node}[{row.iteration}] begins beside {active}, of {loop.node.concurrency}"
    if loop.ended or loop.called_off:
        yield f"{row.node}[{row.iteration}] begins, and its loop ended at row {loop.ended}"
    if turns is not None and turns.must_fail is not None:
        yield f"{row.node}[{row.iteration}] begins though row {turns.must_fail.seq} failed the loop"
    if turns is not None and turns.ends and _is_enough(moment, loop, turns) is True:
        yield f"{row.node}[{row.iteration}] begins though there was enough"


def iterations_end_once(moment: Moment) -> Iterator[str]:
    """I16: body ends after the last child: an iteration ends once, when nothing of it is active,
    and every node of it that could begin has.
    """
    row, loop, picture = moment.row, moment.life, moment.picture
    if row.type != "ITERATION_ENDED" or loop is None:
        return
    place = f"{row.node}[{row.iteration}]"
    iteration = picture.iterations.get((row.node or "", row.iteration))
    if iteration is None or iteration.ended is not None:
        yield f"{place} ends and is not under way"
        return
    outcome = outcome_of(row)
    for id in loop.node.body:
        life = picture.lives[id, row.iteration]
        inner = picture.turns.get((id, row.iteration))
        if life.open or (inner is not None and inner.active):
            yield f"{place} ends while {life.name} is active"
        elif outcome == "success" and not life.ended and not iteration.is_over:
            yield f"{place} ends and {life.name} has not"
    if iteration.failure is not None:
        if outcome != "error" or row.code != iteration.failure.code:
            yield f"{place} ended {outcome} {row.code}, row {iteration.failure.seq} failed it"
    elif iteration.called_off != (outcome == "cancelled"):
        yield f"{place} ended {outcome}, called off: {iteration.called_off}"
    elif outcome == "error" and "result" not in loop.node.config:
        yield f"{place} ended {outcome} without a failure"


def nothing_begins_in_what_is_over(moment: Moment) -> Iterator[str]:
    """I16: nothing of an iteration begins after it failed, was called off or ended."""
    row, life, picture = moment.row, moment.life, moment.picture
    if life is None or row.type == "ITERATION_ENDED" or picture.ending:
        return
    starts = picture.begins(row) or row.type in ("NODE_DISPATCHED", "ITERATION_STARTED")
    if starts and picture.is_over(life):
        yield f"{row.type} of {life.name}, whose iteration is over"


def every_iteration_has_ended(rest: Rest) -> Iterator[str]:
    """I16: the instance is done only when they have ended."""
    if rest.picture.status != "COMPLETED" or rest.picture.ending:
        return
    for (loop, path), iteration in rest.picture.iterations.items():
        if iteration.ended is None:
            yield f"completed while {loop}[{path}] is under way"


def sources_are_read_once(moment: Moment) -> Iterator[str]:
    """LOOP: `source` is read once and must be an array; a loop goes over its items and no more."""
    row, loop = moment.row, moment.life
    if loop is None or loop.node.type != "loop" or "source" not in loop.node.config:
        return
    if loop.node.takes_arrivals:
        yield from _arrivals_begin_as_they_came(moment, loop)
        return
    if row.reused is not None:
        return
    turns = _turns(moment, loop)
    if row.type == "ITERATION_STARTED" and turns is not None:
        if "items" in row.payload:
            yield f"{row.node}[{row.iteration}] reads the source again"
        if index_of(row.iteration) >= len(turns.items or ()):
            yield f"{row.node}[{row.iteration}] is beyond the items"
    elif row.type == "ITERATION_STARTED":
        items, right = row.payload.get("items"), _source(moment, loop)
        if right is not _NOT_KNOWN and items != right:
            yield f"{row.node} goes over {items!r}, its source is {right!r}"
    elif not loop.begun and row.type in ("NODE_COMPLETED", "NODE_FAILED"):
        right = _source(moment, loop)
        if row.code == "LOOP_SOURCE" and isinstance(right, list):
            yield f"{row.node} fails with {row.code}, its source is {right!r}"
        if row.type == "NODE_COMPLETED" and right not in ([], _NOT_KNOWN):
            yield f"{row.node} is over at once, its source is {right!r}"


def _arrivals_begin_as_they_came(moment: Moment, loop: Life) -> Iterator[str]:
    row = moment.row
    if row.type == "ITERATION_STARTED":
        place, index = f"{row.node}[{row.iteration}]", index_of(row.iteration)
        if "items" in row.payload:
            yield f"{place} reads a source, and its loop takes arrivals"
        if index >= len(loop.arrivals):
            yield f"{place} begins, and {len(loop.arrivals)} edges have been taken"
        elif row.payload.get("from") != loop.arrivals[index]["from"]:
            yield f"{place} is from {row.payload.get('from')}, not {loop.arrivals[index]['from']}"
    elif row.type == "NODE_COMPLETED" and row.reused is None and not loop.begun:
        yield f"{row.node} is over and has not begun"


def arrivals_are_taken_up(rest: Rest) -> Iterator[str]:
    """LOOP: at rest each taken edge of a loop over arrivals is begun, unless there is no room, and
    the loop is over once all edges have arrived and all iterations have ended.
    """
    if not rest.run.at_rest or not rest.moves:
        return
    for key, turns in rest.picture.turns.items():
        life = rest.picture.lives[key]
        if not turns.node.takes_arrivals or not life.open or rest.picture.is_over(life):
            continue
        active = len(turns.active)
        if len(turns.iterations) < len(life.arrivals) and active < turns.node.concurrency:
            yield f"{life.name} has begun {len(turns.iterations)} of {len(life.arrivals)} arrivals"
        if not active and life.taken + life.dead == life.total:
            yield f"{life.name} goes on, and no edge is left that could arrive"


def conditions_let_it_go_on(moment: Moment) -> Iterator[str]:
    """LOOP: `while` is tested before each iteration, with `ctx.index` and `ctx.last`; at
    `maxIterations` it fails `LOOP_LIMIT`.
    """
    row, loop = moment.row, moment.life
    if loop is None or "while" not in loop.node.config or loop.ended or row.reused is not None:
        return
    turns = _turns(moment, loop)
    begun = 0 if turns is None else len(turns.iterations) - turns.fresh_from
    most = int(loop.node.config.get("maxIterations", MAX_ITERATIONS))
    if row.type == "NODE_FAILED" and row.code == "LOOP_LIMIT" and begun != most:
        yield f"{row.node} fails with {row.code} after {begun} of {most}"
    if row.type == "ITERATION_STARTED":
        if begun >= most:
            yield f"{row.node}[{row.iteration}] begins beyond {most}"
        if _goes_on(moment, loop, turns) is False:
            yield f"{row.node}[{row.iteration}] begins, and its condition is false"
    elif row.type == "NODE_COMPLETED" and row.status != "error":
        enough = turns is not None and _is_enough(moment, loop, turns) is not False
        if not enough and _goes_on(moment, loop, turns) is True:
            yield f"{row.node} is over, and its condition is true"


def iterations_give_what_they_promise(moment: Moment) -> Iterator[str]:
    """LOOP: its result is `result` (a template) if given, else the output of its only sink, else
    `{sinkId: output}`.
    """
    row, loop = moment.row, moment.life
    if row.type != "ITERATION_ENDED" or loop is None or outcome_of(row) != "success":
        return
    place = (loop.node.id, row.iteration)
    if place not in moment.picture.iterations:
        return
    template = loop.node.config.get("result")
    if template is None:
        right = _sinks(moment, loop, row.iteration)
    else:
        right = _rendered(moment, template, moment.picture.scope(f"{template}", place))
    given = row.payload.get("output")
    if right is not _NOT_KNOWN and given != (None if right is UNDEFINED else right):
        yield f"{row.node}[{row.iteration}] gives {given!r}, promised is {right!r}"


def loops_end_when_all_have_or_enough(moment: Moment) -> Iterator[str]:
    """LOOP: `done` is taken when all, or enough, have ended; outputs are collected in item order,
    null where an item failed.
    """
    row, loop = moment.row, moment.life
    if loop is None or loop.node.type != "loop" or loop.ended:
        return
    turns = _turns(moment, loop)
    if row.type != "NODE_COMPLETED" or row.status == "error" or row.reused is not None:
        return
    given = row.payload.get("output")
    if turns is None:
        if given != []:
            yield f"{row.node} gives {given!r} without an iteration"
        return
    if given != turns.results:
        yield f"{row.node} gives {given!r}, its iterations {turns.results!r}"
    begun = len(turns.iterations)
    never_begun = [] if turns.items is None else [*range(begun, len(turns.items))]
    if turns.skipped != never_begun:
        yield f"{row.node} is over, {turns.skipped} are skipped of {never_begun}, which never began"
    all_ended = not turns.active and len(turns.ends) == len(turns.items or turns.ends)
    all_ended &= not loop.node.takes_arrivals or loop.taken + loop.dead == loop.total
    if not all_ended and _is_enough(moment, loop, turns) is False:
        yield f"{row.node} is over with {len(turns.ends)} of {len(turns.iterations)} begun"
    failed = [code for _, code in turns.errors]
    if failed and not loop.node.continues:
        yield f"{row.node} is over though an item failed with {failed[0]}"


def items_are_skipped_for_a_reason(moment: Moment) -> Iterator[str]:
    """LOOP: items that never began are NODE_SKIPPED (`reason: "enough"`), once each, in order."""
    row, loop = moment.row, moment.life
    if loop is None or not is_never_begun(row):
        return
    place = f"{row.node}[{row.iteration}]"
    turns = _turns(moment, loop)
    if turns is None or turns.items is None or loop.ended:
        yield f"{place} is skipped, and its loop is not under way"
        return
    right = len(turns.iterations) + len(turns.skipped)
    if index_of(row.iteration) != right or right >= len(turns.items):
        yield f"{place} is skipped, the next item is {right} of {len(turns.items)}"
    if _is_enough(moment, loop, turns) is False:
        yield f"{place} is skipped, and there was not enough"


def items_are_appended_by_what_fits(moment: Moment) -> Iterator[str]:
    """LOOP: `more`: while an iteration is active each matching event appends one item, once; the
    iteration names the event.
    """
    row, loop = moment.row, moment.life
    if loop is None or loop.node.type != "loop":
        return
    turns = _turns(moment, loop)
    if row.type == "ITERATION_STARTED" and turns is not None:
        by = turns.appended.get(index_of(row.iteration))
        right = None if by is None else by.payload.get("eventId")
        if row.payload.get("eventId") != right:
            yield f"{row.node}[{row.iteration}] names {row.payload.get('eventId')}, not {right}"
    if row.type != "WAIT_RESOLVED":
        return
    more, id = loop.node.config.get("more"), str(row.payload.get("eventId"))
    if more is None or turns is None or loop.ended or not turns.active:
        yield f"{id} appends an item to {row.node}, which takes none"
        return
    if any(str(each.payload.get("eventId")) == id for each in turns.appended.values()):
        yield f"{id} appends a second item to {row.node}"
    event = (moment.ledgers.events or {}).get(id)
    if event is None:
        return
    if not fits(str(more["eventPattern"]), str(event["pattern"])):
        yield f"{id} appends an item to {row.node}, and does not fit"
    template = more.get("item", "{{event.payload}}")
    scope = {**moment.picture.scope(f"{template}", loop.place), "event": event}
    item = _rendered(moment, template, scope)
    if item is not _NOT_KNOWN and row.payload.get("event") != (None if item is UNDEFINED else item):
        yield f"{id} appends {row.payload.get('event')!r}, its template gives {item!r}"


def what_completes_a_loop_ends_it(rest: Rest) -> Iterator[str]:
    """LOOP: when a node completes, the loops that it `completes` end, unless the instance does."""
    if not rest.run.at_rest or not (rest.moves or rest.picture.status == "COMPLETED"):
        return
    for key, turns in rest.picture.turns.items():
        life = rest.picture.lives[key]
        if turns.completed_by is not None and not life.ended and not rest.picture.is_over(life):
            yield f"{life.name} goes on after row {turns.completed_by.seq}, which completes it"


def inputs_are_of_their_iteration(moment: Moment) -> Iterator[str]:
    """SCOPE: each iteration has its own scope: `parallel` from the context at loop entry,
    `sequential` and `while` from the iteration before.
    """
    row, life = moment.row, moment.life
    if row.type != "NODE_DISPATCHED" or life is None or "input" not in row.payload or life.begun:
        return
    template = life.node.config.get("input")
    if template is None:
        return
    right = _rendered(moment, template, moment.picture.scope(f"{template}", life.place))
    given = row.payload["input"]
    if right is not _NOT_KNOWN and given != (None if right is UNDEFINED else right):
        yield f"{life.name} is given {given!r}, it sees {right!r}"


def _turns(moment: Moment, loop: Life) -> Turns | None:
    return moment.picture.turns.get((loop.node.id, loop.iteration))


def _is_enough(moment: Moment, loop: Life, turns: Turns) -> bool | None:
    """Whether a loop may end with the results so far; None when that cannot be told."""
    enough = loop.node.config.get("enough")
    if turns.completed_by is not None or turns.skipped:
        return True
    if enough is None:
        return False
    if isinstance(enough, int):
        return turns.succeeded >= enough
    scope = moment.picture.scope(enough, loop.place)
    scope["ctx"]["results"] = turns.as_they_ended
    return truth(moment.evaluate, enough, scope)


def _goes_on(moment: Moment, loop: Life, turns: Turns | None) -> bool | None:
    condition = loop.node.config["while"]
    scope = moment.picture.scope(condition, loop.place)
    names = {"index": 0, "last": None}
    if turns is not None:
        scope["ctx"] = {**turns.next_ctx, **moment.picture.names_of(loop.place)}
        names = {"index": len(turns.iterations), "last": turns.last}
    scope["ctx"].update(names)
    return truth(moment.evaluate, condition, scope)


def _source(moment: Moment, loop: Life) -> Json:
    template = loop.node.config["source"]
    value = _rendered(moment, template, moment.picture.scope(f"{template}", loop.place))
    return None if value is UNDEFINED else value


def _rendered(moment: Moment, template: Json, scope: dict[str, Json]) -> Json:
    try:
        return render(template, scope, moment.evaluate)
    except Unknown:
        return _NOT_KNOWN


def _sinks(moment: Moment, loop: Life, path: str) -> Json:
    found: dict[str, Json] = {}
    for id in loop.node.body:
        life = moment.picture.lives[id, path]
        if not life.node.outgoing and life.outcome in ("COMPLETED", "FAILED"):
            found[id] = life.output
    return next(iter(found.values())) if len(found) == 1 else found
