"""Reads a run instance by instance and row by row, and says which promises were broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from tests.kit.checker.expression import Evaluate, evaluate as small_evaluate
from tests.kit.checker.graph import Graph, read
from tests.kit.checker.invariants import ALWAYS, AT_REST, EACH_ROW, OVER_RUN, UNDOING
from tests.kit.checker.invariants.judgement import Ledgers, Moment, Rest, Summary, Whole
from tests.kit.checker.invariants.telling import told_of
from tests.kit.checker.invariants.undoing import is_about_undoing
from tests.kit.checker.picture import Picture
from tests.kit.checker.record import Fields, Instance, Row, Run, row_of
from tests.kit.checker.violation import Violation

_EXCERPT = 8
Graphs: TypeAlias = dict[int, tuple[Fields, Graph]]


def check(run: Run, *, evaluate: Evaluate = small_evaluate) -> list[Violation]:
    """Every broken promise of a run, the instances' first.

    Memory is bounded by the largest instance, time is linear in the rows. `evaluate(expression,
    scope)` may replace the checker's own small reader of conditions.
    """
    return list(violations(run, evaluate=evaluate))


def violations(run: Run, *, evaluate: Evaluate = small_evaluate) -> Iterator[Violation]:
    """The same as `check`, one by one as they are found."""
    whole = Whole(Ledgers(run))
    graphs: Graphs = {}
    for instance in run.instances:
        yield from _check_instance(instance, _graph_of(instance.document, graphs), whole, evaluate)
    for invariant in OVER_RUN:
        yield from invariant(whole)


def counted(run: Run) -> Counter[str]:
    """How often each kind of row, end, join, skip and loss happened: what quotas are made of."""
    whole = Whole(Ledgers(run))
    graphs: Graphs = {}
    for instance in run.instances:
        graph = _graph_of(instance.document, graphs)
        for _ in _check_instance(instance, graph, whole, small_evaluate):
            pass
    return whole.counts


def _graph_of(document: Fields, graphs: Graphs) -> Graph:
    key = id(document)
    if key not in graphs:
        graphs[key] = (document, read(document))
    return graphs[key][1]


def _check_instance(
    instance: Instance, graph: Graph, whole: Whole, evaluate: Evaluate
) -> Iterator[Violation]:
    picture = Picture(instance.id, graph)
    rows = [row_of(item) for item in instance.history]
    for row in rows:
        moment = Moment(picture, row, picture.life(row), whole.ledgers, evaluate)
        invariants = ALWAYS if picture.is_final else ALWAYS + EACH_ROW
        about_undoing = is_about_undoing(row, instance.document)
        if about_undoing:
            invariants = UNDOING
        for name, each_row in invariants:
            for message in each_row(moment):
                yield Violation(name, instance.id, row.seq, message, _excerpt(rows, row))
        is_retry = (picture.status, row.type) == ("FAILED", "RETRY_REQUESTED")
        if about_undoing:
            picture.version = row.seq
            picture.counts[row.type] = picture.counts.get(row.type, 0) + 1
        elif picture.is_final and not is_retry:
            picture.version = row.seq
        else:
            picture.apply(row)
    rest = Rest(picture, instance, rows, whole.ledgers, evaluate)
    for name, at_rest in AT_REST:
        for message in at_rest(rest):
            tail = tuple(str(row) for row in rows[-_EXCERPT:])
            yield Violation(name, instance.id, 0, message, tail)
    _summarise(picture, instance, rows, whole)


def _summarise(picture: Picture, instance: Instance, rows: list[Row], whole: Whole) -> None:
    whole.counts.update(picture.counts)
    whole.counts[picture.status] += 1
    whole.counts["instances"] += 1
    whole.counts["region called off"] += sum(
        life.must_cancel > 0 for life in picture.lives.values()
    )
    whole.counts["event taken"] += len(picture.taken_events)
    stored = instance.row or {}
    whole.summaries.append(
        Summary(
            id=instance.id,
            input=picture.ctx.get("input"),
            definition=picture.definition,
            key=stored.get("key"),
            status=picture.status,
            counts=picture.counts,
            last_seq=picture.version,
            parent=picture.parent,
            event=picture.started_by,
            origin=rows[0].payload.get("origin") if rows else None,
            began_at=rows[0].at if rows else 0,
            started_by=tuple(str(each["eventPattern"]) for each in picture.graph.started_by),
            births=picture.births,
            deaths=picture.deaths,
            given_up=picture.given_up,
            asked=frozenset(str(row.payload.get("source")) for _, row in picture.ending),
            asked_at=tuple(row.at for _, row in picture.ending if row.type == "CANCEL_REQUESTED"),
            ended_at=picture.finals[-1].at if picture.finals else None,
            rerun_of=picture.rerun_of,
            reused=picture.reused,
            completed=_completed(rows),
            ordered=frozenset(
                row.node for row in rows if row.type == "NODE_DISPATCHED" and row.node is not None
            ),
            deadline=picture.deadline,
            output=stored.get("output"),
            outputs=_outputs(picture),
            decided=frozenset(picture.decided),
            tells=told_of(instance.id, rows) if whole.ledgers.run.listeners else (),
        )
    )


def _completed(rows: list[Row]) -> dict[str, Row]:
    return {
        row.node: row
        for row in rows
        if row.type == "NODE_COMPLETED" and row.node is not None and not row.iteration
    }


def _outputs(picture: Picture) -> dict[str, object]:
    return {
        str(life.child_ended.payload.get("childId")): life.output
        for life in picture.lives.values()
        if life.child_ended is not None and life.outcome == "COMPLETED"
    }


def _excerpt(rows: list[Row], row: Row) -> tuple[str, ...]:
    """The rows that show it: those of the same node, and the row itself, the last few."""
    upto = rows.index(row) + 1
    related = [
        other
        for other in rows[:upto]
        if other.node == row.node or other.type in ("STATUS_CHANGED", "CANCEL_REQUESTED")
    ]
    return tuple(str(other) for other in related[-_EXCERPT:])
