"""Ticks: what the calendar and the jitter make of nominal times."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from itertools import islice, pairwise, takewhile

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.calendars import SpecialDay, WorkingCalendar
from tenuto.calendars.year_table import forget_years
from tenuto.model.family import read_tick_key
from tenuto.schedules import (
    CatchUp,
    Cron,
    OneTime,
    Recurring,
    Schedule,
    Unsearched,
    WorkflowTarget,
    count_in_parts,
    count_starts,
    find_start,
    latest_start,
    newest_due,
    next_start,
    parse_cron,
    preview,
    tick_key,
    tick_values,
    ticks,
)
from tenuto.schedules.schedule import OnNonWorking
from tests.calendars.samples import at, hours, office, weekly
from tests.kit.breadth import breadth


def schedule(
    cron: str,
    *,
    on_non_working: OnNonWorking = "skip",
    jitter: timedelta = timedelta(0),
    zone: str = "Europe/Berlin",
    catch_up: CatchUp | None = None,
) -> Schedule:
    read = parse_cron(cron)
    assert isinstance(read, Cron), read
    return Schedule(
        id="nightly",
        timing=Recurring(cron=read, timezone=zone),
        target=WorkflowTarget(workflow_id="report"),
        calendar="office",
        on_non_working=on_non_working,
        jitter=jitter,
        catch_up=catch_up or CatchUp(),
    )


def test_the_preview_gives_the_reason_for_every_skip() -> None:
    found = preview(schedule("0 9 * * *"), office(), at("2026-12-22 12:00"), 6)
    assert [(each.nominal.day, each.skipped) for each in found] == [
        (23, None),
        (24, "Thu 24 Dec 2026 is a day off: Christmas Eve"),
        (25, "Fri 25 Dec 2026 is a holiday: Christmas Day"),
        (26, "Sat 26 Dec 2026 is a holiday: Second Day of Christmas"),
        (27, "Sun 27 Dec 2026 is not a working day"),
        (28, None),
    ]
    (late,) = preview(schedule("0 20 * * *"), office(), at("2026-12-22 12:00"), 1)
    hours_of_day = "09:00-12:00, 13:00-17:00"
    assert late.skipped == f"Tue 22 Dec 2026: outside of working hours ({hours_of_day})"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("next", ["2026-12-23 08:00", *["2026-12-28 08:00"] * 5]),
        ("previous", ["2026-12-23 08:00", *["2026-12-23 16:00"] * 4, "2026-12-28 08:00"]),
    ],
)
def test_ticks_are_moved_to_working_time(policy: OnNonWorking, expected: list[str]) -> None:
    moving = schedule("0 9 * * *", on_non_working=policy)
    found = preview(moving, office(), at("2026-12-22 12:00"), 6)
    assert [each.at for each in found] == [at(each) for each in expected]
    assert len({each.nominal for each in found}) == 6


def test_an_hour_of_every_second_is_passed_over_at_once() -> None:
    every_second = schedule("* * * * * *")
    found = next_start(every_second, office(), at("2026-12-23 16:00"))
    assert found is not None
    assert found.nominal == at("2026-12-28 08:00")
    last = latest_start(every_second, office(), at("2026-12-28 07:59"))
    assert last is not None
    assert last.nominal == at("2026-12-23 15:59:59")


def test_a_schedule_outside_of_working_hours_has_no_next_start() -> None:
    assert next_start(schedule("0 3 * * *"), office(), at("2026-12-23 16:00")) is None
    assert latest_start(schedule("0 3 * * *"), office(), at("2026-12-23 16:00")) is None


def test_the_jitter_of_a_tick_never_changes_and_differs_from_others() -> None:
    jittered = schedule("*/10 * * * *", jitter=timedelta(minutes=5))
    found = preview(jittered, None, at("2026-12-22 12:00"), 50)
    again = preview(jittered, None, found[9].nominal, 40)
    assert again == found[10:]
    delays = {each.at - each.nominal for each in found}
    assert len(delays) > 40
    assert all(timedelta(0) <= each < timedelta(minutes=5) for each in delays)


def test_a_single_moment_keeps_its_milliseconds() -> None:
    moment = at("2026-12-22 12:00:00.123")
    once = Schedule(id="o", timing=OneTime(at=moment), target=WorkflowTarget(workflow_id="w"))
    assert [each.at for each in ticks(once, None, at("2026-01-01 00:00"))] == [moment]
    assert newest_due(once, None, moment - timedelta(milliseconds=1)) is None
    assert newest_due(once, None, moment) == moment


def test_the_key_of_a_tick_names_schedule_and_nominal_moment() -> None:
    assert tick_key("n", at("2026-12-22 12:00")) == "schedule:n:2026-12-22T12:00:00.000Z"
    for id in ("n", "a:b", "", "2026-12-22T12:00:00.000Z"):
        nominal = at("2026-12-22 12:00")
        assert read_tick_key(tick_key(id, nominal)) == (id, nominal)
    for key in ("", "schedule:", "schedule:n:2026-12-22T12:00:00Z", "n:2026-12-22T12:00:00.000Z"):
        assert read_tick_key(key) is None, key


def test_templates_see_the_times_around_a_tick() -> None:
    assert tick_values(schedule("0 9 * * *", zone="UTC"), at("2026-12-22 09:00")) == {
        "id": "nightly",
        "nominal": "2026-12-22T09:00:00.000Z",
        "previous": "2026-12-21T09:00:00.000Z",
        "next": "2026-12-23T09:00:00.000Z",
    }
    once = Schedule(
        id="o", timing=OneTime(at=at("2026-12-22 09:00")), target=WorkflowTarget(workflow_id="w")
    )
    values = tick_values(once, at("2026-12-22 09:00"))
    assert (values["previous"], values["next"]) == (None, None)


SHIFTS = weekly(
    "Europe/Berlin",
    hours("06:00-09:30", "10:00-14:00"),
    (),
    hours("22:00-24:00"),
    hours("00:00-06:00", "08:00-09:00"),
    *[()] * 3,
)


@settings(max_examples=breadth(60, 2_000), deadline=None)
@given(
    st.sampled_from(["*/30 * * * *", "0 9 * * *", "15 */5 * * *", "0 12 * * MON,SAT"]),
    st.sampled_from(["skip", "next", "previous"]),
    st.sampled_from([0, 1, 7, 100, 1_400]),
    st.sampled_from([SHIFTS, None]),
    st.integers(0, 20_000),
)
def test_what_is_due_and_counted_is_what_a_list_of_all_ticks_has(
    cron: str,
    policy: OnNonWorking,
    jitter: int,
    calendar: WorkingCalendar | None,
    minutes: int,
) -> None:
    start = at("2026-10-19 00:00")
    now = start + timedelta(days=7, minutes=minutes, seconds=minutes % 61)
    moving = schedule(cron, on_non_working=policy, jitter=timedelta(minutes=jitter))
    horizon = now + timedelta(days=9)
    every = list(takewhile(lambda each: each.nominal < horizon, ticks(moving, calendar, start)))
    assert all(one.at <= other.at for one, other in pairwise(every))
    assert newest_due(moving, calendar, now) == max(
        (each.nominal for each in every if each.at <= now), default=None
    )
    starting = [each for each in every if each.skipped is None]
    assert next_start(moving, calendar, now) == next(
        each for each in starting if each.nominal > now
    )
    assert latest_start(moving, calendar, now) == max(
        (each for each in starting if each.nominal <= now), key=_nominal
    )
    assert count_starts(moving, calendar, start, now) == len(
        [each for each in starting if each.nominal <= now]
    )
    assert (
        list(islice(ticks(moving, calendar, now), 2))
        == [each for each in every if each.nominal > now][:2]
    )


def _nominal(tick: object) -> datetime:
    nominal = getattr(tick, "nominal", None)
    assert isinstance(nominal, datetime)
    return nominal


def _dense() -> WorkingCalendar:
    """The most spans that a day may have: each minute but the last one of every half an hour."""
    halves = hours(
        *(
            f"{hour:02}:{start:02}-{hour:02}:{start + 29:02}"
            for hour in range(24)
            for start in (0, 30)
        )
    )
    return weekly("Europe/Berlin", *[halves] * 7)


@pytest.mark.parametrize(
    ("cron", "calendar", "days"),
    [
        ("0 10 * * *", office(), 900),
        ("0 * * * *", office(), 500),
        ("30 2 * * *", office(), 900),
        ("10,29 */5 * * *", _dense(), 400),
        ("10 0 1 * *", _dense(), 1_500),
    ],
)
def test_a_count_in_parts_is_that_of_the_listed_ticks(
    cron: str, calendar: WorkingCalendar, days: int
) -> None:
    start, asked = at("2025-06-19 10:00"), schedule(cron)
    end = start + timedelta(days=days)
    listed = takewhile(lambda each: each.nominal <= end, ticks(asked, calendar, start))
    starting = [each for each in listed if each.skipped is None]
    parts = list(count_in_parts(asked, calendar, start, end))
    assert sum(each.found for each in parts) == len(starting)
    assert count_starts(asked, calendar, start, end) == len(starting)


def test_a_part_of_a_count_is_small_and_says_what_was_looked_at() -> None:
    start, end = at("1990-01-01 00:00"), at("2026-01-01 00:00")
    rare = list(count_in_parts(schedule("0 3 29 2 */7"), _dense(), start, end))
    # One such day in 36 years: not one of the 17,520 spans of each year was looked at.
    assert sum(each.looked for each in rare) < 37 * 260
    never = count_in_parts(schedule("59 * * * *", zone="UTC"), _dense(), start, end)
    # A year has 89 parts, of which the first is for its tables.
    first = list(islice(never, 100))
    assert not any(each.found for each in first)
    assert max(each.looked for each in first) <= 250
    assert sum(each.looked for each in first) > 100 * 190, "a bound of these ends it soon"


def test_searches_for_a_start_keep_no_calendar_that_is_given_up() -> None:
    calendar = office()
    holders = sys.getrefcount(calendar)
    next_start(schedule("0 3 * * *"), calendar, at("2026-11-18 12:00"))
    forget_years()
    assert sys.getrefcount(calendar) == holders


def _budget(cron: str, calendar: WorkingCalendar, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many candidates a search looks at that finds nothing."""
    looked = 0
    tick_module = sys.modules[next_start.__module__]  # `ticks` is a function, too
    inner: Callable[[WorkingCalendar, datetime], datetime] = tick_module.next_working_moment

    def counted(calendar: WorkingCalendar, moment: datetime) -> datetime:
        nonlocal looked
        looked += 1
        return inner(calendar, moment)

    monkeypatch.setattr(tick_module, "next_working_moment", counted)
    found = find_start(schedule(cron), calendar, at("2026-11-18 12:00"))
    assert isinstance(found, Unsearched)
    assert next_start(schedule(cron), calendar, at("2026-11-18 12:00")) is None
    return looked


@pytest.mark.parametrize(
    ("cron", "most"),
    [("0 3 * * *", 3_000), ("0 3 1 * *", 30 * 12), ("0 3 29 2 */7", 4), ("0 3 29 2 *", 17)],
)
def test_a_search_ends_at_so_many_candidates(
    cron: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each year that is looked at counts as many: its tables are made. Asked again, it is known."""
    assert 3 <= _budget(cron, office(), monkeypatch) <= most


def test_a_start_that_is_years_away_is_found() -> None:
    night = SpecialDay(date=date(2031, 6, 1), hours=hours("02:00-04:00"))
    day = hours("09:00-17:00")
    calendar = weekly("Europe/Berlin", *[day] * 7, special=(night,))
    found = next_start(schedule("0 3 * * *"), calendar, at("2026-11-18 12:00"))
    assert found is not None
    assert found.nominal == at("2031-06-01 01:00")


def test_the_latest_start_is_not_looked_for_before_what_matters() -> None:
    until, since = at("2026-12-27 12:00"), at("2026-12-23 16:00")
    found = latest_start(schedule("0 10 * * *"), office(), until)
    assert found is not None
    assert found.nominal == at("2026-12-23 09:00")
    assert latest_start(schedule("0 10 * * *"), office(), until, since=since) is None
