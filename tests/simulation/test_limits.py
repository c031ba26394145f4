"""Limits hold at every instant, whatever goes wrong, and no slot is left when all is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

from tenuto.store.parts.slots import _Pass
from tenuto.testing.fault_plan import Fault
from tests.kit.breadth import breadth
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import limited
from tests.kit.simulator.verdict import (
    assert_kept,
    counts_of,
    run_scenario,
    violations_of,
)

SEEDS = breadth(6, 400)


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_no_limit_is_exceeded_and_no_slot_is_lost(engines: int) -> None:
    """ "At no instant exceeded (rebuilt from the log by the independent checker), zero slots held
    at rest, also after kills".
    """
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        place = InMemory(shared=True) if engines > 1 else None
        finished = run_scenario(limited(seed, engines=engines), place)
        assert_kept(finished, f"limits on seed {seed} with {engines} engines")
        counts += counts_of(finished)
    crashes = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST)
    assert all(counts[str(each)] for each in crashes), f"vacuous: {counts}"
    ends = ("CANCELLED", "COMPLETED", "PAUSE_REQUESTED")
    assert all(counts[each] for each in ends), f"vacuous: {counts}"


def limits_are_not_compared() -> AbstractContextManager[Any]:
    return patch.object(_Pass, "_is_full", lambda *_: False)


def instances_begin_without_a_slot() -> AbstractContextManager[Any]:
    return patch("tenuto.core.flow._is_held_up", lambda _d: False)


def rest_gives_nothing_back() -> AbstractContextManager[Any]:
    """Of one that waits, the log says that it has given its slot back, and the store does not."""
    return patch("tenuto.engine.turns.obligations.Obligations.release_slot", lambda *_: None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "invariants"),
    [
        (limits_are_not_compared, {"I31"}),
        (instances_begin_without_a_slot, {"I31"}),
        (rest_gives_nothing_back, {"I45", "I25"}),
    ],
)
def test_the_checker_sees_slots_that_are_wrong(
    bug: Callable[[], AbstractContextManager[Any]], invariants: set[str]
) -> None:
    found: set[str] = set()
    for seed in range(6):
        with bug():
            finished = run_scenario(limited(seed))
        found |= {each.invariant for each in violations_of(finished)}
        if found & invariants:
            break
    assert found & invariants, f"only {found}"
