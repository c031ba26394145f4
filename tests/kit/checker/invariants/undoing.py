"""What is undone, by the history of an instance: I29 and I30."""

from __future__ import annotations

from collections.abc import Iterator

from tests.kit.checker.invariants.judgement import Rest, truth
from tests.kit.checker.picture import FINAL
from tests.kit.checker.record import Fields, Row

Place = tuple[str, str]
_FORWARD = ("NODE_DISPATCHED", "WAIT_OPENED", "TIMER_SET", "ITERATION_STARTED", "CHILD_STARTED")


def is_about_undoing(row: Row, document: Fields) -> bool:
    """Whether a row is about a compensation, and not about a node."""
    return row.type.startswith("COMPENSATION_") or row.node in _steps(document)


def what_completed_is_undone(rest: Rest) -> Iterator[str]:
    """I29: Compensated set = completed compensatable steps whose condition held; order = reverse
    completion; runs for failure, cancel, timeout, termination.
    """
    owed, unsure = _owed(rest)
    plan = _plan(rest)
    if plan is None:
        if rest.run.at_rest and owed and _must_undo(rest):
            yield f"ended {rest.picture.status} with {owed} not undone"
        return
    planned = [place for place in _places(plan) if place not in unsure]
    if planned != owed:
        yield f"{planned} is to be undone, by what completed {owed}"
    if rest.picture.status == "COMPLETED" and rest.picture.parent is None:
        yield "undone although it completed, and nobody could have asked for it"


def each_is_undone_once_in_its_turn(rest: Rest) -> Iterator[str]:
    """I29: each has one final outcome; one failing does not stop the rest; not repeated after a
    crash.
    """
    plan = _plan(rest)
    places = [] if plan is None else _places(plan)
    outcomes: list[Place] = []
    attempts: dict[Place, int] = {}
    has_ended = False
    # A plan without anything in it may have ended before a retry took the failure back.
    retried = max((row.seq for row in rest.rows if row.type == "RETRY_REQUESTED"), default=0)
    for row in rest.rows[retried:]:
        place = (row.node or "", row.iteration)
        if row.type == "COMPENSATION_DISPATCHED":
            is_retried = has_ended and place in outcomes
            if not is_retried and places[len(outcomes) : len(outcomes) + 1] != [place]:
                yield f"{place} is undone out of its turn"
            if row.attempt != attempts.get(place, 0) + 1:
                yield f"{place} #{row.attempt} after #{attempts.get(place, 0)}"
            attempts[place] = row.attempt
        elif _is_outcome(row):
            if place in outcomes and not has_ended:
                yield f"{place} has a second outcome"
            outcomes.append(place)
            attempts[place] = row.attempt
        elif row.type == "COMPENSATION_ENDED":
            has_ended = True
            if sorted(set(outcomes)) != sorted(places):
                yield f"over with {outcomes}, planned were {places}"


def nothing_is_done_while_it_is_undone(rest: Rest) -> Iterator[str]:
    """I29: it begins when nothing is open any more, and the end is declared after it."""
    begun = [row.seq for row in rest.rows if row.type == "COMPENSATION_DISPATCHED"]
    for row in rest.rows:
        if row.type == "RETRY_REQUESTED" and begun and begun[0] < row.seq:
            yield "retried although it had been undone"
    plan = _plan(rest)
    if plan is None:
        return
    has_ended = False
    for row in rest.rows[plan.seq :]:
        has_ended = has_ended or row.type == "COMPENSATION_ENDED"
        is_end = row.type == "STATUS_CHANGED" and row.payload.get("to") in FINAL
        if row.type in _FORWARD and row.node in rest.picture.graph.nodes:
            yield f"{row.type} of {row.node} while it was being undone"
        if is_end and not has_ended:
            yield f"{row.payload.get('to')} before everything was undone"
    if not has_ended and rest.run.at_rest:
        yield "not over at rest"


def what_undoes_saw_what_was_done(rest: Rest) -> Iterator[str]:
    """I30: Compensation saw the original's recorded output."""
    undone = {name: str(step["compensationFor"]) for name, step in _steps(_document(rest)).items()}
    outputs = {
        (row.node, row.iteration): row.payload.get("output")
        for row in rest.rows
        if row.type in ("NODE_COMPLETED", "NODE_FAILED")
    }
    for row in rest.rows:
        given = row.payload.get("input")
        if row.type != "COMPENSATION_DISPATCHED" or not isinstance(given, dict):
            continue
        output = outputs.get((undone.get(str(row.node)), row.iteration))
        if "of" in given and given["of"] != output:
            yield f"{row.node} was given {given['of']!r}, the step gave {output!r}"


def what_is_undone_was_called(rest: Rest) -> Iterator[str]:
    """I29: a recorded compensation is one that ran, and what failed for good is kept."""
    steps = _steps(_document(rest))
    calls = {
        (str(call["node"]), str(call.get("iteration") or ""), int(call["attempt"]))
        for call in (rest.ledgers.effects or {}).get(rest.instance.id, [])
        if call.get("outcome") == "completed"
    }
    for row in rest.rows:
        if row.node not in steps:
            continue
        place = (row.node, row.iteration, row.attempt)
        if row.type == "COMPENSATION_COMPLETED" and rest.ledgers.effects is not None:
            if place not in calls:
                yield f"{row.node} #{row.attempt} is recorded as undone and no such call completed"
        elif row.type == "COMPENSATION_FAILED" and row.payload.get("then") == "fail":
            letters = rest.instance.dead_letters
            if (row.node, row.iteration) in _dispatched_after(rest, row):
                continue
            if letters is not None and not any(
                (letter["kind"], letter["node"]) == ("compensation-failed", row.node)
                for letter in letters
            ):
                yield f"no dead letter for {row.node} #{row.attempt}, which was given up"


def _dispatched_after(rest: Rest, row: Row) -> set[Place]:
    """What somebody had tried again after it was given up."""
    return {
        (str(each.node), each.iteration)
        for each in rest.rows
        if each.type == "COMPENSATION_DISPATCHED" and each.seq > row.seq
    }


def _plan(rest: Rest) -> Row | None:
    """The plan that counts: a retry by hand takes back one of which nothing was tried."""
    found: Row | None = None
    for row in rest.rows:
        if row.type == "COMPENSATION_PLANNED":
            found = row
        elif row.type == "RETRY_REQUESTED":
            found = None
    return found


def _places(plan: Row) -> list[Place]:
    return [
        (str(item["stepId"]), str(item.get("iteration") or ""))
        for item in plan.payload.get("plan") or ()
    ]


def _owed(rest: Rest) -> tuple[list[Place], set[Place]]:
    """What is to be undone by what completed, in this order, and what cannot be told."""
    by_node = {str(step["compensationFor"]): step for step in _steps(_document(rest)).values()}
    found: list[Place] = []
    unsure: set[Place] = set()
    children: dict[tuple[str | None, str], bool] = {}
    plan = _plan(rest)
    rows = rest.rows if plan is None else rest.rows[: plan.seq - 1]
    retried = max((row.seq for row in rows if row.type == "RETRY_REQUESTED"), default=0)
    for row in rows:
        if row.type == "CHILD_ENDED":
            children[row.node, row.iteration] = bool(row.payload.get("canBeUndone"))
        if row.node is None or not _leaves_work(row, retried):
            continue
        step = by_node.get(row.node)
        if step is None:
            if children.get((row.node, row.iteration)):
                found.append((row.node, row.iteration))
            continue
        place = (str(step["stepId"]), row.iteration)
        condition = step.get("condition")
        holds: bool | None = True
        if condition is not None:
            scope = rest.picture.scope(str(condition))
            holds = truth(rest.evaluate, str(condition), scope)
        if holds is None:
            unsure.add(place)
        elif holds:
            found.append(place)
    return found[::-1], unsure


def _leaves_work(row: Row, retried: int) -> bool:
    """Whether a row says that something was done here, which a retry did not open again."""
    if row.type == "NODE_COMPLETED":
        # What a rerun took over is the business of the instance that ran it.
        return row.status != "error" and not row.payload.get("reusedFrom")
    if row.type != "NODE_FAILED" or row.payload.get("then") in ("retry", "route"):
        return False
    error = row.payload.get("error")
    return row.seq > retried and isinstance(error, dict) and bool(error.get("wasDone"))


def _must_undo(rest: Rest) -> bool:
    picture = rest.picture
    if picture.status not in ("FAILED", "CANCELLED") or "quarantine" in picture.system:
        return False
    asked = [row for row in rest.rows if row.type == "CANCEL_REQUESTED"]
    if asked:
        return bool(asked[-1].payload.get("shouldCompensate"))
    options = _document(rest).get("workflowOptions") or _document(rest).get("options") or {}
    return options.get("compensateOnFailure") is not False


def _is_outcome(row: Row) -> bool:
    if row.type == "COMPENSATION_FAILED":
        return row.payload.get("then") == "fail"
    return row.type == "COMPENSATION_COMPLETED"


def _document(rest: Rest) -> Fields:
    return rest.instance.document


def _steps(document: Fields) -> dict[str, Fields]:
    return {str(step["stepId"]): step for step in document.get("compensationSteps") or ()}
