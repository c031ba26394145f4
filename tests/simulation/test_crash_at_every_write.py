"""Each shape, with a fault at its first durable write, at its second, and so on to its last."""

from __future__ import annotations

from functools import cache

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.breadth import EVERY_WRITE
from tests.kit.checker.graph import read
from tests.kit.simulator.scenario import Job, Knobs, Scenario, plain_jobs
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario, status_of
from tests.kit.workload import (
    Behaviour,
    Behaviours,
    Publish,
    Retry,
    loop_shapes,
    plan_behaviours,
    topologies,
)
from tests.kit.workload.families import families

MODES = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
)


SHORT_DECISIONS = Knobs(decision_entries=2)
GIVES_UP = Behaviour("fail", 500, code="OUT", retryable=False)
FAILING: dict[str, Behaviours] = {
    "items-may-fail": {("a[1]", 1): GIVES_UP},
    "failing-loop": {("a[1]", 1): GIVES_UP},
    "busy-body": {("a[1]", 1): GIVES_UP},
}
EVENT = Publish(4_000, "e", "evt.wait", {"k": 5}, "matching")


def jobs_for(shape: str) -> list[Job]:
    """One instance; a loop gets as far as it can, so that there is something to lose."""
    if shape in topologies():
        return plain_jobs([topologies()[shape]], shape)
    document = loop_shapes()[shape]
    steady = plan_behaviours(document, shape, failing_percent=0, calm=True)
    behaviours = {**steady, **FAILING.get(shape, {})}
    return [Job(document, {"k": 5, "flag": True}, behaviours, [EVENT], "the key")]


def runs_with(shape: str, faults: dict[int, Fault], knobs: Knobs | None = None) -> int:
    """Run a shape with these faults; returns how many durable writes it made."""
    fault_plan = AtWrite(faults)
    scenario = Scenario(shape, jobs_for(shape), fault_plan, knobs=knobs or Knobs())
    finished = run_scenario(scenario)
    assert_kept(finished, f"runs_with({shape!r}, {faults!r})")
    happened = len(finished.ledgers.faults)
    beyond = sum(number > fault_plan.writes for number in faults)
    assert happened + beyond == len(faults), "vacuous: a fault did not happen"
    return fault_plan.writes


@cache
def writes_of(shape: str, *, stops_early: bool = False) -> int:
    """How many durable writes a shape makes without faults: counted once for all of them."""
    return runs_with(shape, {}, SHORT_DECISIONS if stops_early else None)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", topologies())
def test_nothing_is_lost_at_any_write(shape: str, mode: Fault) -> None:
    """R3: "run once counting durable calls, then W runs that die before, and W that die after call
    n; then again with an error instead of death, and with committed but the reply was lost".
    """
    writes = writes_of(shape)
    assert writes >= 4
    for number in some_of(writes, mode, MODES):
        runs_with(shape, {number: mode})


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:3], ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", loop_shapes())
def test_no_iteration_is_lost_or_done_twice_at_any_write(shape: str, mode: Fault) -> None:
    """I16, at every durable write: "child indexes are 0…n-1 once each; body ends after the last
    child".
    """
    writes = writes_of(shape)
    assert writes >= 8
    for number in some_of(writes, mode):
        runs_with(shape, {number: mode})


@pytest.mark.parametrize("shape", [*loop_shapes(), "quorum", "conditional"])
def test_every_promise_is_kept_where_decisions_stop_early(shape: str) -> None:
    assert writes_of(shape, stops_early=True) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:3], ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", ["parallel-loop", "nested-loops", "first-item-wins"])
def test_what_a_decision_left_over_is_not_lost_at_any_write(shape: str, mode: Fault) -> None:
    for number in some_of(writes_of(shape, stops_early=True), mode):
        runs_with(shape, {number: mode}, SHORT_DECISIONS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", ["quorum", "error-path", "event-wait", "delay", "first-item-wins"]
)
def test_nothing_is_lost_when_recovery_itself_crashes(shape: str) -> None:
    """R3: "also pairs of crash points (second crash during recovery)"."""
    writes = writes_of(shape)
    first, second = Fault.CRASH_AFTER, Fault.CRASH_BEFORE
    for number in range(1, writes + 1):
        orders = [(first, second), (second, first)]
        for later in (1, 2, 3, 5) if EVERY_WRITE else (1 + 2 * (number % 2),):
            for one, other in orders if EVERY_WRITE else [orders[number // 2 % 2]]:
                runs_with(shape, {number: one, number + later: other})


FAILS_FIRST: dict[str, tuple[str, ...]] = {
    "quorum": ("bottom",),
    "fan-in": ("root2",),
    "event-wait": ("use",),
    "failing-loop": ("a[1]", "stock"),
    "nested-loops": ("a[0/0/1]", "after"),
    "one-child": ("after",),
}
"""Steps whose first attempts give up, unhandled in the end: what else runs is withdrawn."""


def retried_and_rerun(shape: str, faults: dict[int, Fault]) -> int:
    """An instance that fails is retried until it completes, and rerun from each of its steps in
    turn by the number of the fault; returns how many durable writes that made.
    """
    family = families().get(shape)
    shapes = topologies() | loop_shapes()
    document = shapes[shape] if family is None else family.parent
    steps = sorted(id for id, node in read(document).nodes.items() if node.loop is None)
    steady = plan_behaviours(document, shape, failing_percent=0, calm=True)
    # Twice, so that one whose report is lost in a crash fails all the same.
    fails = {(step, nth): GIVES_UP for step in FAILS_FIRST[shape] for nth in (1, 2)}
    job = Job(document, {"k": 5, "flag": True}, {**steady, **fails}, [], "the key")
    job.children = [] if family is None else list(family.children)
    retries = [Retry(at_ms) for at_ms in range(60_000, 360_000, 60_000)]
    job.actions = [EVENT, *retries]
    job.rerun_from = steps[sum(faults) % len(steps)]
    fault_plan = AtWrite(faults)
    finished = run_scenario(Scenario(f"retried: {shape}", [job], fault_plan))
    assert_kept(finished, f"retried_and_rerun({shape!r}, {faults!r})")
    retried = [
        status_of(instance)
        for instance in finished.run.instances
        if any(row["eventType"] == "RETRY_REQUESTED" for row in instance.history)
        and "rerunOf" not in instance.history[0]["payload"]
    ]
    assert retried == ["COMPLETED"], f"vacuous: not retried to its end: {retried}"
    counts = counts_of(finished)
    assert counts["rerun ok"] + counts["rerun refused"] >= 1, "vacuous: it was not rerun"
    return fault_plan.writes


@cache
def writes_around(shape: str) -> int:
    return retried_and_rerun(shape, {})


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", FAILS_FIRST)
def test_nothing_is_lost_around_a_retry_and_a_rerun(shape: str, mode: Fault) -> None:
    """ "crash at every durable write of each"."""
    for number in some_of(writes_around(shape), mode, MODES):
        retried_and_rerun(shape, {number: mode})
