"""Every promise holds on every seed, whatever goes wrong, and enough goes wrong."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from tenuto.testing.fault_plan import Fault
from tests.kit.breadth import breadth
from tests.kit.simulator.verdict import counts_of, run_seed

SEEDS = int(os.environ.get("TENUTO_SEEDS", breadth(100, 1000)))
CHUNK = 100
NODE_KINDS = ("start", "end", "task", "condition", "delay", "eventWait", "terminate", "loop")
BUILT_IN = ("javascript", "http", "dataQuery")
ENDS = ("COMPLETED", "FAILED", "CANCELLED")
REQUESTS = ("start ok", "publish ok", "pause ok", "resume ok", "cancel ok", "retry ok", "rerun ok")
ITERATIONS = ("iteration success", "iteration error", "iteration cancelled", "iteration in another")
QUOTAS = (
    # Only where there are several can one be presumed dead.
    *(str(fault) for fault in Fault if fault is not Fault.PRESUMED_DEAD),
    *(f"completed {kind}" for kind in (*NODE_KINDS, *BUILT_IN)),
    *ENDS,
    *REQUESTS,
    *ITERATIONS,
)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_promise_is_broken(first: int) -> None:
    """ "Deterministic simulation on at least 1,000 seeds: crash before and after every durable
    write and with the commit done but its answer lost, duplicate and reordered results, clock
    jumps." Every instance ends; each fault and each kind of node occurs.
    """
    counts: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        counts += counts_of(run_seed(seed))
    missing = [name for name in QUOTAS if not counts[name]]
    assert not missing, f"vacuous: {missing} never happened in {CHUNK} seeds"


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_no_promise_is_broken_in_a_long_time(part: int, seeds: Iterator[int]) -> None:
    """As many further seeds as there is time for."""
    for seed in seeds:
        run_seed(seed)
