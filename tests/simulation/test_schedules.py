"""Schedules through crashes, deaths, outages and clocks that are set: the oracle's ticks, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit import soak_figures
from tests.kit.breadth import breadth
from tests.kit.simulator.scheduled import RARE, Outcome, ScheduledWorld
from tests.simulation import schedule_bugs as bugs
from tests.simulation.schedule_bugs import Bug


def assert_kept(outcome: Outcome, name: str) -> None:
    shown = "\n".join(map(str, outcome.violations[:10]))
    assert not outcome.violations, f"{name}: {len(outcome.violations)} broken promises\n{shown}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(breadth(2, 30)))
def test_ticks_are_those_of_the_oracle_once_each(seed: int) -> None:
    outcome = ScheduledWorld(seed, schedules=8, days=7).run()
    assert_kept(outcome, f"seed {seed}")
    assert outcome.processes > 2, "vacuous: hardly anything crashed"
    assert outcome.started > outcome.ticks / 3, "vacuous: hardly anything was started"


TRAPS: list[tuple[Bug, str, int, dict[str, Any]]] = [
    (bugs.started_before_it_is_recorded, "T1", 0, {}),
    (bugs.the_last_one_wins, "T3", 11, {"overlaps": ("queue",), "schedules": 8}),
    (bugs.begins_with_the_present, "T3", 0, {}),
    (bugs.a_little_early, "T4", 2, {"schedules": 9}),
    (bugs.overlaps_are_not_seen, "T6", 1, {"overlaps": ("skip",)}),
    (bugs.ends_are_not_noticed, "T7", 0, {"overlaps": ("allow",)}),
]
"""Each with the promise that it breaks, and the seed that is tried first."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "promise", "first", "world"), TRAPS, ids=[each[0].__name__ for each in TRAPS]
)
def test_a_bug_is_noticed(bug: Bug, promise: str, first: int, world: dict[str, Any]) -> None:
    for seed in (first, *range(24)):
        with bug():
            outcome = ScheduledWorld(seed, **{"schedules": 4, "days": 4} | world).run()
        if promise in {each.promise for each in outcome.violations}:
            return
    pytest.fail(f"no seed shows that {bug.__name__} breaks {promise}")


@pytest.mark.soak
def test_a_year_of_a_thousand_schedules() -> None:
    outcome = ScheduledWorld(7, schedules=1_000, days=365, faults=150, crons=RARE).run()
    assert_kept(outcome, "a year")
    assert outcome.ticks > 20_000, "vacuous"
    soak_figures.add(
        "simulated",
        schedules=1_000,
        ticks=outcome.ticks,
        started=outcome.started,
        processes=outcome.processes,
    )


@pytest.mark.soak
def test_ticks_under_many_seeds(seeds: Iterator[int]) -> None:
    for seed in seeds:
        assert_kept(ScheduledWorld(seed, schedules=12, days=20).run(), f"seed {seed}")
