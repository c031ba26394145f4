"""An instance that cannot be decided on is set aside, and keeps every promise while it is."""

from __future__ import annotations

from datetime import datetime
from functools import cache

import pytest

from tenuto.core import Decision, InstanceState, Plan, decide
from tenuto.engine.turns.drafter import Decide
from tenuto.model.inputs import ChildReported, Input, TaskSucceeded
from tenuto.model.policy import Policies
from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.simulator.scenario import Job, Scenario
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario
from tests.kit.workload import Retry, loop_shapes, plan_behaviours, topologies
from tests.kit.workload.families import families

SHAPES = ("linear", "fan-in", "quorum", "delay", "nested-loops", "parallel-loop", "one-child")


def a_bug_of_ours(kind: type[Input], number: int) -> Decide:
    """The decision on the n-th input of a kind raises, once."""
    seen = 0

    def raising(
        plan: Plan, state: InstanceState, input: Input, now: datetime, policies: Policies
    ) -> Decision:
        nonlocal seen
        seen += isinstance(input, kind)
        if seen == number and isinstance(input, kind):
            raise ZeroDivisionError("by zero")
        return decide(plan, state, input, now, policies)

    return raising


def runs_with(shape: str, kind: type[Input], number: int, faults: dict[int, Fault]) -> int:
    family = families().get(shape)
    document = family.parent if family else (topologies() | loop_shapes())[shape]
    steady = plan_behaviours(document, shape, failing_percent=0, calm=True)
    job = Job(document, {"k": 5, "flag": True}, steady, [Retry(90_000)], "the key")
    job.children = list(family.children) if family else []
    fault_plan = AtWrite(faults)
    bug = a_bug_of_ours(kind, number)
    finished = run_scenario(Scenario(f"retried: {shape}", [job], fault_plan, decide=bug))
    assert_kept(finished, f"runs_with({shape!r}, {kind.__name__}, {number}, {faults!r})")
    # A crash before that is written takes the bug along: it happens once.
    was_forgotten = Fault.CRASH_BEFORE in faults.values()
    assert counts_of(finished)["SYSTEM_SET"] == 1 or was_forgotten, "vacuous: nothing was set aside"
    return fault_plan.writes


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_retry_goes_on_where_it_was_set_aside(shape: str, number: int) -> None:
    assert runs_with(shape, TaskSucceeded, number, {}) > 4


def test_a_parent_that_cannot_take_the_end_of_its_child_starts_another() -> None:
    assert runs_with("one-child", ChildReported, 1, {}) > 4


@cache
def _writes_of(shape: str) -> int:
    return runs_with(shape, TaskSucceeded, 2, {})


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST])
@pytest.mark.parametrize("shape", ["fan-in", "nested-loops", "one-child"])
def test_nothing_is_lost_around_a_quarantine(shape: str, mode: Fault) -> None:
    for number in some_of(_writes_of(shape), mode):
        if number >= 5:
            runs_with(shape, TaskSucceeded, 2, {number: mode})
