"""Events that are waited for by arms, cancel, start and are published: with a fault at each write.

After each run the checker looks through the whole store: no promise is broken, and what has ended
has left neither a subscription nor a timer nor a letter behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count, permutations, product
from pathlib import Path
from random import Random

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import Job, Scenario, event_job
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import assert_kept, run_scenario, status_of
from tests.kit.simulator.world import Finished
from tests.kit.workload import (
    Action,
    Behaviour,
    Cancel,
    Publish,
    Retry,
    event_shapes,
    plan_behaviours,
)

MODES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST, Fault.UNKNOWN_UNDONE)
K = 5


def event(at_ms: int, pattern: str, k: int = K) -> Publish:
    return Publish(at_ms, f"{pattern} {at_ms} {k}", pattern, {"k": k, "amount": 1}, "matching")


ACTIONS: dict[str, list[Action]] = {
    "first-of-two": [event(1_000, "evt.paid", 4), event(2_000, "evt.x"), event(2_001, "evt.paid")],
    "three-of-them": [
        event(0, "evt.early"),
        event(2_000, "evt.x", 4),
        event(2_000, "evt.x", 4),
        event(2_001, "evt.paid"),
        event(9_000, "evt.late"),
    ],
    "growing": [event(500, "evt.more"), event(501, "evt.more"), event(502, "evt.more", 4)],
    "cancellable": [
        event(4_000, "evt.stop", 4),
        event(5_000, "evt.halt"),
        event(5_001, "evt.wait"),
    ],
    "telling": [],
    "starting": [],
}


def job_of(shape: str, actions: list[Action]) -> Job:
    told = event_shapes()[shape]
    steady = plan_behaviours(told.document, shape, failing_percent=0, calm=True)
    input = {"k": K, "flag": True}
    return Job(
        told.document, input, steady, actions, "key", children=[*told.started, *told.refusing]
    )


def runs_with(
    shape: str, faults: dict[int, Fault], place: Place | None = None, *, engines: int = 1
) -> tuple[Finished, int]:
    fault_plan = AtWrite(faults)
    scenario = Scenario(shape, [job_of(shape, ACTIONS[shape])], fault_plan, engines=engines)
    finished = run_scenario(scenario, place)
    assert_kept(finished, f"runs_with({shape!r}, {faults!r})")
    return finished, fault_plan.writes


def ends(finished: Finished) -> dict[str, str]:
    """How each instance ended, by its workflow: one of each."""
    found = {str(each.document["id"]): status_of(each) for each in finished.run.instances}
    assert len(found) == len(list(finished.run.instances))
    return found


ENDS = {
    "first-of-two": {"first-of-two": "COMPLETED"},
    "three-of-them": {"three-of-them": "COMPLETED"},
    "growing": {"growing": "COMPLETED"},
    "cancellable": {"cancellable": "CANCELLED"},
    "telling": {"telling": "COMPLETED"},
    "starting": {"starting": "COMPLETED"},
}


def has_ended_rightly(shape: str, finished: Finished) -> None:
    found = ends(finished)
    started = {str(document["id"]) for document in event_shapes()[shape].started}
    assert found.keys() == {shape} | started, "one instance of each"
    # What those do that it starts is drawn, and may fail.
    assert {id: found[id] for id in found if id not in started} == ENDS[shape]


def crashes(shape: str, mode: Fault, places: Callable[[], Place], every: int, engines: int) -> None:
    """Run a shape with a fault at every write, or every so many."""
    finished, writes = runs_with(shape, {}, places(), engines=engines)
    has_ended_rightly(shape, finished)
    assert writes >= 4
    for number in range(1, writes + 1, every):
        finished, _ = runs_with(shape, {number: mode}, places(), engines=engines)
        has_ended_rightly(shape, finished)


@cache
def writes_of(shape: str) -> int:
    """How many durable writes a shape makes without faults: counted once for all of them."""
    finished, writes = runs_with(shape, {})
    has_ended_rightly(shape, finished)
    return writes


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:3], ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", event_shapes())
def test_nothing_is_lost_or_done_twice_at_any_write(shape: str, mode: Fault) -> None:
    """R3, for waiting, resuming, cancelling, starting and publishing by events."""
    assert writes_of(shape) >= 4
    for number in some_of(writes_of(shape), mode):
        finished, _ = runs_with(shape, {number: mode})
        has_ended_rightly(shape, finished)


IN_A_FILE = ("first-of-two", "growing", "telling")
"""The others are in a database; `make soak` has every shape in both."""


@pytest.mark.slow
@pytest.mark.parametrize("shape", IN_A_FILE)
def test_nothing_is_lost_in_a_file(shape: str, tmp_path: Path) -> None:
    files = (InSqlite(tmp_path / f"{number}.db") for number in count())
    crashes(shape, Fault.CRASH_AFTER, partial(next, files), 7, 1)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [each for each in event_shapes() if each not in IN_A_FILE])
def test_nothing_is_lost_in_a_database(shape: str) -> None:
    crashes(shape, Fault.CRASH_AFTER, InPostgres, 9, 1)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["cancellable", "starting"])
def test_two_engines_do_it_once(shape: str) -> None:
    crashes(shape, Fault.CRASH_AFTER, partial(InMemory, shared=True), 12, 2)


@pytest.mark.soak
def test_nothing_is_lost_at_any_write_anywhere(seeds: Iterator[int], tmp_path: Path) -> None:
    """At each write of each shape each of the faults, on every store, and with two engines."""
    for seed in seeds:
        files = (InSqlite(tmp_path / f"{seed}-{number}.db") for number in count())
        places: list[Callable[[], Place]] = [
            InMemory,
            partial(next, files),
            InPostgres,
            partial(InMemory, shared=True),
        ]
        for shape, mode, place in product(event_shapes(), MODES, places):
            crashes(shape, mode, place, 1, 2 if place is places[-1] else 1)


AT = 3_600_000
"""When the wait of the first shape times out, about."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", [*permutations(("event", "timeout", "cancel", "stop"))], ids="-".join
)
def test_of_event_timeout_cancel_and_stop_one_wins(order: tuple[str, ...]) -> None:
    """I26: "Of event / timeout / cancel on one wait exactly one wins; the others are recorded as
    discarded", whichever comes first, and by a millisecond.
    """
    told = event_shapes()["first-of-two"]
    trigger = event_shapes()["cancellable"].document["cancellationTriggers"]
    document = {**told.document, "cancellationTriggers": trigger}
    steady = plan_behaviours(document, "race", failing_percent=0, calm=True)
    quick = {key: Behaviour("succeed", 1) for key in steady}
    base = AT - order.index("timeout")
    made: dict[str, Action] = {
        "event": event(base + order.index("event"), "evt.paid"),
        "cancel": Cancel(base + order.index("cancel"), "enough"),
        "stop": event(base + order.index("stop"), "evt.stop"),
    }
    job = Job(document, {"k": K, "flag": True}, quick, list(made.values()), "key")
    finished = run_scenario(Scenario("race", [job], AtWrite({})))
    assert_kept(finished, f"order {order}")
    [instance] = finished.run.instances
    kinds = Counter(row["eventType"] for row in instance.history)
    assert kinds["WAIT_RESOLVED"] + kinds["CANCEL_REQUESTED"] >= 1
    assert kinds["WAIT_RESOLVED"] <= 1
    assert kinds["CANCEL_REQUESTED"] <= 1


@pytest.mark.soak
def test_events_of_all_kinds_under_faults(seeds: Iterator[int]) -> None:
    for seed in seeds:
        random = Random(f"told {seed}")
        jobs = [event_job(f"{seed}-{number}", random) for number in range(3)]
        jobs[0].actions.append(Retry(60_000))
        scenario = Scenario(seed, jobs, AtWrite({random.randint(1, 30): random.choice(MODES)}))
        assert_kept(run_scenario(scenario), f"seed {seed}")
