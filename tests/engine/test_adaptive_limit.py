"""The adaptive limit: the rule as a function, and the limit that admission obeys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.engine.load.adaptive_limit import (
    CALM,
    GENTLEST,
    REST,
    LimitState,
    first_state,
    next_state,
)
from tenuto.model.json import Object
from tenuto.model.load import LoadReadings, LoadTargets, ResourceBasedLimits
from tests.engine.saturation import INSTANCES, Outcome, run_saturated
from tests.kit.breadth import breadth

BOUNDS = st.tuples(st.integers(1, 5_000), st.integers(0, 5_000)).map(
    lambda pair: ResourceBasedLimits(enabled=True, min=pair[0], max=sum(pair))
)
READING = st.builds(
    LoadReadings,
    loop_lag_ms=st.floats(0, 100_000),
    commit_ms=st.floats(0, 100_000),
    memory_percent=st.floats(0, 100),
)
RULES = ResourceBasedLimits(
    enabled=True, min=10, max=1_000, targets=LoadTargets(commit_ms=50, loop_lag_ms=50)
)


def after(
    rules: ResourceBasedLimits, seen: LoadReadings, periods: int, state: LimitState | None = None
) -> list[int]:
    """The limits of so many periods with the same readings."""
    state = state or first_state(rules)
    found = []
    for _ in range(periods):
        state = next_state(rules, state, seen)
        found.append(state.limit)
    return found


@settings(max_examples=breadth(30, 5_000))
@given(BOUNDS, st.lists(READING, max_size=40), st.integers(1, 20_000))
def test_the_limit_stays_within_its_bounds(
    rules: ResourceBasedLimits, seen: list[LoadReadings], first: int
) -> None:
    state = LimitState(limit=first)  # as other rules left it
    for each in seen:
        state = next_state(rules, state, each, state.limit)
        assert rules.min <= state.limit <= rules.max


@settings(max_examples=breadth(30, 2_000))
@given(BOUNDS)
def test_the_limit_of_an_idle_process_rises_to_its_most(rules: ResourceBasedLimits) -> None:
    limits = after(rules, LoadReadings(), 200)
    assert limits == sorted(limits)
    assert limits[-1] == rules.max


@settings(max_examples=breadth(30, 2_000))
@given(BOUNDS, st.floats(1.5, 1_000))
def test_the_limit_falls_geometrically_under_overload(
    rules: ResourceBasedLimits, times: float
) -> None:
    seen = LoadReadings(commit_ms=rules.targets.commit_ms * times)
    limits = after(rules, seen, 80, LimitState(limit=rules.max, readings=seen, is_new=False))
    assert limits == sorted(limits, reverse=True)
    for period in range(REST + 1, 80, REST + 1):
        now, before = limits[period], limits[period - REST - 1]
        assert now == rules.min or now <= before * GENTLEST
    many = LimitState(limit=1_000_000, readings=seen)
    assert after(ResourceBasedLimits(min=1, max=1_000_000), seen, 200, many)[-1] == 1


@settings(max_examples=breadth(30, 2_000))
@given(BOUNDS, READING, st.integers(1, 10_000))
def test_constant_readings_move_the_limit_in_one_direction(
    rules: ResourceBasedLimits, seen: LoadReadings, first: int
) -> None:
    start = LimitState(limit=min(max(first, rules.min), rules.max), readings=seen)
    limits = [start.limit, *after(rules, seen, 60, start)]
    assert limits in (sorted(limits), sorted(limits, reverse=True))


@settings(max_examples=breadth(30, 2_000))
@given(st.floats(0.05, 4), st.floats(0.5, 20))
def test_readings_that_follow_the_limit_settle_it_within_a_quarter(
    each: float, base: float
) -> None:
    """The plant: a commit takes `base` ms, and `each` ms more for each running instance."""
    state, found = first_state(RULES), []
    for _ in range(200):
        state = next_state(RULES, state, LoadReadings(commit_ms=base + each * state.limit))
        found.append(state.limit)
    settled = found[100:]
    assert max(settled) - min(settled) <= 0.25 * max(settled) + 1
    right = (RULES.targets.commit_ms - base) / each
    if RULES.min < right < RULES.max:
        assert min(settled) <= right * 1.05
        assert max(settled) >= right * CALM * GENTLEST * 0.7 - 1


def test_the_reason_names_the_reading_and_its_target() -> None:
    high = LoadReadings(commit_ms=80, loop_lag_ms=10)
    state = LimitState(limit=100, readings=high, is_new=False)
    lowered = next_state(RULES, state, high)
    assert (lowered.limit, lowered.reason) == (62, "lowered: commit latency 80 ms of 50 ms")
    assert next_state(RULES, lowered, high).limit == 62  # it rests
    full = next_state(RULES, state, LoadReadings(memory_percent=200))
    assert full.reason == "lowered: memory 100 % of 85 %"
    least = LimitState(limit=10, readings=high)
    assert next_state(RULES, least, high).reason.startswith("at its least: commit latency")
    most = LimitState(limit=RULES.max, is_new=False)
    calm = next_state(RULES, most, LoadReadings(commit_ms=1))
    assert (calm.limit, calm.reason) == (RULES.max, "not lowered: commit latency 0.5 ms of 50 ms")


def test_the_end_of_the_process_that_asked_for_the_lowest_limit_lets_few_in_at_once() -> None:
    state = LimitState(limit=1_000, is_new=False)
    assert next_state(RULES, state, LoadReadings(), in_force=50).limit == 100


@pytest.fixture(scope="module")
def fixed() -> Outcome:
    return run_saturated({"globalMaxConcurrent": 150})


@pytest.fixture(scope="module")
def adaptive() -> Outcome:
    rules: Object = {
        "enabled": True,
        "min": 5,
        "max": 150,
        "targets": {"commitMs": 50, "loopLagMs": 500},
    }
    return run_saturated({"globalMaxConcurrent": 150, "resourceBasedLimits": rules})


def test_the_adaptive_limit_bounds_the_p99_where_the_fixed_one_does_not(
    fixed: Outcome, adaptive: Outcome
) -> None:
    """A store whose commits take 2 ms for each instance that runs, and 150 may run at once."""
    assert fixed.commit_p99 > 5 * 0.050
    assert adaptive.commit_p99 < 2 * 0.050
    assert adaptive.run_p99 < fixed.run_p99
    assert adaptive.ended == fixed.ended == INSTANCES


def test_the_limit_in_force_and_its_reason_are_seen(adaptive: Outcome) -> None:
    assert adaptive.seen is not None
    assert 5 <= adaptive.seen.limit < 100
    assert "commit latency" in adaptive.seen.reason
    assert adaptive.seen.readings is not None
    assert adaptive.seen.readings.commit_ms > 0
    assert adaptive.seen.processes == 1
    assert "commit latency" in adaptive.explained
    assert adaptive.left == 0, "a limit that is turned off has no report any more"
