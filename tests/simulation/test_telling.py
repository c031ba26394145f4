"""Whoever listens outside is told everything, in order, whatever breaks off when.

Addresses answer, say nothing, fail for a while or are moody; listeners hear events of steps, of
instances, of the inbox, some of them, for a while, or are of another tenant. After each world the
checker compares what came with what the logs say, and nothing is left in the outbox.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault, NoFaults
from tests.kit.checker.record import Fields
from tests.kit.simulator.outside import Ear
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import Job, Scenario, job_of, scenario_of, two_engines
from tests.kit.simulator.thinning import few_of
from tests.kit.simulator.verdict import assert_kept, run_scenario, violations_of, without_owners
from tests.kit.simulator.world import Finished
from tests.kit.workload import Publish, event_shapes, plan_behaviours
from tests.kit.workload.undoing import called

MODES = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
)
ENDS = ("workflow.completed", "workflow.failed", "workflow.cancelled")
EVERYTHING = Ear("everything", ("**",))
EARS = [
    EVERYTHING,
    Ear("ends", ENDS, "fails for a while"),
    Ear("steps", ("workflow.node.*",), "is moody"),
    Ear("inbox", ("evt.**",), "is moody"),
    Ear("silent", ("workflow.*",), "is silent"),
    Ear(
        "most", ("workflow.**",), kind="subscription", filter="event.pattern !== 'workflow.waiting'"
    ),
    Ear("for-a-while", ("**",), kind="subscription", expires_after=3.0),
    Ear("stranger", ("**",), tenant="other"),
]


def heard(finished: Finished) -> Counter[str]:
    return Counter(str(each["listener"]) for each in finished.ledgers.heard if each["isAccepted"])


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_everything_is_told_under_faults(engines: int) -> None:
    """I38: "Each lifecycle event is published at least once, in order per instance, and the deduped
    stream equals the log, without gaps".
    """
    told: Counter[str] = Counter()
    for seed in (12, 15, 19, 24):
        told += heard(stormy(seed, engines))
    assert all(told[ear.id] for ear in EARS if ear.id not in ("silent", "stranger")), told
    assert told["silent"] == told["stranger"] == 0


def stormy(seed: int, engines: int) -> Finished:
    drawn = scenario_of(seed) if engines == 1 else two_engines(seed)
    drawn.ears = EARS
    finished = run_scenario(drawn, InMemory(shared=engines > 1))
    if engines > 1:
        finished = without_owners(finished)
    assert_kept(finished, f"stormy({seed}, {engines})")
    return finished


def jobs() -> list[Job]:
    """One that is undone with its child, and one that an event cancels."""
    family, told = called(), event_shapes()["cancellable"]
    undone = job_of("8-called", family.parent, Random("8-called"), interrupts=False)
    undone.children = list(family.children)
    steady = plan_behaviours(told.document, "cancelled", failing_percent=0, calm=True)
    stop = Publish(4_000, "stop", "evt.stop", {"k": 5}, "matching")
    return [undone, Job(told.document, {"k": 5, "flag": True}, steady, [stop], "the key")]


FEW = [
    EVERYTHING,
    Ear("ends", ENDS, "fails for a while", until=10.0),
    Ear(
        "most", ("workflow.**",), kind="subscription", filter="event.pattern !== 'workflow.waiting'"
    ),
]


class AtTelling(AtWrite):
    """A fault at one of the writes that notify listeners."""

    def on_write(self, verb: str) -> Fault | None:
        return super().on_write(verb) if verb in ("outbox.drain", "outbox.settle") else None


def runs_with(
    faults: dict[int, Fault],
    place: Place | None = None,
    *,
    fault_plan: type[AtWrite] = AtTelling,
    told: list[Job] | None = None,
) -> int:
    """Run with these faults; returns how many of the writes that count there were."""
    strikes = fault_plan(faults)
    finished = run_scenario(Scenario("told", told or jobs(), strikes, ears=FEW), place)
    assert_kept(finished, f"runs_with({faults!r}, {fault_plan.__name__})")
    assert heard(finished).keys() == {ear.id for ear in FEW}
    assert len(finished.ledgers.faults) == len(faults), "vacuous: a fault did not happen"
    return strikes.writes


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
def test_nothing_is_lost_at_any_write_that_tells(mode: Fault) -> None:
    """R3, for what empties the outbox and for what records that something has arrived."""
    writes = runs_with({})
    assert writes > 20
    for number in few_of(writes, mode):
        runs_with({number: mode})


@pytest.mark.slow
def test_nothing_is_lost_at_any_write_that_is_told_of() -> None:
    """What is committed and not told yet is told by whoever goes on."""
    for number in few_of(runs_with({}, fault_plan=AtWrite), Fault.CRASH_AFTER):
        runs_with({number: Fault.CRASH_AFTER}, fault_plan=AtWrite)


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_nothing_is_lost_on_a_real_store(store: str, tmp_path: Path) -> None:
    places = real_places(store, tmp_path)
    for number in (1, 2, 7, 8) if store == "sqlite" else (1, 8):
        runs_with({number: Fault.CRASH_AFTER}, next(places), told=jobs()[1:])


def real_places(store: str, folder: Path) -> Iterator[Place]:
    make: Callable[[int], Place] = lambda number: InSqlite(folder / f"{number}.db")  # noqa: E731
    return (make(number) if store == "sqlite" else InPostgres() for number in count())


@pytest.mark.soak
def test_everything_is_told_in_a_long_time(seeds: Iterator[int], tmp_path: Path) -> None:
    """As many further worlds as there is time for, and at each write on each store a fault."""
    places: list[Callable[[int], Place]] = [
        lambda _: InMemory(),
        lambda seed: InSqlite(tmp_path / f"{seed}.db"),
        lambda _: InPostgres(),
    ]
    for seed in seeds:
        stormy(seed, 1 + seed % 2)
        place, fault_plan = places[seed % 3], (AtTelling, AtWrite)[seed % 2]
        runs_with({1 + seed % 40: MODES[seed % len(MODES)]}, place(seed), fault_plan=fault_plan)


def drop(requests: list[Fields]) -> None:
    """Of one instance an event in the middle never came."""
    del requests[len(requests) // 2]


def swap(requests: list[Fields]) -> None:
    """Two events of one instance came the wrong way round."""
    last = requests[-1]
    before = next(
        each
        for each in reversed(requests)
        if each is not last and _instance(each) == _instance(last)
    )
    first, second = requests.index(before), requests.index(last)
    requests[first], requests[second] = last, before


def repeat(requests: list[Fields]) -> None:
    """One came again, and nothing had gone wrong."""
    requests.append(requests[0])


def say_otherwise(requests: list[Fields]) -> None:
    """One came again, and said something else."""
    requests.insert(0, {**requests[0], "body": requests[1]["body"], "isAccepted": False})


def tell_a_stranger(requests: list[Fields]) -> None:
    """One came to somebody of another tenant."""
    requests.append({**requests[0], "listener": "stranger"})


def tell_what_nobody_asked_for(requests: list[Fields]) -> None:
    """Whoever asked for ends was told of a step."""
    requests.append({**requests[-2], "id": requests[1]["id"], "listener": "ends"})


LIES: dict[Callable[[list[Fields]], None], str] = {
    drop: "I38",
    swap: "I38",
    repeat: "I38",
    say_otherwise: "I38",
    tell_a_stranger: "I42",
    tell_what_nobody_asked_for: "I42",
}


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_what_was_not_told_rightly_is_found(lie: Callable[[list[Fields]], None]) -> None:
    ears = [EVERYTHING, Ear("ends", ENDS), Ear("stranger", ("**",), tenant="other")]
    finished = run_scenario(Scenario("told", jobs(), NoFaults(), ears=ears))
    assert not violations_of(finished)
    requests = [each for each in finished.run.heard or () if each["listener"] == "everything"]
    others = [each for each in finished.run.heard or () if each["listener"] != "everything"]
    lie(requests)
    finished.run.heard = requests + others
    assert LIES[lie] in {broken.invariant for broken in violations_of(finished)}


def _instance(request: Fields) -> str:
    return str(request["id"]).rpartition(":")[0]
