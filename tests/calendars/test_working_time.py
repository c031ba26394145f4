"""Arithmetic in working time, against a clock that counts minute by minute."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from tenuto.calendars import (
    Hours,
    Span,
    SpecialDay,
    WorkingCalendar,
    WorkingDuration,
    add,
    is_working,
    last_working_moment,
    next_working_moment,
    parse_working_duration,
    working_time_between,
)
from tenuto.calendars.zones import zone_names
from tenuto.model.durations import LATEST
from tests.calendars.minutes import MINUTE, ZONES, Oracle, edges
from tests.calendars.samples import at, hours, office, weekly
from tests.kit.breadth import breadth


@st.composite
def days(draw: st.DrawFn) -> Hours:
    """Up to two spans of a day, also at its edges and through the night."""
    marks = draw(st.lists(st.integers(0, 24 * 4), max_size=4, unique=True))
    ordered = [15 * mark for mark in sorted(marks)]
    return tuple(Span(*pair) for pair in zip(ordered[::2], ordered[1::2], strict=False))


@st.composite
def calendars(draw: st.DrawFn) -> tuple[WorkingCalendar, datetime]:
    """A calendar, and a moment near a change of its clock."""
    zone = draw(st.sampled_from(ZONES))
    edge = draw(st.sampled_from(edges(zone)))
    week = draw(st.lists(days(), min_size=6, max_size=6))
    week.append(hours("01:30-09:00"))  # so that there is work
    draw(st.randoms(use_true_random=False)).shuffle(week)
    offset = draw(st.integers(-3, 3))
    off = SpecialDay(date=(edge + timedelta(days=offset)).date(), hours=draw(days()))
    moment = edge + timedelta(minutes=draw(st.integers(-3 * 1440, 2 * 1440)))
    return weekly(zone, *week, special=(off,), year=edge.year), moment


@settings(max_examples=breadth(40, 400), deadline=None)
@given(calendars(), st.integers(1, 1_500))
def test_working_time_passes_as_a_clock_counts_it(
    drawn: tuple[WorkingCalendar, datetime], count: int
) -> None:
    calendar, moment = drawn
    oracle = Oracle(calendar)
    assert is_working(calendar, moment) == oracle.works(moment)
    assert next_working_moment(calendar, moment) == oracle.next(moment)
    assert last_working_moment(calendar, moment) == oracle.last(moment)
    end = add(calendar, moment, WorkingDuration(span=count * MINUTE))
    assert end == oracle.after(moment, count)
    assert working_time_between(calendar, moment, end) == count * MINUTE
    assert working_time_between(calendar, end, moment) == -count * MINUTE


@settings(max_examples=breadth(10, 100), deadline=None)
@given(calendars(), st.integers(1, 5))
def test_working_days_end_where_a_clock_finds_them(
    drawn: tuple[WorkingCalendar, datetime], count: int
) -> None:
    calendar, moment = drawn
    end = add(calendar, moment, WorkingDuration(days=count))
    assert end == Oracle(calendar).after_days(moment, count)


@settings(max_examples=breadth(60, 2_000), deadline=None)
@given(calendars(), st.integers(0, 4_000), st.integers(0, 4_000), st.integers(0, 3_000))
def test_working_time_adds_up_and_later_starts_end_no_earlier(
    drawn: tuple[WorkingCalendar, datetime], one: int, other: int, later: int
) -> None:
    calendar, start = drawn
    first, second = WorkingDuration(span=one * MINUTE), WorkingDuration(span=other * MINUTE)
    both = WorkingDuration(span=(one + other) * MINUTE)
    assert add(calendar, add(calendar, start, first), second) == add(calendar, start, both)
    delayed = start + later * MINUTE
    assert add(calendar, start, first) <= add(calendar, delayed, first)
    # Days end at a time of day, which is an earlier one in an hour that the clock repeats.
    oracle, days_of_work = Oracle(calendar), WorkingDuration(days=1 + one % 5)
    if oracle.local(delayed).replace(tzinfo=None) >= oracle.local(start).replace(tzinfo=None):
        assert add(calendar, start, days_of_work) <= add(calendar, delayed, days_of_work)
    middle, end = start + one * MINUTE, start + (one + other) * MINUTE
    parts = working_time_between(calendar, start, middle) + working_time_between(
        calendar, middle, end
    )
    assert parts == working_time_between(calendar, start, end)


@pytest.mark.parametrize(
    ("start", "duration", "end"),
    [
        # Tuesday 17 November 2026; the clock in Berlin is an hour ahead of UTC.
        ("2026-11-17 09:00", "PT4H", "2026-11-17 14:00"),  # over the break
        ("2026-11-17 15:00", "PT1H", "2026-11-17 16:00"),  # ends with the day
        ("2026-11-17 15:00", "PT1H0.001S", "2026-11-18 08:00:00.001"),
        ("2026-11-20 15:30", "PT1H", "2026-11-23 08:30"),  # over the weekend
        ("2026-11-17 09:00", "P3D", "2026-11-20 09:00"),
        ("2026-11-17 09:00", "3d", "2026-11-20 09:00"),
        ("2026-11-17 19:00", "P3D", "2026-11-23 08:00"),  # no working time then
        ("2026-11-17 11:30", "P1D", "2026-11-18 12:00"),  # within the break
        ("2026-11-21 10:00", "P1D", "2026-11-24 08:00"),  # a Saturday
        ("2026-12-23 10:00", "P1D", "2026-12-28 10:00"),  # over Christmas
        ("2026-12-30 13:00", "P1D", "2027-01-04 08:00"),  # the last day of the year is short
        ("2026-11-17 09:00", "P1DT2H", "2026-11-18 11:00"),
        ("2026-11-17 09:00", "P1W", "2026-11-24 09:00"),
        ("2026-11-17 09:00", "P1M", "2026-12-17 09:00"),
        ("2026-11-28 09:00", "P1M", "2026-12-28 09:00"),
        ("2026-01-31 09:00", "P1M", "2026-03-02 08:00"),  # the 28th is a Saturday
        ("2026-11-17 09:00", "PT0S", "2026-11-17 09:00"),
        ("2026-11-17 09:00", 7_200_000, "2026-11-17 11:00"),
    ],
)
def test_durations_of_an_office(start: str, duration: str | int, end: str) -> None:
    assert add(office(), at(start), parse_working_duration(duration)) == at(end)


def test_hours_that_the_clock_repeats_are_worked_twice_and_missing_ones_never() -> None:
    night = weekly("Europe/Berlin", *[hours("00:00-05:00")] * 7)
    spring, autumn = at("2026-03-28 23:00"), at("2026-10-24 22:00")
    for midnight, length in ((spring, 4), (autumn, 6)):
        assert working_time_between(night, midnight, midnight + timedelta(hours=12)) == timedelta(
            hours=length
        )


def test_a_day_that_ends_at_a_missing_time_ends_when_the_clock_goes_on() -> None:
    night = weekly("Europe/Berlin", *[hours("00:00-05:00")] * 7)
    # 02:30 on the day before the clock is set from 02:00 to 03:00.
    end = add(night, at("2026-03-28 01:30:00.5"), parse_working_duration("P1D"))
    assert end == at("2026-03-29 01:00")


def test_the_night_of_a_new_year_is_no_day_of_its_own() -> None:
    always = weekly("America/New_York", *[hours("00:00-24:00")] * 7)
    end = add(always, at("2026-12-29 17:00"), parse_working_duration("P5D"))
    assert end == at("2027-01-03 17:00")


def test_a_calendar_is_a_value_that_can_be_recorded() -> None:
    calendar = office()
    recorded = msgspec.json.encode(calendar)
    again = msgspec.json.decode(recorded, type=WorkingCalendar)
    assert again == calendar
    moment = at("2026-11-17 09:00")
    duration = parse_working_duration("P250D")
    assert add(again, moment, duration) == add(calendar, moment, duration)
    assert len(recorded) < 20_000


def test_durations_without_an_end_in_sight_end_at_the_last_moment() -> None:
    rare = weekly("UTC", hours("00:00-00:01"), *[()] * 6)
    assert add(rare, at("2026-01-01 00:00"), parse_working_duration("PT9000H")) == LATEST
    assert add(rare, at("2026-01-01 00:00"), parse_working_duration("P99999D")) == LATEST
    assert add(rare, at("9990-01-01 00:00"), parse_working_duration("P900Y")) == LATEST


@pytest.mark.parametrize("text", ["P", "3 days", "-P1D", "P1001Y", "", "PT", None, True, [1]])
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_working_duration(text)


@pytest.mark.soak
def test_working_time_of_all_zones_and_decades(seeds: Iterator[int]) -> None:
    zones = sorted(zone_names())
    for seed in seeds:
        chance = random.Random(seed)
        week = [
            tuple(
                Span(*sorted(chance.sample(range(0, 1441, 5), 2)))
                for _ in range(chance.randint(0, 1))
            )
            for _ in range(6)
        ]
        week.insert(chance.randint(0, 6), hours("01:00-07:00"))
        start = datetime(chance.randint(1970, 2060), chance.randint(1, 12), 1, tzinfo=UTC)
        start += chance.randint(0, 40_000) * MINUTE
        off = SpecialDay(date=date(start.year, start.month, chance.randint(1, 28)))
        calendar = weekly(chance.choice(zones), *week, special=(off,), year=start.year)
        oracle, count = Oracle(calendar), chance.randint(1, 5_000)
        if oracle.local(start).second:
            continue  # Before about 1972 some zones were not set to whole minutes.
        expected = oracle.after(start, count)
        assert add(calendar, start, WorkingDuration(span=count * MINUTE)) == expected, seed
        assert working_time_between(calendar, start, expected) == count * MINUTE, seed
        number = chance.randint(1, 8)
        by_days = add(calendar, start, WorkingDuration(days=number))
        assert by_days == oracle.after_days(start, number), seed
