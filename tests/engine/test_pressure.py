"""Pressure: which requests are refused, how many of them, and for how long."""

from __future__ import annotations

from random import Random
from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.engine.load.askers import Askers
from tenuto.engine.load.load_meter import LoadMeter
from tenuto.engine.load.pressure import CALM, Pressure, Sheddable, pressure_of
from tenuto.engine.load.pressure_watch import PressureWatch
from tenuto.engine.load.starts_under_way import FIRST_PACE, StartsUnderWay
from tenuto.engine.meters import TurnMeter
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.requests import Request
from tenuto.model.errors import Overloaded
from tenuto.model.inputs import TaskSucceeded
from tenuto.model.load import LoadReadings, OverloadBounds
from tenuto.ports import SystemClock
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.breadth import breadth

BOUNDS = OverloadBounds()
READING = st.builds(
    LoadReadings,
    loop_lag_ms=st.floats(0, 100_000),
    commit_ms=st.floats(0, 100_000),
    memory_percent=st.floats(0, 100),
)


@pytest.mark.parametrize(
    ("readings", "intake", "level", "starts", "reads"),
    [
        (LoadReadings(), 0.0, 0, 0.0, 0.0),
        (LoadReadings(loop_lag_ms=500), 0.0, 0, 0.0, 0.0),
        (LoadReadings(loop_lag_ms=750), 0.0, 1, 0.5, 0.0),
        (LoadReadings(commit_ms=5_000), 0.0, 2, 1.0, 0.5),
        (LoadReadings(memory_percent=96.25), 0.0, 1, 0.5, 0.0),
        (LoadReadings(memory_percent=100), 0.0, 2, 1.0, 1.0),
        (LoadReadings(), 1_500.0, 1, 0.5, 0.0),
    ],
)
def test_starts_are_refused_before_expensive_reads(
    readings: LoadReadings, intake: float, level: int, starts: float, reads: float
) -> None:
    found = pressure_of(BOUNDS, readings, intake)
    assert found.level == level
    assert (found.share("starts"), found.share("reads")) == (starts, reads)


@settings(max_examples=breadth(50, 5_000))
@given(READING, st.floats(0, 1_000_000))
def test_reads_are_refused_only_while_every_start_is(readings: LoadReadings, intake: float) -> None:
    found = pressure_of(BOUNDS, readings, intake)
    kinds: tuple[Sheddable, ...] = ("starts", "reads")
    for kind in kinds:
        assert 0 <= found.share(kind) <= 1
    if found.share("reads"):
        assert found.share("starts") == 1
    assert 1 <= found.retry_after <= 60
    assert len(found.described) == sum(found.share(kind) > 0 for kind in kinds)


def test_the_lines_name_the_reading_and_its_bound() -> None:
    found = pressure_of(BOUNDS, LoadReadings(commit_ms=5_000), 0)
    about = "commit latency 5,000 ms of 2,000 ms"
    assert found.described == [f"shedding starts, 100 %: {about}", f"shedding reads, 50 %: {about}"]
    memory = pressure_of(BOUNDS, LoadReadings(memory_percent=97), 0)
    assert memory.described == ["shedding starts, 80 %: memory 97 % of 95 %"]
    assert memory.retry_after == 10


def test_the_time_to_wait_follows_from_the_queue() -> None:
    assert pressure_of(BOUNDS, LoadReadings(), 7_500).retry_after == 8
    assert pressure_of(BOUNDS, LoadReadings(), 900_000).retry_after == 60


def test_bounds_that_are_none_count_for_nothing() -> None:
    none = OverloadBounds(loop_lag_ms=None, commit_ms=None, intake_ms=None, memory_percent=None)
    assert pressure_of(none, LoadReadings(loop_lag_ms=1e9, memory_percent=100), 1e9) == CALM
    assert Pressure().described == []


def test_as_many_starts_are_under_way_as_are_answered_within_the_bound() -> None:
    starts = StartsUnderWay(1_000)
    assert starts.most == FIRST_PACE
    places = [starts.enter("a") for _ in range(1_000)]
    assert starts.is_full_for("a")
    for _ in range(20):  # a busy process that answers 100 a second
        starts.measured(1.0)
        for place in places[:100]:
            place.leave()
            place.leave()  # once counts
        places = places[100:] + [starts.enter("a") for _ in range(100)]
    assert starts.most is not None
    assert 95 <= starts.most <= 105
    assert 9 <= starts.seconds <= 11
    for place in places:
        place.leave()
    starts.measured(1.0)
    assert starts.most == 1_100, "so many were answered in a second"
    assert not starts.is_full_for("a")


def test_few_starts_say_nothing_of_the_pace() -> None:
    starts = StartsUnderWay(1_000)
    for _ in range(50):
        starts.enter("a").leave()
        starts.measured(1.0)
    assert starts.most == FIRST_PACE
    assert StartsUnderWay(None).most is None
    assert not StartsUnderWay(None).is_full


def test_a_tenant_with_few_starts_under_way_is_let_in_beside_a_flood() -> None:
    starts = StartsUnderWay(1_000)
    for _ in range(1_000):
        starts.enter("flood")
    assert starts.is_full
    assert starts.is_full_for("flood")
    assert not starts.is_full_for("small")
    for _ in range(500):
        starts.enter("small")
    assert starts.is_full_for("small"), "it has its half"


def test_a_tenant_that_asks_for_little_beside_others_is_not_refused() -> None:
    askers = Askers()
    assert askers.asks("only")
    askers.turn()
    assert askers.asks("only"), "as the only one it asks for much"
    for _ in range(100):
        askers.asks("flood")
    askers.turn()
    assert not askers.asks("small")
    assert askers.asks("flood")
    for _ in range(60):
        askers.asks("small")
    assert askers.asks("small")


def test_one_bad_reading_is_forgotten_soon_and_a_lasting_one_refuses_all() -> None:
    stall = pressure_of(BOUNDS, LoadReadings(loop_lag_ms=100_000), 0)
    calm = pressure_of(BOUNDS, LoadReadings(), 0)
    after = CALM.followed_by(stall)
    assert after.share("starts") == 0.5
    assert after.followed_by(calm).described == []
    for _ in range(10):
        after = after.followed_by(stall)
    assert (after.share("starts"), after.share("reads")) == (1, 1)


def test_inputs_that_come_after_little_work_do_not_wait_long() -> None:
    """One instance in half a second is the pace of its clients, not that of the process."""

    async def story() -> None:
        turns, intake = TurnMeter(), Intake()
        meter = LoadMeter(clock, turns, [intake], lambda: 0.0, lambda: (0, 0))
        turns.instances.add(1)
        for number in range(1_000):
            report = TaskSucceeded(node="a", iteration="", attempt=1, output=None)
            intake.report(Request(str(number), report))
        assert (await meter.measure(0.5)).intake_ms == 0
        turns.instances.add(250)
        assert (await meter.measure(0.5)).intake_ms == pytest.approx(2_000)

    loop = VirtualLoop(Random(1))
    clock = VirtualClock(loop, Wall())
    loop.run_until_complete(story())


def test_attempts_that_wait_for_the_loop_are_a_backlog_as_inputs_are() -> None:
    """Between two turns of an instance is an attempt: a busy loop keeps the backlog there."""

    async def story() -> None:
        turns, queued = TurnMeter(), 4_000
        meter = LoadMeter(clock, turns, [Intake()], lambda: 0.0, lambda: (queued, 1))
        turns.instances.add(1_000)
        assert (await meter.measure(0.5)).intake_ms == 0
        turns.instances.add(1_000)
        measured = await meter.measure(0.5)
        assert measured.intake_ms == pytest.approx(2_000)
        # A tenant without any of them waits for one of another: it is not refused for the rest.
        assert measured.beside_ms == pytest.approx(0.5)
        queued = 0
        turns.instances.add(1_000)
        assert (await meter.measure(0.5)).intake_ms == 0

    loop = VirtualLoop(Random(1))
    clock = VirtualClock(loop, Wall())
    loop.run_until_complete(story())


class Backlogs:
    """The meter of a process in which some tenants have a backlog."""

    def __init__(self, *tenants: str) -> None:
        self.tenants = set(tenants)

    def has_backlog(self, tenant: str) -> bool:
        return tenant in self.tenants


def watch_of(meter: Backlogs) -> PressureWatch:
    return PressureWatch(SystemClock(), cast("LoadMeter", meter), OverloadBounds())


def test_requests_are_refused_evenly_by_their_share() -> None:
    watch = watch_of(Backlogs("a"))
    watch.pressure = Pressure(value=1.25, reason="a test", retry_after=3)
    outcomes = []
    for _ in range(40):
        outcomes.append(is_taken(watch, "starts"))
        assert is_taken(watch, "reads")
    assert outcomes == [True, True, True, False] * 10
    assert watch.refused["starts"] == 10


def test_a_tenant_without_a_backlog_is_not_refused_for_that_of_another() -> None:
    """After a restart a recovered backlog may be all that waits; its tenant asks for nothing."""
    meter = Backlogs("b")
    watch = watch_of(meter)
    for intake_ms in (155_000.0, 155_000.0, 0.0):
        watch.found(LoadReadings(loop_lag_ms=80), intake_ms, 10)
        assert is_taken(watch, "starts")
    meter.tenants.add("a")
    for _ in range(4):
        watch.found(LoadReadings(), 155_000, 10)
    assert not is_taken(watch, "starts")


def test_many_tenants_with_little_each_are_an_overload_too() -> None:
    watch = watch_of(Backlogs())
    for _ in range(4):
        watch.found(LoadReadings(), 9_000, 9_000)
    assert not is_taken(watch, "starts")


def test_a_slow_store_refuses_starts_of_every_tenant() -> None:
    watch = watch_of(Backlogs())
    for _ in range(4):
        watch.found(LoadReadings(commit_ms=90_000), 0, 0)
    assert not is_taken(watch, "starts")


def is_taken(watch: PressureWatch, kind: Sheddable) -> bool:
    """Whether a request is not refused."""
    try:
        watch.refuse(kind, "a")
    except Overloaded:
        return False
    return True
