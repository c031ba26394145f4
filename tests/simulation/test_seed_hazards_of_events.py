"""The hazards of the seed texts that concern waiting for events and undoing, one test each."""

from __future__ import annotations

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.checker.record import Fields
from tests.kit.simulator.scenario import Job, Scenario
from tests.kit.simulator.verdict import assert_kept, run_scenario, status_of
from tests.kit.simulator.world import Finished
from tests.kit.workload import Action, Behaviour, Behaviours, Document, Publish
from tests.kit.workload.drawing import document, edges, node, task

INPUT: Fields = {"k": 5, "flag": True}
DONE = Behaviour("succeed", 1_000, {"value": 1})
NEVER = Behaviour("fail", 1_000, code="NEVER", retryable=False)
PAYS: Behaviours = {("a", 1): DONE, ("b", 1): DONE, ("late", 1): DONE}
PAYMENT = document(
    "payment",
    [
        task("a"),
        node(
            "w",
            "eventWait",
            eventPattern="evt.paid",
            eventCondition="event.payload.k === workflow.input.k",
            eventTimeout={"duration": "PT5S"},
        ),
        task("b"),
        task("late"),
    ],
    edges("a > w > b", "w:timeout > late"),
)


def paid(at_ms: int) -> Publish:
    return Publish(at_ms, f"paid {at_ms}", "evt.paid", {"k": 5}, "matching")


def run(
    shape: Document, behaviours: Behaviours, actions: list[Action], faults: dict[int, Fault]
) -> tuple[Finished, int]:
    fault_plan = AtWrite(faults)
    job = Job(shape, INPUT, behaviours, actions, "the key")
    finished = run_scenario(Scenario(str(shape["id"]), [job], fault_plan))
    assert_kept(finished, f"{shape['id']} with {actions} and {faults}")
    return finished, fault_plan.writes


def rows_of(finished: Finished, *types: str) -> list[Fields]:
    [instance] = finished.run.instances
    return [row for row in instance.history if row["eventType"] in types]


def ran(finished: Finished) -> list[str]:
    """The steps that completed and are tasks, in this order."""
    return [row["nodeId"] for row in rows_of(finished, "NODE_COMPLETED") if row["nodeId"] != "w"]


def each_fault(mode: Fault, actions: list[Action]) -> list[Finished]:
    """The payment, with a fault at one of its writes, for each of them."""
    calm, writes = run(PAYMENT, PAYS, actions, {})
    assert ran(calm) == ["a", "b"]
    assert writes >= 4
    return [run(PAYMENT, PAYS, actions, {number: mode})[0] for number in range(1, writes + 1)]


@pytest.mark.slow
def test_z1_a_crash_leaves_no_wait_that_nothing_wakes() -> None:
    """Z1: "save status, subscribe, store subscription id, schedule timeout as four writes … Crash
    leaves WAITING without wake; event between write 1 and 2 lost" → R3 on this path.
    """
    for finished in each_fault(Fault.CRASH_BEFORE, [paid(1_001)]):
        [resolved] = rows_of(finished, "WAIT_RESOLVED")
        assert resolved["payload"]["outcome"] == "event"
        assert ran(finished) == ["a", "b"]
    for finished in [run(PAYMENT, PAYS, [], {number: Fault.CRASH_AFTER})[0] for number in (1, 2)]:
        assert ran(finished) == ["a", "late"], "the timer is as durable as the wait"


def test_z2_an_event_that_comes_early_is_found_by_the_wait() -> None:
    """Z2: "`resumeWorkflowFromEvent`: not waiting → throw … Early event lost" → A5."""
    finished, _ = run(PAYMENT, PAYS, [paid(500)], {})
    [opened] = rows_of(finished, "WAIT_OPENED")
    [resolved] = rows_of(finished, "WAIT_RESOLVED")
    assert resolved["payload"]["eventId"] == "paid 500"
    assert opened["at"] == resolved["at"], "vacuous: it did not come early"
    assert ran(finished) == ["a", "b"]


@pytest.mark.slow
def test_z3_what_resumed_goes_on() -> None:
    """Z3: "Resume saves RUNNING, unsubscribes, cancels timer, then executes the next step … Crash
    after the save: RUNNING, nothing dispatched" → R3.
    """
    for finished in each_fault(Fault.CRASH_AFTER, [paid(2_000)]):
        [instance] = finished.run.instances
        assert status_of(instance) == "COMPLETED"
        assert ran(finished) == ["a", "b"]


def test_z4_of_an_event_and_a_timeout_one_wins() -> None:
    """Z4: "Check of status without a lock or version … Event and timeout both win" → I26."""
    winners = set[str]()
    for at_ms in (5_990, 5_999, 6_000, 6_001, 6_010):
        finished, _ = run(PAYMENT, PAYS, [paid(at_ms)], {})
        [resolved] = rows_of(finished, "WAIT_RESOLVED")
        winner = resolved["payload"]["outcome"]
        assert ran(finished) == ["a", "b" if winner == "event" else "late"]
        winners.add(winner)
    assert winners == {"event", "timeout"}, "vacuous: one of them always wins"


BOTH: Document = document(
    "both", [task("slow"), task("fast"), task("no")], edges("slow > no", "fast > no")
) | {
    "compensationSteps": [
        {"stepId": f"undo_{name}", "compensationFor": name, "taskId": "undo"}
        for name in ("fast", "slow")
    ]
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_z19_what_completed_last_is_undone_first_and_once(mode: Fault) -> None:
    """Z19: "Compensation planned from object key order, run in memory, each failure just noted …
    Wrong order; restarts from the top after a crash; whole-instance save overwrites others" → R3.
    """
    slow = Behaviour("succeed", 3_000, {"value": 2})
    behaviours: Behaviours = {
        ("slow", 1): slow,
        ("fast", 1): DONE,
        ("no", 1): NEVER,
        ("undo_slow", 1): DONE,
        ("undo_fast", 1): DONE,
    }
    calm, writes = run(BOTH, behaviours, [], {})
    assert ran(calm) == ["fast", "slow"]
    for number in range(1, writes + 1):
        finished, _ = run(BOTH, behaviours, [], {number: mode})
        done = [row["nodeId"] for row in rows_of(finished, "COMPENSATION_COMPLETED")]
        assert done == [f"undo_{name}" for name in reversed(ran(finished))]
        assert sorted(done) == ["undo_fast", "undo_slow"]
