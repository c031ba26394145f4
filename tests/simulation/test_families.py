"""Parents and children: a fault at each durable write, a cancel at any moment, faults."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tenuto.model.family import child_id
from tenuto.model.ids import NodeKey
from tenuto.testing.fault_plan import AtWrite, Fault, FaultPlan
from tests.kit.breadth import EVERY_WRITE, breadth
from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.places import InMemory, InSqlite
from tests.kit.simulator.scenario import Job, Jump, Knobs, Scenario, job_of
from tests.kit.simulator.thinning import some_of
from tests.kit.simulator.verdict import (
    assert_kept,
    counts_of,
    run_scenario,
    violations_of,
    without_owners,
)
from tests.kit.workload import Cancel
from tests.kit.workload.families import families, random_family

SEEDS = breadth(6, 50)
MODES = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
)


def job(name: str, seed: str, *, interrupts: bool = True) -> Job:
    family = families()[name]
    made = job_of(f"{seed}-{name}", family.parent, Random(f"{seed} {name}"), interrupts=interrupts)
    made.children = list(family.children)
    return made


def runs_with(name: str, faults: dict[int, Fault]) -> int:
    """Run a family with these faults; returns how many durable writes it made."""
    fault_plan = AtWrite(faults)
    finished = run_scenario(Scenario(name, [job(name, "plain", interrupts=False)], fault_plan))
    assert_kept(finished, f"runs_with({name!r}, {faults!r})")
    assert counts_of(finished)["CHILD_STARTED"], "vacuous: nobody was started"
    return fault_plan.writes


@cache
def writes_of(name: str) -> int:
    """How many durable writes a family makes without faults: counted once for all of them."""
    return runs_with(name, {})


@pytest.mark.parametrize("name", families())
def test_families_run_without_faults(name: str) -> None:
    assert writes_of(name) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("name", families())
def test_nobody_is_lost_at_any_write(name: str, mode: Fault) -> None:
    """C13: "Crash between parent record and child start; child exists once"."""
    for number in some_of(writes_of(name), mode, MODES):
        runs_with(name, {number: mode})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-child", "first-wins", "child-fails"])
def test_nobody_is_lost_when_recovery_itself_crashes(name: str) -> None:
    for number in range(1, writes_of(name) + 1):
        for later in (1, 2, 4) if EVERY_WRITE else [(1, 2, 4)[number % 3]]:
            runs_with(name, {number: Fault.CRASH_AFTER, number + later: Fault.CRASH_BEFORE})


@pytest.mark.slow
@pytest.mark.parametrize("name", families())
def test_a_parent_cancelled_at_any_moment_leaves_nobody_behind(name: str) -> None:
    """C21: "Terminate parent at each step of a running child"."""
    ends: Counter[str] = Counter()
    for tenths in range(0, 120, breadth(9, 3)):
        made = job(name, "plain", interrupts=False)
        made.actions = [Cancel(at_ms=tenths * 100, reason="enough")]
        crash = AtWrite({3 + tenths // 3: Fault.CRASH_AFTER} if tenths % 2 else {})
        finished = run_scenario(Scenario(f"{name} {tenths}", [made], crash))
        assert_kept(finished, f"{name} cancelled after {tenths} tenths of a second")
        ends += counts_of(finished)
    assert ends["CANCELLED"] > 3


def random_job(seed: str) -> Job:
    family = random_family(seed)
    made = job_of(seed, family.parent, Random(f"random family {seed}"))
    made.children = list(family.children)
    return made


def stormy(seed: int, *, engines: int = 1) -> Scenario:
    """Several families, faults, small pages, clients that interrupt."""
    random = Random(f"families {seed}")
    jobs = [
        random_job(f"{seed}-{number}")
        if random.random() < 0.5
        else job(random.choice(sorted(families())), f"{seed}-{number}")
        for number in range(random.randint(1, 3))
    ]
    fault_plan: FaultPlan = RandomFaults(
        random=Random(f"weather of families {seed}"),
        faults=random.choice((3, 6, 12)),
        rate=random.choice((0.05, 0.1, 0.25)),
    )
    return Scenario(
        seed=f"families {seed}",
        jobs=jobs,
        fault_plan=fault_plan,
        jumps=[Jump(random.uniform(0.0, 20.0), random.choice((-45.0, 45.0, 86_400.0)))]
        if random.random() < 0.25
        else [],
        stops=[random.uniform(0.5, 20.0)] if random.random() < 0.3 else [],
        knobs=Knobs(
            snapshot_every=random.choice((1, 4, 100)),
            page=random.choice((1, 2, 500)),
            mail_every=random.choice((10.0, 20.0)),
            project_every=random.choice((40.0, 100.0)),
        ),
        engines=engines,
    )


def assert_enough(counts: Counter[str]) -> None:
    for needed in ("CHILD_STARTED", "CHILD_ENDED", "COMPLETED", "FAILED", "CANCELLED"):
        assert counts[needed] > 3, f"vacuous: {needed} happened {counts[needed]} times"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2 * SEEDS, SEEDS))
def test_families_under_faults(first: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + SEEDS):
        finished = run_scenario(stormy(seed))
        assert_kept(finished, f"stormy({seed})")
        counts += counts_of(finished)
    assert_enough(counts)


@pytest.mark.slow
def test_families_of_two_engines_on_one_store() -> None:
    """Letters are handed over twice, and in any order: the gate alone keeps every promise."""
    counts: Counter[str] = Counter()
    for seed in range(SEEDS // 2):
        finished = run_scenario(stormy(seed, engines=2), InMemory(shared=True))
        assert_kept(without_owners(finished), f"stormy({seed}, engines=2)")
        counts += counts_of(finished)
    assert_enough(counts)


@pytest.mark.slow
def test_families_on_sqlite(tmp_path: Path) -> None:
    for seed in range(SEEDS // 5):
        finished = run_scenario(stormy(seed), InSqlite(tmp_path / f"{seed}.db"))
        assert_kept(finished, f"stormy({seed}) on SQLite")


class Bug(NamedTuple):
    """A mechanism that is taken out, and a run in which that shows."""

    place: str
    instead: object
    name: str
    cancel_at: int | None = None
    crashes: bool = False


def nothing(*_: object) -> None:
    """Instead of what should be done."""


def same_for_all_attempts(at: datetime, parent: str, key: NodeKey, attempt: int) -> str:
    return child_id(at - timedelta(milliseconds=attempt), parent, key, 1)


BUGS = {
    "a letter is only a hint": Bug(
        "tenuto.engine.turns.obligations.Obligations.send", nothing, "one-child", crashes=True
    ),
    "nobody is told to end": Bug("tenuto.core.cancelling.end_child", nothing, "first-wins"),
    "a time limit ends nobody": Bug("tenuto.core.child.end_child", nothing, "too-long"),
    "no end is told": Bug("tenuto.core.ending.tell_parent", nothing, "one-child"),
    "an id of another moment": Bug(
        "tenuto.core.child_start.child_id", same_for_all_attempts, "one-child"
    ),
    "a cancel goes to nobody": Bug(
        "tenuto.core.cancelling.end_child", nothing, "deadline", cancel_at=2_000
    ),
}


@pytest.mark.parametrize("what", BUGS)
def test_each_bug_is_seen(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug = BUGS[what]
    monkeypatch.setattr(bug.place, bug.instead)
    assert any("FAMILY" in seen(bug, crash) for crash in range(1 + 9 * bug.crashes))


def seen(bug: Bug, crash: int) -> set[str]:
    """What the checker says of a run that crashes after a write; 0: it does not."""
    made = job(bug.name, "plain", interrupts=False)
    if bug.cancel_at is not None:
        made.actions = [Cancel(at_ms=bug.cancel_at, reason="enough")]
    fault_plan = AtWrite({crash: Fault.CRASH_AFTER} if crash else {})
    finished = run_scenario(Scenario(bug.name, [made], fault_plan))
    return {broken.invariant for broken in violations_of(finished)}
