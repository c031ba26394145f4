"""Slots that other systems lost with a process: crashes at the writes of which they were lost."""

from __future__ import annotations

import pytest

from tenuto.testing.fault_plan import Fault, NoFaults
from tests.kit.breadth import breadth
from tests.kit.simulator.verdict import assert_kept, run_scenario
from tests.simulation.test_limits import printing

CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ACK_LOST)
"""The last one is C1 (prefect #10263), "Request timed out at the client but succeeded; the retry
was an illegal transition": the same write comes again."""


class AtCall(NoFaults):
    """A fault at the given call of one verb."""

    def __init__(self, verb: str, number: int, fault: Fault) -> None:
        super().__init__()
        self._verb = verb
        self._number = number
        self._fault = fault
        self.calls = 0
        self.happened = False

    def on_write(self, verb: str) -> Fault | None:
        super().on_write(verb)
        if verb != self._verb:
            return None
        self.calls += 1
        self.happened |= self.calls == self._number
        return self._fault if self.calls == self._number else None


def _crash_at_each(verb: str, fault: Fault, step: int) -> int:
    """Runs in which one call of a verb meets a fault; returns how many there were."""
    number, first = 0, 1 + CRASHES.index(fault) % step
    while True:
        scenario = printing()
        plan = scenario.fault_plan = AtCall(verb, first + step * number, fault)
        finished = run_scenario(scenario)
        if not plan.happened:
            return number
        assert_kept(finished, f"{fault} at call {first + step * number} of {verb}")
        number += 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", CRASHES)
def test_a_grant_whose_process_dies_before_it_is_used_is_used_by_the_next(fault: Fault) -> None:
    """C2 (prefect #20485 #22664 #10284), "Worker died between claim and launch; nothing owned the
    claim": a grant is a message in the same transaction, which any process takes.
    """
    assert _crash_at_each("slots.admit", fault, step=1) >= 2, "vacuous"


@pytest.mark.slow
@pytest.mark.parametrize("fault", CRASHES)
def test_a_slot_whose_process_dies_at_the_end_of_an_instance_is_free(fault: Fault) -> None:
    """C4 (dbos-transact-py #232), "Crash between dequeue and flushing the output: neither queue nor
    recovery picked it up": the end and the release are one write.
    """
    assert _crash_at_each("turns.commit", fault, step=breadth(6, 1)) >= 2, "vacuous"
