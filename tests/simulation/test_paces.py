"""Rates and debounced starts hold whatever goes wrong, and nothing waits for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import pytest

from tenuto.store.parts.paces import Rates, Settling
from tests.kit.breadth import breadth
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import paced
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario, violations_of

SEEDS = breadth(3, 300)


@pytest.mark.slow
@pytest.mark.parametrize("engines", [1, 2])
def test_no_rate_is_exceeded_and_debounced_starts_become_one(engines: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        place = InMemory(shared=True) if engines > 1 else None
        finished = run_scenario(paced(seed, engines=engines), place)
        assert_kept(finished, f"paces on seed {seed} with {engines} engines")
        counts += counts_of(finished)
    assert all(counts[each] for each in ("CANCELLED", "COMPLETED")), f"vacuous: {counts}"


def rates_are_not_compared() -> AbstractContextManager[Any]:
    return patch.object(Rates, "is_full", lambda *_: False)


def begins_are_not_counted() -> AbstractContextManager[Any]:
    """A pass forgets what began before it."""
    return patch.object(Rates, "write", lambda *_: (yield from ()))


def debounced_starts_begin_at_once() -> AbstractContextManager[Any]:
    def settle(self: Settling, key: str, requests: list[tuple[int, str, object]]) -> None:
        self._begun.update(id for _, id, _ in requests)

    return patch.object(Settling, "_settle", settle)


@pytest.mark.slow
@pytest.mark.parametrize(
    "bug", [rates_are_not_compared, begins_are_not_counted, debounced_starts_begin_at_once]
)
def test_the_checker_sees_paces_that_are_wrong(
    bug: Callable[[], AbstractContextManager[Any]],
) -> None:
    found: set[str] = set()
    for seed in range(12):
        with bug():
            finished = run_scenario(paced(seed))
        found |= {each.invariant for each in violations_of(finished)}
        if "I31" in found:
            break
    assert "I31" in found, f"only {found}"
