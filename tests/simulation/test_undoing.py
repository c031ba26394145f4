"""Compensation: a fault at each write, a cancel at any moment, faults, several engines.

What completed is undone in reverse, each once by the log and under one key, whoever crashes when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from random import Random

import pytest

from tenuto.testing.fault_plan import AtWrite, Fault
from tests.kit.breadth import breadth
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import Job, Knobs, Scenario, job_of
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import (
    assert_kept,
    counts_of,
    run_scenario,
    without_owners,
)
from tests.kit.workload import Cancel, Taste, random_document
from tests.kit.workload.families import Family
from tests.kit.workload.undoing import called, order, packing, undone_family, with_undo

MODES = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
)
SHAPES = {
    "order": Family(order(), []),
    "packing": Family(packing(), []),
    "called": called(),
}
CALM = {"order": "5", "packing": "3", "called": "8"}
"""Seeds with which all steps up to the failure, or the cancel, go well."""


def job(name: str) -> Job:
    family = SHAPES[name]
    seed = f"{CALM[name]}-{name}"
    made = job_of(seed, family.parent, Random(seed), interrupts=False)
    made.children = list(family.children)
    return made


def runs_with(
    name: str,
    faults: dict[int, Fault],
    place: Place | None = None,
    *,
    cancelled_at: int | None = None,
) -> int:
    """Run a shape with these faults; returns how many durable writes it made."""
    made, fault_plan = job(name), AtWrite(faults)
    if cancelled_at is not None:
        made.actions = [Cancel(at_ms=cancelled_at, reason="enough")]
    finished = run_scenario(Scenario(f"{name} {CALM[name]}", [made], fault_plan), place)
    assert_kept(finished, f"runs_with({name!r}, {faults!r}, cancelled_at={cancelled_at})")
    if cancelled_at is None:
        counts = counts_of(finished)
        assert counts["COMPENSATION_ENDED"], f"vacuous: nothing was undone {counts}"
    return fault_plan.writes


@cache
def writes_of(name: str) -> int:
    """How many durable writes a shape makes without faults: counted once for all of them."""
    return runs_with(name, {})


@pytest.mark.parametrize("name", SHAPES)
def test_what_was_done_is_undone_without_faults(name: str) -> None:
    assert writes_of(name) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("name", ["order", "packing"])
def test_everything_is_undone_once_whatever_write_goes_wrong(name: str, mode: Fault) -> None:
    """Z19: a crash at each write; the plan is not made anew and nothing recorded runs again."""
    for number in some_of(writes_of(name), mode, MODES):
        runs_with(name, {number: mode})


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_children_are_undone_once_whatever_write_goes_wrong(mode: Fault) -> None:
    for number in some_of(writes_of("called"), mode):
        runs_with("called", {number: mode})


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_cancel_at_any_moment_undoes_what_had_completed(name: str) -> None:
    """E1: "Cancel at each step; all compensations run"."""
    for tenths in range(0, 150, breadth(28, 7)):
        faults = {3 + tenths // 7: Fault.CRASH_AFTER} if tenths % 4 else {}
        runs_with(name, faults, cancelled_at=tenths * 100)


def stormy(seed: int, *, engines: int = 1) -> Scenario:
    """Random documents and families that can be undone, clients that interrupt, faults."""
    random = Random(f"undoing {seed}")
    jobs: list[Job] = []
    for number in range(random.randint(1, 3)):
        name = f"undo-{seed}-{number}"
        drawn_as = random.random()
        if drawn_as < 0.3:
            family = undone_family(name)
        elif drawn_as < 0.6:
            family = SHAPES[random.choice(sorted(SHAPES))]
        else:
            drawn = random_document(name, Taste(largest=10))
            family = Family(with_undo(drawn, name, percent=70), [])
        made = job_of(name, family.parent, Random(f"job {name}"))
        made.children = list(family.children)
        if random.random() < 0.6:
            made.actions.append(Cancel(at_ms=random.randrange(15_000), reason="enough"))
            made.actions.sort(key=lambda action: action.at_ms)
        jobs.append(made)
    return Scenario(
        seed=f"undoing {seed}",
        jobs=jobs,
        fault_plan=RandomFaults(
            random=Random(f"weather of undoing {seed}"),
            faults=random.choice((3, 6, 12)),
            rate=random.choice((0.05, 0.1, 0.25)),
        ),
        stops=[random.uniform(0.5, 20.0)] if random.random() < 0.3 else [],
        knobs=Knobs(
            snapshot_every=random.choice((1, 4, 100)),
            page=random.choice((1, 2, 500)),
            mail_every=random.choice((10.0, 20.0)),
            project_every=random.choice((40.0, 100.0)),
        ),
        engines=engines,
    )


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_undoing_under_faults(engines: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(breadth(8, 60) // engines**2):
        finished = run_scenario(stormy(seed, engines=engines), InMemory(shared=engines > 1))
        if engines > 1:
            finished = without_owners(finished)
        assert_kept(finished, f"stormy({seed}, engines={engines})")
        counts += counts_of(finished)
    for needed in ("COMPENSATION_COMPLETED", "COMPENSATION_FAILED", "COMPENSATION_ENDED"):
        assert counts[needed] > 1, f"vacuous: {needed} happened {counts[needed]} times"


@pytest.mark.slow
def test_undoing_on_a_disk(tmp_path: Path) -> None:
    for seed in range(2):
        finished = run_scenario(stormy(seed), InSqlite(tmp_path / f"{seed}.db"))
        assert_kept(finished, f"stormy({seed}) on a disk")


def breaks_off(name: str, mode: Fault, places: Iterator[Place], every: int) -> None:
    """Run a shape with a fault at every write, or every so many."""
    for number in range(1, runs_with(name, {}, next(places)) + 1, every):
        runs_with(name, {number: mode}, next(places))


def files(folder: Path) -> Iterator[Place]:
    return (InSqlite(folder / f"{number}.db") for number in count())


def databases() -> Iterator[Place]:
    return (InPostgres() for _ in count())


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_everything_is_undone_once_from_a_file(name: str, tmp_path: Path) -> None:
    breaks_off(name, Fault.CRASH_AFTER, files(tmp_path), 7)


@pytest.mark.slow
def test_everything_is_undone_once_from_a_database() -> None:
    breaks_off("called", Fault.CRASH_AFTER, databases(), 15)


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("name", SHAPES)
def test_everything_is_undone_once_at_any_write_anywhere(
    name: str, mode: Fault, tmp_path: Path
) -> None:
    breaks_off(name, mode, files(tmp_path), 1)
    breaks_off(name, mode, databases(), 1)


@pytest.mark.soak
def test_undoing_over_and_over(seeds: Iterator[int]) -> None:
    """Whatever is drawn, on one engine and on two; children too at each write and in each mode."""
    for seed in seeds:
        engines = 1 + seed % 2
        finished = run_scenario(stormy(seed, engines=engines), InMemory(shared=engines > 1))
        assert_kept(without_owners(finished), f"stormy({seed}, engines={engines})")
        writes = runs_with("called", {})
        runs_with("called", {1 + seed % writes: MODES[seed % len(MODES)]})
