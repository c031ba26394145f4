"""Two tenants with the same workflows, keys and ids of events never meet, whatever goes wrong.

Each is judged by itself: an event that came from the other, or went there, is one too many or one
too few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from msgspec.structs import replace

from tenuto.engine.events.wait_finder import Found, WaitFinder
from tenuto.model.events import Event
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import (
    MIRROR,
    Scenario,
    event_job,
    mirrored,
    scenario_of,
    two_engines,
)
from tests.kit.simulator.verdict import assert_kept, run_scenario, status_of, violations_of


def in_a_mirror(seed: int, scenario: Scenario) -> Scenario:
    """A drawn scenario with events in it, played by two tenants at once."""
    jobs = [each for each in scenario.jobs if each.tenant != MIRROR]
    jobs.append(event_job(f"{seed}-meeting", Random(f"meeting {seed}")))
    scenario.jobs = jobs + mirrored(jobs)
    return scenario


def played(scenario: Scenario, place: InMemory | None = None) -> int:
    """Returns how many events came to them."""
    finished = run_scenario(scenario, place)
    assert_kept(finished, f"in_a_mirror({scenario.seed})")
    [other] = finished.others
    for run in (finished.run, other):
        assert {status_of(each) for each in run.instances}
    return min(len(run.events or ()) for run in (finished.run, other))


@pytest.mark.parametrize("first", [3, 6])
def test_tenants_that_have_the_same_never_meet(first: int) -> None:
    for seed in range(first, first + 3):
        assert played(in_a_mirror(seed, scenario_of(seed))), "vacuous: no event came"


def test_nor_do_they_on_two_engines() -> None:
    assert played(in_a_mirror(1, two_engines(1)), InMemory(shared=True)), "vacuous: no event came"


@pytest.mark.soak
def test_nor_do_they_for_a_long_time(seeds: Iterator[int]) -> None:
    for seed in seeds:
        played(in_a_mirror(seed, scenario_of(seed)))


def test_one_that_looks_for_waits_of_others_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above are not vacuous."""
    find = WaitFinder._find

    async def find_anybodys(
        self: WaitFinder, tenant: str, events: Sequence[Event], found: list[Found]
    ) -> None:
        await find(self, tenant, events, found)
        other = "default" if tenant == MIRROR else MIRROR
        as_theirs = [replace(event, tenant=other) for event in events]
        await find(self, other, as_theirs, found)

    monkeypatch.setattr(WaitFinder, "_find", find_anybodys)
    finished = [run_scenario(in_a_mirror(seed, scenario_of(seed))) for seed in (21, 25, 27)]
    assert any(violations_of(each) for each in finished)
