"""Files of dates from strangers: whole days become days off, and nothing else happens."""

from __future__ import annotations

from datetime import date, datetime
from itertools import takewhile
from time import process_time

import pytest
from dateutil import rrule  # type: ignore[import-untyped]
from hypothesis import given, settings, strategies as st

from tenuto.calendars.ical import Imported, import_dates
from tenuto.calendars.recurrence import Frequency, Recurrence, dates
from tenuto.calendars.zones import is_zone, zone_of
from tenuto.model.errors import InvalidInput
from tests.kit.breadth import breadth

FIRST, LAST = date(2026, 1, 1), date(2028, 12, 31)


def file(*events: str) -> str:
    body = "".join(f"BEGIN:VEVENT\n{each.strip()}\nEND:VEVENT\n" for each in events)
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//y//EN\n{body}END:VCALENDAR\n"
    return text.replace("\n", "\r\n")


def imported(*events: str) -> Imported:
    return import_dates(file(*events), "Europe/Berlin", FIRST, LAST)


def listed(*events: str) -> list[str]:
    return [each.date.isoformat() for each in imported(*events).dates]


def test_whole_days_become_days_off_with_their_names() -> None:
    found = imported(
        "DTSTART;VALUE=DATE:20261224\nDTEND;VALUE=DATE:20261227\nSUMMARY:Closed",
        "DTSTART;VALUE=DATE:20270501\nSUMMARY:Labour\\, Day",
        "DTSTART;VALUE=DATE:20261226\nSUMMARY:Stocktaking",
    )
    assert [(each.date.isoformat(), each.name) for each in found.dates] == [
        ("2026-12-24", "Closed"),
        ("2026-12-25", "Closed"),
        ("2026-12-26", "Closed, Stocktaking"),
        ("2027-05-01", "Labour, Day"),
    ]
    assert all(each.hours == () for each in found.dates)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("DTSTART:20261224T000000\nDTEND:20261226T000000", ["2026-12-24", "2026-12-25"]),
        ("DTSTART:20261223T230000Z\nDURATION:P1D", ["2026-12-24"]),  # midnight in Berlin
        ("DTSTART:20261224T100000Z\nDTEND:20261224T110000Z", []),
        ("DTSTART;VALUE=DATE:20261224\nSTATUS:CANCELLED", []),
        ("DTSTART;VALUE=DATE:20351224", []),
        ("DTSTART;VALUE=DATE:20200101\nDTEND;VALUE=DATE:20300101", []),
        ("SUMMARY:no day", []),
        (
            "DTSTART;VALUE=DATE:20201224\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20271224",
            ["2026-12-24", "2028-12-24"],
        ),
        ("DTSTART;VALUE=DATE:20251224\nRRULE:FREQ=YEARLY;COUNT=2", ["2026-12-24"]),
        ("DTSTART;VALUE=DATE:20251224\nRRULE:FREQ=YEARLY;UNTIL=20271223", ["2026-12-24"]),
        (
            "DTSTART;VALUE=DATE:20260525\nRRULE:FREQ=YEARLY;BYMONTH=5;BYDAY=-1MO",
            ["2026-05-25", "2027-05-31", "2028-05-29"],
        ),
        ("DTSTART;VALUE=DATE:20261224\nRDATE;VALUE=DATE:20261228", ["2026-12-24", "2026-12-28"]),
        ("DTSTART;VALUE=DATE:20261224\nRRULE:FREQ=YEARLY;BYSETPOS=1", ["2026-12-24"]),
        ("DTSTART;VALUE=DATE:20261224\nRRULE:FREQ=SECONDLY", ["2026-12-24"]),
        ("DTSTART;VALUE=DATE:20260102\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", ["2026-01-02"]),
    ],
)
def test_events_give_the_dates_that_they_mean(event: str, expected: list[str]) -> None:
    assert listed(event) == expected


def test_what_is_left_out_is_named_with_its_reason() -> None:
    found = imported(
        "DTSTART:20261224T100000Z\nDTEND:20261224T110000Z\nSUMMARY:Meeting",
        "DTSTART;VALUE=DATE:20261224\nRRULE:FREQ=HOURLY\nSUMMARY:Odd",
    )
    assert found.left_out == (
        "Meeting: it does not last whole days",
        "Odd: of its repetitions only the first is taken: a day off does not repeat HOURLY",
    )


ENDLESS = "DTSTART;VALUE=DATE:{year}0101\nRRULE:FREQ=DAILY;INTERVAL=1000000;COUNT=9"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        b"\xff\xfe\x00",
        "BEGIN:VCALENDAR\r\n",
        "BEGIN:VEVENT\r\nEND:VCALENDAR\r\n",
        "x" * 1_000_001,
        file("DTSTART;VALUE=DATE:20261224\nRRULE:FREQ=YEARLY;BYDAY=9XX"),
        file(*["DTSTART;VALUE=DATE:20261224"] * 5_001),
        file(*[ENDLESS.format(year="0010")]),
        file(*[ENDLESS.format(year="1900")] * 20),
        file(*["DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=DAILY"] * 1_000),
    ],
    ids=[
        "empty",
        "text",
        "bytes",
        "open",
        "crossed",
        "large",
        "rule",
        "many",
        "old",
        "sum",
        "daily",
    ],
)
def test_hostile_files_are_refused_within_bounds(text: str | bytes) -> None:
    with pytest.raises(InvalidInput, match="TEN-2718"):
        import_dates(text, "Europe/Berlin", FIRST, LAST)


WEEKDAYS = (rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA, rrule.SU)


@st.composite
def rules(draw: st.DrawFn) -> Recurrence:
    frequencies: list[Frequency] = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
    frequency = draw(st.sampled_from(frequencies))
    months = draw(st.frozensets(st.integers(1, 12), max_size=3))
    in_month = frequency == "MONTHLY" or (frequency == "YEARLY" and bool(months))
    most = 5 if in_month else 53 if frequency == "YEARLY" else 0
    # The library takes weekdays with and without a number as both required; RFC 5545 does not.
    is_numbered = most > 0 and draw(st.booleans())
    numbers = st.integers(-most, most).filter(bool) if is_numbered else st.just(0)
    weekdays = st.tuples(numbers, st.integers(0, 6))
    days = st.frozensets(st.integers(-31, 31).filter(bool), max_size=2)
    return Recurrence(
        frequency=frequency,
        interval=draw(st.integers(1, 3)),
        count=draw(st.none() | st.integers(1, 9)),
        months=months,
        month_days=frozenset() if frequency == "WEEKLY" else draw(days),
        weekdays=draw(st.frozensets(weekdays, max_size=2)),
        week_start=draw(st.integers(0, 6)),
    )


@settings(max_examples=breadth(30, 1_000), deadline=None)
@given(rules(), st.dates(date(2025, 1, 1), date(2026, 12, 31)))
def test_rules_give_the_dates_of_another_library(rule: Recurrence, start: date) -> None:
    last = date(2029, 12, 31)
    theirs = rrule.rrule(
        getattr(rrule, rule.frequency),
        dtstart=datetime(start.year, start.month, start.day),  # noqa: DTZ001  it has dates only
        interval=rule.interval,
        count=rule.count,
        wkst=WEEKDAYS[rule.week_start],
        bymonth=sorted(rule.months) or None,
        bymonthday=sorted(rule.month_days) or None,
        byweekday=[WEEKDAYS[day](number or None) for number, day in sorted(rule.weekdays)] or None,
        cache=False,
    )
    if not ours(rule, start, start, last):
        return  # The library would search until the year 9999.
    expected = list(takewhile(lambda each: each <= last, (each.date() for each in theirs)))
    assert ours(rule, start, FIRST, last) == [each for each in expected if each >= FIRST]


def ours(rule: Recurrence, start: date, first: date, last: date) -> list[date]:
    return list(dates(rule, start, first, last, lambda: None))


def test_a_small_file_of_long_events_takes_little_time_before_it_is_refused() -> None:
    events = [
        f"DTSTART;VALUE=DATE:20220101\nDTEND;VALUE=DATE:20230101\n"
        f"RRULE:FREQ=DAILY;COUNT=3650\nSUMMARY:n{number}"
        for number in range(60)
    ]
    text = file(*events)
    imported("DTSTART;VALUE=DATE:20261224")  # the library is imported
    before = process_time()
    with pytest.raises(InvalidInput) as caught:
        import_dates(text, "Europe/Berlin", FIRST, LAST)
    assert process_time() - before < 0.5
    assert [each.code for each in caught.value.problems] == ["TEN-2718"]


def test_a_date_has_each_of_its_names_once() -> None:
    names = ("Fair", "Fair day", "Fair", "Fair day")
    found = imported(*(f"DTSTART;VALUE=DATE:20261224\nSUMMARY:{each}" for each in names))
    assert [each.name for each in found.dates] == ["Fair, Fair day"]


@pytest.mark.parametrize("name", ["Europe", "America/Argentina", "a" * 400_000, "Europe/" * 50_000])
@pytest.mark.parametrize(
    "form", ["DTSTART;TZID={}:20261224T000000", 'DTSTART;TZID="{}":20261224T000000']
)
def test_a_zone_that_is_no_file_is_unknown_and_no_path_is_told(name: str, form: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        imported(form.format(name))
    [problem] = raised.value.problems
    assert "unknown time zone" in problem.message
    assert name[:20] in problem.message
    assert len(problem.message) < 200
    assert "tzdata" not in problem.message


@pytest.mark.parametrize("name", ["../..", "/etc/passwd", "Nowhere/City", "\ud800"])
def test_events_of_zones_that_no_database_has_are_on_the_wall_of_the_calendar(name: str) -> None:
    assert listed(f"DTSTART;TZID={name}:20261224T000000\nDURATION:P1D") == ["2026-12-24"]


@pytest.mark.parametrize(
    "name", ["Europe", "a" * 400_000, "a\0b", "../..", "/etc", "", ".", "a/" * 9_999, "\ud800"]
)
def test_names_that_are_no_zone_of_the_database_give_none(name: str) -> None:
    assert zone_of(name) is None
    assert not is_zone(name)
