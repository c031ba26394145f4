"""Breaker, bulkhead and rate of an address, as all processes know them."""

from __future__ import annotations

import pytest

from tenuto.model.task_definition import BreakerPolicy, TaskDefinition, TaskLimits
from tenuto.targets.state import (
    FORGOTTEN_AFTER,
    TargetPolicy,
    TargetState,
    allowed,
    breaker_state,
    ended,
    in_flight,
    others_want,
    part_of,
    shared,
    taken,
    wanting,
)

NEW = TargetState()


def task(
    concurrency: int | None = None, rate: float | None = None, failures: int = 3
) -> TaskDefinition:
    return TaskDefinition(
        id="charge",
        kind="push",
        limits=TaskLimits(concurrency=concurrency, rate_per_second=rate),
        breaker=BreakerPolicy(failures=failures, open_for=1000),
    )


@pytest.mark.parametrize("open_for", [1000, "PT1S", "1s"])
def test_a_breaker_is_open_for_as_long_as_its_text_or_number_says(open_for: str | int) -> None:
    policy = TargetPolicy(breaker=BreakerPolicy(failures=1, open_for=open_for))
    state = ended(NEW, policy, sent_at=0, is_well=False, now=50)
    assert state.open_until == 1050


def test_what_others_have_under_way_takes_room() -> None:
    state = shared(shared(NEW, "p1", 3, 0), "p2", 4, 0)
    assert in_flight(state, 0) == 7
    assert allowed(state, task(10), "p1", 3, 0) == 3
    assert allowed(state, task(10), "p3", 0, 0) == 3
    assert allowed(state, task(5), "p3", 0, 0) == 0


def test_a_process_that_is_gone_holds_no_place() -> None:
    state = shared(NEW, "p1", 10, 0)
    assert allowed(state, task(10), "p2", 0, FORGOTTEN_AFTER - 1) == 0
    assert allowed(state, task(10), "p2", 0, FORGOTTEN_AFTER) == 10
    assert shared(state, "p2", 1, FORGOTTEN_AFTER).shares.keys() == {"p2"}
    assert shared(state, "p1", 0, 5).shares == {}


def test_a_rate_is_kept_over_time() -> None:
    limited = task(1000, rate=10)
    state, sent = NEW, 0
    for now in range(0, 10_001, 100):
        count = allowed(state, limited, "p1", 0, now)
        state = taken(state, limited, "p1", count=count, mine=0, now=now)
        sent += count
    assert 100 <= sent <= 110
    assert allowed(state, task(1000, rate=0.5), "p1", 0, 11_000) <= 1


def test_the_breaker_opens_after_failures_in_a_row_and_not_otherwise() -> None:
    state = NEW
    for is_well in (False, False, True, False, False):
        state = ended(state, task(), sent_at=0, is_well=is_well, now=0)
    assert breaker_state(state, 0) == "closed"
    state = ended(state, task(), sent_at=0, is_well=False, now=0)
    assert breaker_state(state, 0) == "open"
    assert allowed(state, task(), "p1", 0, 999) == 0


def test_a_half_open_breaker_lets_one_through_for_all_processes() -> None:
    state = ended(NEW, task(failures=1), sent_at=0, is_well=False, now=0)
    assert breaker_state(state, 1000) == "half-open"
    assert allowed(state, task(), "p1", 0, 1000) == 1
    probed = taken(state, task(), "p1", count=1, mine=1, now=1000)
    assert allowed(probed, task(), "p2", 0, 1001) == 0
    # A process that died with the probe does not keep it open for ever.
    assert allowed(probed, task(), "p2", 0, 1000 + 60_000) == 1
    failed = ended(probed, task(), sent_at=1000, is_well=False, now=1100)
    assert (breaker_state(failed, 2099), breaker_state(failed, 2100)) == ("open", "half-open")
    well = ended(probed, task(), sent_at=1000, is_well=True, now=1100)
    assert (breaker_state(well, 1100), well.failures) == ("closed", 0)


def test_only_the_probe_tells_whether_the_address_answers_again() -> None:
    opened = ended(NEW, task(failures=1), sent_at=0, is_well=False, now=0)
    probed = taken(opened, task(), "p1", count=1, mine=1, now=1000)
    for is_well in (True, False):
        assert ended(opened, task(), sent_at=0, is_well=is_well, now=900) == opened
        assert ended(opened, task(), sent_at=0, is_well=is_well, now=1100) == opened
        assert ended(probed, task(), sent_at=0, is_well=is_well, now=1100) == probed
    again = taken(probed, task(), "p2", count=1, mine=1, now=1000 + 60_000)
    assert ended(again, task(), sent_at=1000, is_well=False, now=61_001) == again
    well = ended(again, task(), sent_at=61_000, is_well=True, now=61_001)
    assert breaker_state(well, 61_001) == "closed"


def test_what_was_sent_before_it_opened_keeps_it_open_no_longer() -> None:
    state = ended(NEW, task(failures=1), sent_at=0, is_well=False, now=0)
    late = ended(state, task(failures=1), sent_at=0, is_well=False, now=900)
    assert late.open_until == 1000


def test_an_address_that_takes_its_time_closes_its_breaker_with_any_probe() -> None:
    opened = ended(NEW, task(failures=1), sent_at=0, is_well=False, now=0)
    probed = taken(opened, task(), "p1", count=1, mine=1, now=1000)
    again = taken(probed, task(), "p2", count=1, mine=1, now=61_000)
    well = ended(again, task(), sent_at=1000, is_well=True, now=91_000)
    assert (breaker_state(well, 91_000), well.failures) == ("closed", 0)
    assert allowed(well, task(10), "p1", 0, 91_000) == 10


def test_a_probe_that_is_called_off_makes_room_for_another() -> None:
    opened = ended(NEW, task(failures=1), sent_at=0, is_well=False, now=0)
    probed = taken(opened, task(), "p1", count=1, mine=1, now=1000)
    called_off = ended(probed, task(), sent_at=1000, is_well=None, now=1100)
    assert breaker_state(called_off, 1100) == "half-open"
    assert allowed(called_off, task(), "p2", 0, 1100) == 1
    again = taken(called_off, task(), "p2", count=1, mine=1, now=1200)
    assert ended(again, task(), sent_at=1000, is_well=None, now=1300) == again
    assert ended(NEW, task(), sent_at=0, is_well=None, now=0) == NEW


def test_while_another_process_waits_each_has_an_equal_part_of_the_places() -> None:
    limits = task(10)
    alone = shared(NEW, "p1", 10, 0)
    assert part_of(4, alone, limits, "p1", mine=6, now=0) == 4
    waited = wanting(alone, "p2", is_waiting=True, is_served=False, now=0)
    assert part_of(4, waited, limits, "p1", mine=6, now=0) == 0
    assert part_of(4, waited, limits, "p2", mine=0, now=0) == 4
    both = wanting(waited, "p1", is_waiting=True, is_served=False, now=0)
    assert part_of(9, both, limits, "p2", mine=0, now=0) == 5
    assert part_of(4, waited, limits, "p1", mine=6, now=3_000) == 4, "it has not said so again"


def test_a_place_that_is_left_goes_to_the_process_that_has_waited_longest() -> None:
    one = task(1)
    state = wanting(NEW, "p1", is_waiting=True, is_served=False, now=0)
    state = wanting(state, "p2", is_waiting=True, is_served=False, now=10)
    assert [part_of(1, state, one, each, mine=0, now=20) for each in ("p1", "p2")] == [1, 0]
    state = wanting(state, "p1", is_waiting=True, is_served=True, now=20)
    assert [part_of(1, state, one, each, mine=0, now=30) for each in ("p1", "p2")] == [0, 1]
    state = wanting(state, "p2", is_waiting=False, is_served=True, now=30)
    assert (set(state.wants), others_want(state, "p1", 30)) == ({"p1"}, False)
