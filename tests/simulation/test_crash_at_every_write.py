"""Each shape, with a fault at its first durable write, at its second, and so on to its last."""

from __future__ import annotations

import pytest

from tenuto.testing.weather import AtWrite, Fault
from tests.kit.simulator.scenario import Scenario, plain_jobs
from tests.kit.simulator.verdict import assert_kept, run_scenario
from tests.kit.workload import topologies

MODES = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.ACK_LOST,
    Fault.UNKNOWN_UNDONE,
    Fault.UNAVAILABLE,
)


def runs_with(shape: str, faults: dict[int, Fault]) -> int:
    """Run a shape with these faults; returns how many durable writes it made."""
    weather = AtWrite(faults)
    scenario = Scenario(shape, plain_jobs([topologies()[shape]], shape), weather)
    finished = run_scenario(scenario)
    assert_kept(finished, f"runs_with({shape!r}, {faults!r})")
    happened = len(finished.ledgers.faults)
    beyond = sum(number > weather.writes for number in faults)
    assert happened + beyond == len(faults), "vacuous: a fault did not happen"
    return weather.writes


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.replace(" ", "-"))
@pytest.mark.parametrize("shape", topologies())
def test_nothing_is_lost_at_any_write(shape: str, mode: Fault) -> None:
    """R3: "run once counting durable calls, then W runs that die before, and W that die after call
    n; then again with an error instead of death, and with committed but the reply was lost".
    """
    writes = runs_with(shape, {})
    assert writes >= 4
    for number in range(1, writes + 1):
        runs_with(shape, {number: mode})


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["quorum", "error-path", "event-wait", "delay"])
def test_nothing_is_lost_when_recovery_itself_crashes(shape: str) -> None:
    """R3: "also pairs of crash points (second crash during recovery)"."""
    writes = runs_with(shape, {})
    for number in range(1, writes + 1):
        for later in (1, 2, 3, 5):
            runs_with(shape, {number: Fault.CRASH_AFTER, number + later: Fault.CRASH_BEFORE})
            runs_with(shape, {number: Fault.CRASH_BEFORE, number + later: Fault.CRASH_AFTER})
