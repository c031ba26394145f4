"""Instances that steps started, and those that wait for them: FAMILY.

A child exists once, where its parent's log says so and nowhere else; its end reaches the parent,
and the parent's end reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from uuid import UUID

from tests.kit.checker.invariants.judgement import Moment, Summary, Whole
from tests.kit.checker.picture import FINAL
from tests.kit.checker.record import Fields, Row
from tests.kit.checker.violation import Violation

MOST_DEPTH = 20
_CODES = {"FAILED": "CHILD_FAILED", "CANCELLED": "CHILD_CANCELLED"}


def children_follow_their_orders(moment: Moment) -> Iterator[str]:
    """FAMILY: an attempt that was ordered has one child, of the version that the first one had."""
    row, life = moment.row, moment.life
    if life is None:
        return
    if row.type == "CHILD_STARTED":
        if not life.node.starts_a_child or not life.running or row.attempt != life.attempt:
            yield f"{row.node} #{row.attempt} has a child that was not ordered"
        yield from _as_written(moment)
    elif row.type == "CHILD_ENDED":
        child = None if life.child is None else life.child.payload.get("childId")
        if child is None or child != row.payload.get("childId"):
            yield f"{row.payload.get('childId')} ends, and {row.node} waits for {child}"
        if row.payload.get("status") not in FINAL:
            yield f"the child of {row.node} ended {row.payload.get('status')}"


def _as_written(moment: Moment) -> Iterator[str]:
    """The child is of the workflow that the step names, and its id tells when it was ordered."""
    row, life = moment.row, moment.life
    assert life is not None
    config, said = life.node.config, row.payload
    if said.get("workflowId") != config.get("workflowId"):
        yield f"{row.node} starts {said.get('workflowId')}, told {config.get('workflowId')}"
    for version in (config.get("version"), life.child_version):
        if version not in (None, said.get("version")):
            yield f"{row.node} starts version {said.get('version')}, told {version}"
    if UUID(str(said.get("childId"))).int >> 80 != life.ordered_at:
        yield f"the id of {row.node}'s child is of another moment than {life.ordered_at}"


def outcomes_follow_from_children(moment: Moment) -> Iterator[str]:
    """FAMILY: a step completes, or fails, as its child did; what is copied did so elsewhere."""
    row, life = moment.row, moment.life
    if life is None or not life.node.starts_a_child or row.reused is not None:
        return
    if row.type not in {"NODE_COMPLETED", "NODE_FAILED"}:
        return
    ended = None if life.child_ended is None else life.child_ended.payload.get("status")
    if row.type == "NODE_COMPLETED" and row.status != "error" and ended != "COMPLETED":
        yield f"{row.node} completes, and its child is {ended}"
    if row.code in _CODES.values() and _CODES.get(str(ended)) != row.code:
        yield f"{row.node} fails with {row.code}, and its child is {ended}"
    if row.code == "CHILD_CANCELLED" and row.payload.get("then") == "retry":
        yield f"{row.node} is tried again though its child was cancelled"


def every_child_has_its_parent(whole: Whole) -> Iterator[Violation]:
    """FAMILY: an instance that was started from a step is in that step's log, once, as it says."""
    known = {summary.id: summary for summary in whole.summaries}
    for child in whole.summaries:
        if child.parent is None:
            continue
        parent = known.get(str(child.parent.get("id")))
        births = [] if parent is None else _births_of(parent, child.id)
        if parent is None or len(births) != 1:
            yield _wrong(child, f"its parent's log has started it {len(births)} times")
            continue
        yield from _told_rightly(parent, births[0], child, child.parent)


def _told_rightly(parent: Summary, birth: Row, child: Summary, said: Fields) -> Iterator[Violation]:
    place = (said.get("node"), said.get("iteration") or "", said.get("attempt") or 1)
    if place != (birth.node, birth.iteration, birth.attempt):
        yield _wrong(child, f"it was started by {place}, says it, and not by {birth}")
    above = parent.parent or {"rootId": parent.id, "depth": 0}
    if (said.get("rootId"), said.get("depth")) != (above["rootId"], above["depth"] + 1):
        yield _wrong(child, f"its root and depth are {said}, its parent's {above}")
    if said.get("depth", 0) > MOST_DEPTH:
        yield _wrong(child, f"it lies {said.get('depth')} deep")
    definition = (birth.payload.get("workflowId"), birth.payload.get("version"))
    if child.definition != definition:
        yield _wrong(child, f"it runs {child.definition}, told {definition}")
    if parent.deadline is not None and (child.deadline or parent.deadline + 1) > parent.deadline:
        yield _wrong(child, f"it may run until {child.deadline}, its parent {parent.deadline}")


def every_birth_has_its_child(whole: Whole) -> Iterator[Violation]:
    """FAMILY: at rest, whoever was started is there."""
    if not whole.ledgers.run.at_rest:
        return
    known = {summary.id for summary in whole.summaries}
    for parent in whole.summaries:
        for birth in parent.births:
            id = str(birth.payload.get("childId"))
            death = parent.deaths.get(id)
            was_refused = death is not None and death.payload.get("status") == "FAILED"
            # One that was cancelled before it had begun never begins.
            if id not in known and not was_refused and id not in parent.given_up:
                yield _wrong(parent, f"its child {id} does not exist", birth.seq)


def families_are_bounded(whole: Whole) -> Iterator[Violation]:
    """FAMILY: one instance has led to so many at most that have not ended, whatever starts them."""
    most = whole.ledgers.run.most_descendants
    if most is None:
        return
    changes: dict[str, list[tuple[int, int]]] = {}
    for summary in whole.summaries:
        parent = summary.parent or {}
        origin = summary.origin or parent.get("rootId")
        if origin is None:
            continue
        family = changes.setdefault(str(origin), [])
        family.append((summary.began_at, 1))
        if summary.ended_at is not None:
            family.append((summary.ended_at, -1))
    for origin, family in changes.items():
        # Of what happens within a millisecond the ends are taken first.
        highest = max(accumulate(change for _, change in sorted(family)))
        if highest > most:
            message = f"it has led to {highest} at once, of {most} at most"
            yield Violation("FAMILY", origin, 0, message)


def ends_are_told(whole: Whole) -> Iterator[Violation]:
    """FAMILY: at rest, a parent knows how its child ended, and no child outlives its use."""
    known = {summary.id: summary for summary in whole.summaries}
    for parent in whole.summaries:
        for birth in parent.births:
            child = known.get(str(birth.payload.get("childId")))
            if child is None:
                continue
            death = parent.deaths.get(child.id)
            if death is not None:
                yield from _same_end(parent, child, death)
            elif child.id in parent.given_up:
                yield from _told_to_end(whole, child, parent.given_up[child.id])
            elif whole.ledgers.run.at_rest and child.status in FINAL:
                message = f"{child.id} is {child.status}, and it was not told"
                yield _wrong(parent, message, birth.seq)


def _same_end(parent: Summary, child: Summary, death: Row) -> Iterator[Violation]:
    told = death.payload.get("status")
    if child.status != told:
        yield _wrong(parent, f"{child.id} is {child.status}, told was {told}", death.seq)
    if child.id in parent.outputs and parent.outputs[child.id] != child.output:
        given = parent.outputs[child.id]
        yield _wrong(parent, f"{child.id} gave {child.output!r}, recorded is {given!r}", death.seq)


def _told_to_end(whole: Whole, child: Summary, since: int) -> Iterator[Violation]:
    """Whoever nobody waits for is told so, unless it has ended by then; and then it ends."""
    run = whole.ledgers.run
    if run.at_rest and child.status not in FINAL:
        yield _wrong(child, f"it is {child.status}, and nobody waits for it any more")
    # When the world goes wrong the news may take longer than the child.
    long_after = child.ended_at is not None and child.ended_at > since + run.bound_ms
    # One that is ending already has its grace, and no second cancel is recorded.
    was_ending = any(moment <= since for moment in child.asked_at)
    if long_after and "PARENT" not in child.asked and not was_ending and not run.faults:
        yield _wrong(child, f"it went on until {child.ended_at}, though given up at {since}")


def _births_of(parent: Summary, id: str) -> list[Row]:
    return [row for row in parent.births if row.payload.get("childId") == id]


def _wrong(summary: Summary, message: str, seq: int = 0) -> Violation:
    return Violation("FAMILY", summary.id, seq, message)
