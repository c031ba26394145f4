"""A run follows from its seed alone, wherever and on whichever store it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.breadth import breadth
from tests.kit.checker import digest
from tests.kit.simulator.places import InSqlite
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import scenario_of
from tests.kit.simulator.verdict import assert_kept, digest_of, run_scenario
from tests.kit.simulator.world import Finished

ROOT = Path(__file__).parents[2]
SEEDS = breadth(4, 40)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_log() -> None:
    """I47: "Same seed → same log hash"."""
    for seed in range(SEEDS):
        first = digest_of(run_scenario(scenario_of(seed)))
        assert digest_of(run_scenario(scenario_of(seed))) == first, seed


@pytest.mark.slow
def test_the_order_of_hashes_makes_no_difference() -> None:
    """I47, in other interpreters: sets and maps iterate in another order in each."""
    outputs = {hash_seed: _digests(hash_seed, 0, SEEDS) for hash_seed in ("0", "1", "4711")}
    assert len(outputs["0"].splitlines()) == SEEDS
    assert outputs["0"] == outputs["1"] == outputs["4711"]


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 30])
def test_memory_and_sqlite_give_equal_logs(first: int, tmp_path: Path) -> None:
    """I47: "memory and SQLite give equal logs once ids and times are normalised"."""
    for seed in range(first, first + SEEDS // 2):
        in_memory = run_scenario(scenario_of(seed))
        in_sqlite = run_scenario(scenario_of(seed), InSqlite(tmp_path / f"{seed}.db"))
        assert_kept(in_sqlite, f"seed {seed} on SQLite")
        assert _logs(in_sqlite) == _logs(in_memory), seed


@pytest.mark.slow
def test_memory_and_postgres_give_equal_logs() -> None:
    """I47, on a real server: "in simulation, logs equal to memory and SQLite"."""
    for seed in range(breadth(3, 10)):
        in_memory = run_scenario(scenario_of(seed))
        in_postgres = run_scenario(scenario_of(seed), InPostgres())
        assert_kept(in_postgres, f"seed {seed} on PostgreSQL")
        assert _logs(in_postgres) == _logs(in_memory), seed


def _logs(finished: Finished) -> list[str]:
    return sorted(digest(each.history, each.id) for each in finished.run.instances)


def _digests(hash_seed: str, first: int, last: int) -> str:
    return subprocess.run(
        [sys.executable, "-m", "tests.kit.simulator", "--digest", str(first), str(last)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
