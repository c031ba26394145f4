"""What holds of every compensation of every document, whatever happens in whatever order.

1. What is undone are the steps that completed, have a compensation step and wanted it, and the
   children that completed and can; whatever completed last goes first.
2. One is under way at a time; each has one final outcome; it begins when nothing else is open.
3. What was foreseen is what then runs, with the same input.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from tenuto.core.foreseen_undo import undo_plan
from tenuto.model.entries import (
    ChildEnded,
    CompensationCompleted,
    CompensationDispatched,
    CompensationEnded,
    CompensationFailed,
    CompensationPlanned,
    NodeCompleted,
    NodeFailed,
    RetryRequested,
)
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import CancelAsked
from tests.core.holding import check_new_entries
from tests.core.play import Run, spelled
from tests.core.wandering import wander
from tests.kit.breadth import breadth
from tests.kit.workload import Seeded, Taste, make_input, random_document
from tests.kit.workload.families import random_family
from tests.kit.workload.undoing import with_undo

SEEDS = st.integers(0, 2**32)
SMALL = Taste(largest=12)
MANY = settings(
    max_examples=breadth(30, 300), deadline=None, suppress_health_check=list(HealthCheck)
)


def started(seed: int) -> Run:
    drawn = random_document(seed, SMALL) if seed % 2 else random_family(seed, SMALL).parent
    run = Run(with_undo(drawn, seed), check=check_new_entries)
    return run.start(make_input(Seeded(f"input {seed}")))


def completed(run: Run) -> list[NodeKey]:
    """What completed since the instance began and could be undone, the last one first."""
    found: list[NodeKey] = []
    undoable: set[NodeKey] = set()
    failed: set[NodeKey] = set()
    for entry in run.entries:
        if isinstance(entry, ChildEnded):
            (undoable.add if entry.can_be_undone else undoable.discard)(entry.key)
        elif (
            isinstance(entry, NodeCompleted)
            and entry.status == "success"
            and (entry.node in run.plan.undone_by or entry.key in undoable)
        ):
            found.append(entry.key)
        elif isinstance(entry, RetryRequested):
            found = [key for key in found if key not in failed]
        elif (
            isinstance(entry, NodeFailed)
            and entry.error.was_done
            and entry.then not in ("retry", "route")
            and (entry.node in run.plan.undone_by or entry.key in undoable)
        ):
            found.append(entry.key)
            failed.add(entry.key)
    return found[::-1]


def judge(run: Run) -> None:
    """Properties 1 and 2, from the log alone."""
    plans = [each for each in run.entries if isinstance(each, CompensationPlanned)]
    begun = [each for each in run.entries if isinstance(each, CompensationDispatched)]
    if not plans:
        assert not begun
        return
    plan = plans[-1]
    skipped = {NodeKey(each.step_id, each.iteration) for each in plan.skipped}
    expected = []
    for key in completed(run):
        step = run.plan.undone_by.get(key.node)
        item = NodeKey(key.node if step is None else step.step_id, key.iteration)
        if item not in skipped:
            expected.append(item)
        else:
            assert step is not None
            assert step.condition is not None
    assert [item.key for item in plan.plan] == expected
    order = list(dict.fromkeys(entry.key for entry in begun))
    assert order == expected[: len(order)]
    outcomes = [
        entry.key
        for entry in run.entries
        if isinstance(entry, CompensationCompleted)
        or (isinstance(entry, CompensationFailed) and entry.then == "fail")
    ]
    assert outcomes == expected[: len(outcomes)]
    if any(isinstance(entry, CompensationEnded) for entry in run.entries):
        assert outcomes == expected
    at = run.entries.index(plan)
    assert not any(isinstance(entry, RetryRequested) for entry in run.entries[at:])


@MANY
@given(SEEDS)
def test_what_completed_is_undone_in_reverse_whatever_happens(seed: int) -> None:
    run, choices = started(seed), Seeded(f"wander {seed}")
    wander(run, choices, restless=5 + seed % 40, to_the_end=False)
    if not run.status.is_final:
        run.cancel()
    wander(run, choices, restless=20)
    judge(run)


@MANY
@given(SEEDS)
def test_the_undo_plan_names_what_then_runs(seed: int) -> None:
    """`/instances/{id}/undo-plan`: `{plan: [{stepId, compensationFor, iteration, input}], skipped:
    [{stepId, reason}]}`. It and `compensationState` name compensation steps.
    """
    run = started(seed)
    wander(run, Seeded(f"foresee {seed}"), restless=5 + seed % 30, to_the_end=False)
    if run.status.is_final or run.state.ending is not None:
        return
    asked = CancelAsked(by="ada", reason="why")
    foreseen: Any = undo_plan(run.plan, run.state, asked)
    run.tell(asked).settle()
    while not is_being_undone(run) and not run.status.is_final:
        for name in run.running:
            run.fail(name, "CANCELLED")
        run.settle()
    undoing = run.state.compensation
    if undoing is None:
        assert foreseen["plan"] == []
        return
    shown = [NodeKey(item["stepId"], item["iteration"]) for item in foreseen["plan"]]
    assert shown == [item.key for item in undoing.plan]
    assert [item["stepId"] for item in foreseen["skipped"]] == [
        each.step_id for each in undoing.skipped
    ]
    inputs: dict[NodeKey, Any] = {}
    while is_being_undone(run):
        if run.running:
            [effect] = run.ledger.running.values()
            inputs[NodeKey(effect.node, effect.iteration)] = effect.input
            run.succeed(run.running[0])
        else:
            place = None if run.state.compensation is None else run.state.compensation.place
            assert place is not None
            inputs[NodeKey(*place[:2])] = None
            run.child_undone(spelled(NodeKey(*place[:2])))
    for item in foreseen["plan"]:
        assert timeless(inputs[NodeKey(item["stepId"], item["iteration"])]) == timeless(
            item["input"]
        )
    judge(run)


def is_being_undone(run: Run) -> bool:
    return run.state.compensation is not None and run.state.compensation.is_under_way


def timeless(input: Any) -> Any:  # noqa: ANN401
    """An input as it is foreseen: without what is the same for all, and when somebody cancels."""
    if not isinstance(input, dict) or "originalOutput" not in input:
        return input
    cancellation = {**input["cancellation"], "requestedAt": None}
    return {"originalOutput": input["originalOutput"], "cancellation": cancellation}
