""" "The checker catches at least ten bugs that you seed on purpose, each in another mechanism"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault, NoFaults
from tests.kit.simulator.outside import Ear, Manner
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Job, Knobs, Scenario
from tests.kit.simulator.verdict import run_scenario, violations_of
from tests.kit.simulator.world import Finished
from tests.kit.workload import (
    Action,
    Behaviour,
    Behaviours,
    Cancel,
    Document,
    Publish,
    Retry,
    event_shapes,
    loop_shapes,
    plan_behaviours,
    topologies,
)
from tests.kit.workload.business import business_shapes
from tests.kit.workload.drawing import document, edges, node, task
from tests.kit.workload.undoing import order
from tests.simulation import bugs
from tests.simulation.bugs import Bug

INPUT = {"k": 5, "flag": True}


@dataclass(frozen=True, slots=True)
class Trap:
    """A situation in which a bug cannot hide, and the invariant that must speak."""

    bug: Bug
    invariant: str
    scenario: Callable[[], Scenario]


class LostAgainAndAgain(NoFaults):
    """The process dies after each of its first commits, and so does what it ran."""

    def on_write(self, verb: str) -> Fault | None:
        if verb != "turns.commit":
            return None
        super().on_write(verb)
        return Fault.CRASH_AFTER if self.writes <= 6 else None


def one(
    shape: Document,
    *,
    behaviours: Behaviours | None = None,
    actions: tuple[Action, ...] = (),
    fault_plan: NoFaults | None = None,
    knobs: Knobs | None = None,
    engines: int = 1,
) -> Scenario:
    """One instance of `shape`, whose tasks succeed unless said otherwise."""
    steady = plan_behaviours(shape, "steady", failing_percent=0, calm=True)
    job = Job(shape, INPUT, {**steady, **(behaviours or {})}, list(actions), "the key")
    return Scenario(
        "trap", [job], fault_plan or NoFaults(), knobs=knobs or Knobs(), engines=engines
    )


def shape(name: str) -> Document:
    return topologies()[name]


def work_then_wait() -> Document:
    wait = node("wait", "eventWait", eventPattern="evt.wait", eventCondition=CONDITION)
    return document("work-then-wait", [task("a"), wait], edges("a > wait"))


def loop(name: str) -> Document:
    return loop_shapes()[name]


def join_in_a_loop() -> Document:
    """An iteration fails while a join in it has one edge, and waits for the other."""
    nodes = [
        node("each", "loop", source=[1, 2], onItemError="continue"),
        task("a"),
        node("nap", "delay", duration="PT20S"),
        task("late", retry={"maxAttempts": 1}),
        task("both"),
    ]
    arrows = edges("each:loop > a > both", "each:loop > nap > both", "each:loop > late")
    return document("join-in-a-loop", nodes, arrows)


def one_by_one() -> Document:
    """With nothing in it that the store itself would not take twice."""
    nodes = [node("each", "loop", source=[1, 2, 3]), node("nap", "delay", duration="PT5S")]
    return document("one-by-one", nodes, edges("each:loop > nap"))


def two_of_three() -> Document:
    each = node("each", "loop", source=[1, 2, 3], mode="parallel", onItemError="continue", enough=2)
    return document("two-of-three", [each, task("a")], edges("each:loop > a"))


def one_of_two_arrives() -> Scenario:
    """The other branch ends later, and its edge is dead."""
    late = {("b", 1): Behaviour("succeed", 30_000, {"value": 1})}
    nodes = [
        node("start", "start"),
        task("a"),
        task("b", handles=["left"]),
        node("each", "loop", source="arrivals"),
        task("x"),
        node("wait", "eventWait", eventPattern="evt.wait"),
    ]
    arrows = edges("start > a > each:loop > x", "start > b:left > each", "start > wait")
    return one(document("one-of-two-arrives", nodes, arrows), behaviours=late)


def divided(shape: Document) -> Scenario:
    """Two engines, of which each has only some of the tasks."""
    scenario = one(shape, engines=2)
    scenario.is_divided = True
    return scenario


def told(shape: Document, manner: Manner) -> Scenario:
    scenario = one(shape)
    scenario.ears = [Ear("everything", ("**",), manner)]
    return scenario


CONDITION = "event.payload.k <= workflow.input.k"
TOO_OFTEN = {
    ("risky", number): Behaviour("fail", 100, code="FLAKY", retryable=True)
    for number in range(1, 9)
}
SLOW = {("a", 1): Behaviour("succeed", 2_000, {"value": 1})}
EARLY = (Publish(500, "early", "evt.wait", {"k": 5}, "early"),)
GOES_ON = (Publish(9_000, "go", "evt.wait", {"k": 5}, "matching"),)
PAID = (Publish(9_000, "paid", "evt.paid", {"k": 5}, "matching"),)
NEAR_MISS = (Publish(9_000, "miss", "evt.wait", {"k": 6}, "near miss"),)
CRASH = {6: Fault.CRASH_AFTER}
GIVES_UP = Behaviour("fail", 500, code="OUT", retryable=False)
FAILS_LATE = {
    (f"late[{number}]", 1): Behaviour("fail", 8_000, code="OUT", retryable=False)
    for number in range(3)
}
AT_WORK = {(f"root{number}", 1): Behaviour("succeed", 30_000, {"value": 1}) for number in range(5)}
DEAF = {(id, 1): Behaviour("succeed", 400_000, obeys=False) for id in "abc"}
LATER = {("a[0]", 1): Behaviour("succeed", 9_000, {"value": 1})}

FAILING_LAST = {
    ("last", 1): Behaviour("fail", 1_000, code="GONE", retryable=False),
    ("last", 2): Behaviour("succeed", 9_000, {"value": 1}),
}
RETRIED_LATE = (Retry(200_000),)

TRAPS = {
    "gate": Trap(bugs.losers_write, "I10", lambda: one(shape("quorum"), engines=2)),
    "fold": Trap(bugs.fold_forgets_variables, "I3", lambda: one(shape("linear"))),
    "dead path": Trap(bugs.dead_edges_do_not_arrive, "I14", lambda: one(shape("conditional"))),
    "cancelRest": Trap(bugs.cancel_rest_cancels_nothing, "CANCEL", lambda: one(shape("quorum"))),
    "retry budget": Trap(
        bugs.one_attempt_too_many,
        "I11",
        lambda: one(shape("error-path"), behaviours=TOO_OFTEN),
    ),
    "timer": Trap(bugs.timers_fire_early, "I19", lambda: one(shape("delay"))),
    "poison": Trap(
        bugs.poison_comes_at_four,
        "POISON",
        lambda: one(shape("linear"), fault_plan=LostAgainAndAgain()),
    ),
    "look-back": Trap(
        bugs.nobody_looks_back, "I8", lambda: one(work_then_wait(), behaviours=SLOW, actions=EARLY)
    ),
    "inbox": Trap(
        bugs.published_events_are_forgotten,
        "I8",
        lambda: one(event_shapes()["telling"].document),
    ),
    "triggers": Trap(
        bugs.triggers_stay_open,
        "I25",
        lambda: one(event_shapes()["cancellable"].document, actions=GOES_ON),
    ),
    "arms": Trap(
        bugs.any_arm_takes_an_event,
        "I27",
        lambda: one(event_shapes()["first-of-two"].document, actions=PAID),
    ),
    "snapshot": Trap(
        bugs.snapshots_drop_variables,
        "I3",
        lambda: one(shape("linear"), knobs=Knobs(snapshot_every=1)),
    ),
    "recovery": Trap(
        bugs.recovery_forgets_attempts,
        "I45",
        lambda: one(shape("linear"), fault_plan=AtWrite(CRASH)),
    ),
    "matching": Trap(
        bugs.every_event_fits, "I27", lambda: one(work_then_wait(), actions=NEAR_MISS)
    ),
    "idempotency key": Trap(bugs.keys_are_shared, "I17", lambda: one(shape("linear"))),
    "owner": Trap(bugs.owners_stay, "I25", lambda: one(shape("linear"))),
    "timer row": Trap(
        bugs.far_timers_are_not_written,
        "I20",
        lambda: one(shape("delay"), fault_plan=AtWrite({7: Fault.CRASH_AFTER})),
    ),
    "next iteration": Trap(
        bugs.loops_forget_how_far_they_are,
        "I16",
        lambda: one(
            one_by_one(), fault_plan=AtWrite({6: Fault.CRASH_AFTER}), knobs=Knobs(snapshot_every=1)
        ),
    ),
    "scope": Trap(
        bugs.parallel_iterations_see_each_other, "SCOPE", lambda: one(loop("parallel-loop"))
    ),
    "enough": Trap(
        bugs.failures_are_enough,
        "LOOP",
        lambda: one(two_of_three(), behaviours={("a[1]", 1): GIVES_UP}),
    ),
    "concurrency": Trap(bugs.all_at_once, "I16", lambda: one(loop("parallel-loop"))),
    "arrivals": Trap(bugs.no_edge_is_waited_for, "LOOP", one_of_two_arrives),
    "last edge": Trap(bugs.a_last_edge_ends_no_loop, "LOOP", one_of_two_arrives),
    "iteration that is over": Trap(
        bugs.called_off_iterations_go_on,
        "I16",
        lambda: one(join_in_a_loop(), behaviours=FAILS_LATE),
    ),
    "order of results": Trap(
        bugs.results_come_as_they_end, "LOOP", lambda: one(loop("parallel-loop"), behaviours=LATER)
    ),
    "retry by hand": Trap(
        bugs.a_retry_leaves_what_was_withdrawn,
        "I14",
        lambda: one(
            shape("fan-in"),
            behaviours={**AT_WORK, ("root2", 1): GIVES_UP},
            actions=(Retry(60_000),),
        ),
    ),
    "letter of a retry": Trap(
        bugs.what_is_tried_again_stays_a_dead_letter,
        "DEAD-LETTER",
        lambda: one(
            shape("fan-in"),
            behaviours={**AT_WORK, ("root2", 1): GIVES_UP},
            actions=(Retry(60_000),),
        ),
    ),
    "key of an iteration": Trap(bugs.iterations_share_a_key, "I17", lambda: one(loop("for-each"))),
    "wait row": Trap(bugs.waits_are_not_written, "I24", lambda: one(shape("event-wait"))),
    "end of a wait": Trap(
        bugs.a_wait_ends_twice, "I26", lambda: one(work_then_wait(), actions=GOES_ON)
    ),
    "grace": Trap(
        bugs.the_grace_is_too_long,
        "I28",
        lambda: one(shape("linear"), behaviours=DEAF, actions=(Cancel(2_000, "enough"),)),
    ),
    "order of undoing": Trap(
        bugs.undone_in_the_order_in_which_it_was_done, "I29", lambda: one(order())
    ),
    "input of undoing": Trap(bugs.what_undoes_is_given_something_else, "I30", lambda: one(order())),
    "working time": Trap(
        bugs.working_time_is_any_time, "I19", lambda: one(business_shapes()["office-hours"])
    ),
    "calendar": Trap(
        bugs.calendars_are_not_recorded, "I19", lambda: one(business_shapes()["office-hours"])
    ),
    "SLA": Trap(bugs.promises_are_forgotten, "SLA", lambda: one(business_shapes()["promised"])),
    "SLA after a retry": Trap(
        bugs.promises_are_told_again,
        "SLA",
        lambda: one(business_shapes()["promised"], behaviours=FAILING_LAST, actions=RETRIED_LATE),
    ),
    "jobs": Trap(bugs.jobs_stay, "I25", lambda: divided(shape("linear"))),
    "streams": Trap(bugs.streams_do_not_wait, "I38", lambda: told(shape("linear"), "is moody")),
    "outbox": Trap(bugs.an_outbox_that_forgets, "I38", lambda: told(shape("linear"), "answers")),
}


@pytest.mark.parametrize("mechanism", TRAPS)
def test_each_bug_is_seen_by_its_invariant(mechanism: str) -> None:
    """By a broken invariant, and not because something raises."""
    trap = TRAPS[mechanism]
    with trap.bug():
        finished = _run(trap)
    assert trap.invariant in {broken.invariant for broken in violations_of(finished)}


@pytest.mark.parametrize("mechanism", TRAPS)
def test_without_the_bug_every_promise_is_kept(mechanism: str) -> None:
    """The trap alone breaks nothing, so that it is the bug which is seen."""
    found = {
        broken.invariant
        for broken in violations_of(_run(TRAPS[mechanism]))
        if "still owns" not in broken.message or TRAPS[mechanism].scenario().engines == 1
    }
    assert not found


def _run(trap: Trap) -> Finished:
    scenario = trap.scenario()
    return run_scenario(scenario, InMemory(shared=scenario.engines > 1))
