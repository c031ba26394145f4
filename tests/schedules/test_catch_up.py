"""Ticks that are due: which are started, and which were missed."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import takewhile

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.calendars import WorkingCalendar
from tenuto.schedules import Bounds, CatchUp, Due, Schedule, due, ticks
from tenuto.schedules.schedule import CatchUpMode, OnNonWorking
from tests.calendars.samples import at, office
from tests.kit.breadth import breadth
from tests.schedules.test_ticks import SHIFTS, schedule

HANDLED = at("2026-11-17 10:00")


def hourly(mode: CatchUpMode, window: timedelta = timedelta(days=1)) -> Schedule:
    return schedule("0 * * * *", zone="UTC", catch_up=CatchUp(mode=mode, window=window))


def figures(found: Due) -> tuple[list[int], int]:
    missed = found.missed.count if found.missed is not None else 0
    return [each.nominal.hour for each in found.start], missed


@pytest.mark.parametrize(
    ("mode", "late", "started", "missed"),
    [
        # Down for so many minutes after the tick of 10:00 was handled.
        ("none", 30, [], 0),
        ("one", 30, [], 0),
        ("all", 30, [], 0),
        ("none", 90, [], 1),
        ("one", 90, [11], 0),
        ("all", 90, [11], 0),
        ("none", 630, [], 10),
        ("one", 630, [20], 9),
        ("all", 630, list(range(11, 21)), 0),
        # Up again right when one is due, which is on time.
        ("none", 600, [20], 9),
        ("one", 600, [20], 9),
        ("all", 600, list(range(11, 21)), 0),
    ],
)
def test_each_mode_does_what_it_says(
    mode: CatchUpMode, late: int, started: list[int], missed: int
) -> None:
    found = due(hourly(mode), None, HANDLED, HANDLED + timedelta(minutes=late))
    assert figures(found) == (started, missed)


@pytest.mark.parametrize("mode", ["one", "all"])
def test_nothing_older_than_the_window_is_started(mode: CatchUpMode) -> None:
    window = timedelta(minutes=90)
    found = due(hourly(mode, window), None, HANDLED, at("2026-11-17 20:30"))
    assert figures(found) == (([20], 9) if mode == "one" else ([19, 20], 8))
    assert found.missed is not None
    assert found.missed.first == at("2026-11-17 11:00")
    nothing = due(hourly(mode, timedelta(minutes=20)), None, HANDLED, at("2026-11-17 20:30"))
    assert figures(nothing) == ([], 10)


def test_a_weekend_of_skipped_ticks_does_not_start_the_last_one_again() -> None:
    daily = schedule("0 9 * * *", catch_up=CatchUp(window=timedelta(days=7)))
    friday = at("2026-11-20 08:00")
    found = due(daily, office(), friday, at("2026-11-22 12:00"))
    assert (found.start, found.missed, found.skipped) == ((), None, 2)
    assert found.handled == at("2026-11-22 08:00")


def test_several_on_time_are_all_started() -> None:
    seconds = schedule("* * * * * *", zone="UTC", catch_up=CatchUp(mode="one"))
    found = due(seconds, None, HANDLED, HANDLED + timedelta(seconds=3, milliseconds=500))
    assert len(found.start) == 3
    assert found.missed is None


def test_what_is_handled_is_never_due_again_and_nothing_is_early() -> None:
    now = HANDLED + timedelta(hours=5)
    found = due(hourly("all"), None, HANDLED, now)
    assert found.handled == now
    for jump in (timedelta(0), timedelta(hours=-7), timedelta(days=-400)):
        again = due(hourly("all"), None, found.handled, now + jump)
        assert again == Due(start=(), missed=None, skipped=0, handled=now)
    before = due(hourly("all"), None, now, now + timedelta(minutes=59, seconds=59))
    assert before.start == ()


def test_ten_years_of_minutes_are_counted_and_not_listed() -> None:
    minutely = schedule("* * * * *", zone="UTC", catch_up=CatchUp(mode="all"))
    now = at("2036-11-17 10:00")
    found = due(minutely, None, HANDLED, now, Bounds(most=100))
    assert found.missed is not None
    assert found.missed.count + 1440 + 1 == (now - HANDLED) / timedelta(minutes=1)
    assert (len(found.start), found.is_more) == (100, True)
    following = due(minutely, None, found.handled, now, Bounds(most=100))
    assert following.missed is None
    assert following.start[0].nominal == found.start[-1].nominal + timedelta(minutes=1)


def test_seconds_outside_of_working_hours_are_counted_as_skipped() -> None:
    every = schedule("* * * * * *")
    found = due(every, office(), at("2026-12-23 15:00"), at("2026-12-28 07:00"))
    assert found.skipped == (4 * 24 + 15) * 3600 + 1
    assert found.missed is not None
    assert found.missed.count == 3599
    assert len(found.start) + found.missed.count + found.skipped == (4 * 24 + 16) * 3600


@settings(max_examples=breadth(60, 2_000), deadline=None)
@given(
    st.sampled_from(["*/30 * * * *", "0 9 * * *", "15 */5 * * *"]),
    st.tuples(st.sampled_from(["skip", "next", "previous"]), st.sampled_from([SHIFTS, None])),
    st.sampled_from([0, 7, 100]),
    st.tuples(st.sampled_from(["none", "one", "all"]), st.integers(1, 5_000)),
    st.integers(1, 10_000),
)
def test_due_ticks_are_those_of_a_list(
    cron: str,
    working: tuple[OnNonWorking, WorkingCalendar | None],
    jitter: int,
    caught_up: tuple[CatchUpMode, int],
    down: int,
) -> None:
    (policy, calendar), (mode, window) = working, caught_up
    handled = at("2026-10-19 00:00")
    now = handled + timedelta(minutes=down, seconds=down % 61)
    catch_up = CatchUp(mode=mode, window=timedelta(minutes=window))
    moving = schedule(
        cron, on_non_working=policy, jitter=timedelta(minutes=jitter), catch_up=catch_up
    )
    on_time = timedelta(seconds=30)
    found = due(moving, calendar, handled, now, Bounds(on_time=on_time, most=10_000))
    every = [
        each
        for each in takewhile(
            lambda each: each.nominal < now + timedelta(days=8), ticks(moving, calendar, handled)
        )
        if each.at <= now
    ]
    possible = [each for each in every if each.skipped is None]
    punctual = [each for each in possible if each.at >= now - on_time]
    within = [each for each in possible if each.at >= now - max(catch_up.window, on_time)]
    expected = within if mode == "all" else punctual
    if mode == "one" and not punctual:
        expected = [each for each in within if each.at >= now - catch_up.window][-1:]
    assert list(found.start) == expected
    assert found.skipped == len(every) - len(possible)
    missed = [each.nominal for each in possible if each not in expected]
    shown = (len(missed), missed[0], missed[-1]) if missed else None
    assert (_shown(found)) == shown
    assert found.handled == (every[-1].nominal if every else handled)


def _shown(found: Due) -> tuple[int, datetime, datetime] | None:
    missed = found.missed
    return None if missed is None else (missed.count, missed.first, missed.last)
