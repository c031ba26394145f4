"""Years of working time: sums without tables, and how much of them is kept."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product

import pytest

from tenuto.calendars import (
    Hours,
    Span,
    SpecialDay,
    WorkingCalendar,
    add,
    parse_working_duration,
    year_table as tables,
)
from tenuto.calendars.year_table import (
    MOST_KEPT_DAYS,
    YearTable,
    kept_answer,
    kept_days,
    year_sum,
    year_table,
)
from tenuto.calendars.zones import like_year, probed_segments, segments_of_year
from tests.calendars.samples import at, hours, weekly

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Africa/Casablanca",
    "Asia/Gaza",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "America/Scoresbysund",
    "Pacific/Apia",  # It left out 2011-12-30.
    "Pacific/Kwajalein",
    "Asia/Manila",  # It had 1844-12-31 never, and others a day twice.
    "America/Juneau",
)
WEEKS: tuple[tuple[Hours, ...], ...] = (
    (*[hours("09:00-12:00", "13:00-17:00")] * 5, (), ()),
    ((hours("00:00-24:00")),) * 7,
    ((), (), hours("02:15-02:45"), (), (), hours("22:00-24:00"), hours("00:00-03:00")),
)
MANY = tuple(
    Span(60 * hour + start, 60 * hour + start + 29) for hour in range(24) for start in (0, 30)
)


@pytest.mark.parametrize(("zone", "week"), [*product(ZONES, WEEKS)])
def test_a_sum_is_that_of_the_table(zone: str, week: tuple[Hours, ...]) -> None:
    some = [date(2011, 12, 25) + timedelta(days=number) for number in range(0, 400, 7)]
    special = tuple(
        SpecialDay(date=day, hours=hours("01:00-02:30") if index % 3 else ())
        for index, day in enumerate(some)
    )
    calendar = weekly(zone, *week, special=special)
    for year in (1845, 1867, 1969, 1993, 2011, 2012, 2013, 2026, 2086, 2128, 2300, 2401, 9998):
        table, sums = year_table(calendar, year), year_sum(calendar, year)
        assert sums.total == table.total
        assert sums.working_days == len(table.days)
        if table.days:
            assert (sums.first, sums.last) == (table.days[0], table.days[-1])
        assert sum(worked for _, worked in table.days_between(0, 1 << 60)) == (
            table.total if year > 1969 else 0
        )


@pytest.mark.parametrize("zone", ZONES)
def test_years_far_ahead_have_the_changes_of_a_year_like_them(zone: str) -> None:
    for year in (2129, 2132, 2200, 2300, 2400, 3999, 9996):
        assert like_year(year) < 2129
        assert segments_of_year(zone, year) == probed_segments(zone, year)


def test_centuries_of_many_hours_need_two_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = tables._made_table

    def counted(calendar: WorkingCalendar, year: int) -> YearTable:
        made.append(year)
        return make(calendar, year)

    monkeypatch.setattr(tables, "_made_table", counted)
    always = weekly("America/New_York", *[MANY] * 7)
    for first in range(1900, 9700, 200):
        made.clear()
        add(always, at(f"{first}-01-01 00:00"), parse_working_duration(f"PT{8766 * 190}H"))
        assert len(made) <= 2
        made.clear()
        add(always, at(f"{first}-06-01 00:00"), parse_working_duration("P60000D"))
        assert len(made) <= 3
    # The days of a table share their spans, however many they have.
    assert len({id(each) for each in year_table(always, 2030).spans}) <= 10


def test_so_many_days_are_kept_of_all_calendars() -> None:
    for zone in ("UTC", "Europe/Berlin"):
        calendar = weekly(zone, *[MANY] * 7)
        for year in range(1990, 1990 + MOST_KEPT_DAYS // 366):
            year_table(calendar, year)
            assert kept_days() <= MOST_KEPT_DAYS
    # Dates of a calendar live as long as its tables.
    for number in range(12):
        day = date(2000, 1, 1) + timedelta(days=number)
        special = tuple(SpecialDay(date=day + timedelta(days=index)) for index in range(40_000))
        year_table(weekly("UTC", *WEEKS[0], special=special), 2030)
        assert kept_days() <= MOST_KEPT_DAYS


def test_what_was_found_with_a_calendar_goes_with_it_and_counts() -> None:
    tables.forget_years()
    calendar = weekly("UTC", *WEEKS[0])
    asked: list[int] = []

    def find() -> int:
        asked.append(1)
        return len(asked)

    assert [kept_answer(calendar, "a", find) for _ in range(2)] == [1, 1]
    assert kept_answer(calendar, "b", find) == 2
    before = kept_days()
    for number in range(1_000):
        kept_answer(calendar, number, lambda: 0)
    assert before < kept_days() <= 1 + tables._MOST_ANSWERS * tables._ANSWER_DAYS
    tables.forget_years()
    assert kept_days() == 0
    assert kept_answer(calendar, "a", find) == 3
