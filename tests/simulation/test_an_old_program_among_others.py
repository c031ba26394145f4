"""Two engines on one store, of which one is of an older program and cannot read everything.

It does not know pauses, cannot read a letter that asks for a cancel, and of one workflow nothing at
all. What it cannot read it leaves to the other; what it can it goes on with, and no promise is
broken by either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tenuto.store.memory import MemoryStore
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call
from tests.engine.old_program import OldProgram
from tests.kit.breadth import breadth
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Scenario, two_engines
from tests.kit.simulator.verdict import assert_kept, counts_of, run_scenario, without_owners
from tests.kit.workload import Cancel, Pause, Resume


class Old(OldProgram):
    """Counts what it gives back to others."""

    async def on_members_give_back(self, call: Call) -> object:
        [unread] = call.args
        self.asked["given back"] += len(unread.instances) + len(unread.messages)
        return await call()


class WithAnOldProgram(InMemory):
    """Every second store that is opened is an old program's."""

    def __init__(self) -> None:
        super().__init__(shared=True)
        self._opened = 0
        self.old: list[Old] = []

    def store(self) -> Store:
        self._opened += 1
        if self._opened % 2:
            return super().store()
        self.old.append(Old(MemoryStore(self.disk, shared=True)))
        return self.old[-1]


def world(seed: int) -> Scenario:
    """Clients ask the new program: the old one would tell them that it cannot know."""
    scenario = two_engines(seed)
    scenario.is_divided = False
    scenario.asked = 1
    first = scenario.jobs[0]
    first.document = {**first.document, "id": "newer"}
    first.rerun_from = None
    for number, job in enumerate(scenario.jobs[1:]):
        at = 1_000 + 700 * number
        job.actions += [Pause(at, None), Resume(at + 9_000)]
        if number % 2:
            job.actions.append(Cancel(at + 4_000, "enough"))
        job.actions.sort(key=lambda action: action.at_ms)
    return scenario


def runs(seed: int) -> Counter[str]:
    place = WithAnOldProgram()
    finished = run_scenario(world(seed), place)
    assert_kept(without_owners(finished), f"an old program among others, seed {seed}")
    asked = sum((old.asked for old in place.old), Counter[str]())
    return counts_of(finished) + asked


@pytest.mark.slow
def test_what_an_old_program_cannot_read_is_done_by_a_new_one() -> None:
    counts: Counter[str] = Counter()
    for seed in range(breadth(5, 30)):
        counts += runs(seed)
    for needed in ("PAUSE_REQUESTED", "CANCEL_REQUESTED", "COMPLETED", "given back"):
        assert counts[needed] > 3, f"vacuous: {needed} happened {counts[needed]} times"


@pytest.mark.soak
def test_what_an_old_program_cannot_read_in_a_long_time(seeds: Iterator[int]) -> None:
    for seed in seeds:
        runs(seed)
