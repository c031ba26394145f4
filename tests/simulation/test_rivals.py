"""Event, timeout, decision, cancel, pause, retry, rerun and completion at the same moment.

Waits beside each other, in a loop and in a child, an approval, a time limit of the whole, and all
of it can be undone: whatever wins, every promise is kept, and each of them wins now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.kit.simulator.fault_plan import RandomFaults
from tests.kit.simulator.outside import Ear
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import Job, Jump, Knobs, Scenario
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario, without_owners
from tests.kit.simulator.world import Finished
from tests.kit.workload import Behaviour, plan_behaviours
from tests.kit.workload.rivals import crowd, rivals

STEPS = ("before", "call", "each", "both", "wait")


def world(seed: int, *, engines: int = 1) -> Scenario:
    random = Random(f"rivals {seed}")
    return Scenario(
        seed=f"rivals {seed}",
        jobs=[job(f"{seed}-{number}", random) for number in range(random.randint(1, 4))],
        fault_plan=RandomFaults(
            random=Random(f"weather of rivals {seed}"),
            faults=random.choice((0, 0, 3, 8)),
            rate=random.choice((0.05, 0.15)),
        ),
        jumps=[Jump(10.0, random.choice((-5.0, 0.5, 10.0)))] if random.random() < 0.15 else [],
        stops=[random.uniform(9.9, 10.3)] if random.random() < 0.2 else [],
        knobs=Knobs(
            snapshot_every=random.choice((1, 4, 100)),
            page=random.choice((1, 500)),
            mail_every=random.choice((2.0, 20.0)),
        ),
        engines=engines,
        ears=[Ear("everything", ("**",), "is moody")] if random.random() < 0.5 else [],
    )


def job(name: str, random: Random) -> Job:
    family = rivals(is_undone=random.random() < 0.6)
    k = random.choice((5, 6))
    drawn = plan_behaviours(family.parent, name, failing_percent=random.choice((0, 20)), calm=True)
    quick = drawn | {("before", 1): Behaviour("succeed", 100, {"value": 1})}
    return Job(
        family.parent,
        {"k": k, "flag": True},
        quick,
        crowd(k, name),
        f"key {name}",
        rerun_from=random.choice(STEPS) if random.random() < 0.3 else None,
        children=list(family.children),
    )


def outcomes(finished: Finished) -> Counter[str]:
    """How each wait and each instance came to its end, and what was asked of it."""
    counts = counts_of(finished)
    for instance in finished.run.instances:
        for row in instance.history:
            if row["eventType"] == "WAIT_RESOLVED":
                counts[f"wait: {row['payload']['outcome']}"] += 1
            if row["eventType"] == "CANCEL_REQUESTED":
                counts[f"cancel: {row['payload']['source']}"] += 1
    return counts


def runs(seed: int, engines: int = 1, place: Place | None = None) -> Counter[str]:
    finished = run_scenario(world(seed, engines=engines), place or InMemory(shared=engines > 1))
    if engines > 1:
        finished = without_owners(finished)
    assert_kept(finished, f"runs({seed}, {engines})")
    return outcomes(finished)


NEEDED = (
    *("COMPLETED", "FAILED", "CANCELLED"),
    *("wait: event", "wait: timeout", "wait: decision"),
    *("cancel: API", "cancel: EVENT", "cancel: TIMEOUT", "cancel: PARENT"),
    *("COMPENSATION_ENDED", "RETRY_REQUESTED", "rerun ok"),
)


@pytest.mark.slow
def test_whoever_wins_every_promise_is_kept() -> None:
    """I24 to I30, where everything meets."""
    counts: Counter[str] = Counter()
    for seed in range(16):
        counts += runs(seed)
    missing = [name for name in NEEDED if not counts[name]]
    assert not missing, f"vacuous: {missing} never happened, but {counts}"


@pytest.mark.slow
def test_whoever_wins_on_two_engines_every_promise_is_kept() -> None:
    for seed in range(3):
        runs(seed, 2)


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_whoever_wins_on_a_real_store_every_promise_is_kept(store: str, tmp_path: Path) -> None:
    runs(1, place=InSqlite(tmp_path / "store.db") if store == "sqlite" else InPostgres())


@pytest.mark.soak
def test_whoever_wins_in_a_long_time_every_promise_is_kept(
    seeds: Iterator[int], tmp_path: Path
) -> None:
    for seed in seeds:
        runs(seed, 1 + seed % 2)
        if seed % 10 == 0:
            runs(seed, place=InSqlite(tmp_path / f"{seed}.db"))
            runs(seed, place=InPostgres())
