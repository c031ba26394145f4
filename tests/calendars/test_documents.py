"""Documents of calendars: read whole, or refused with all that is wrong."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tenuto.calendars import Calendar, days
from tenuto.calendars.days import MOST_SPANS
from tenuto.calendars.documents import (
    ReadCalendar,
    read_calendar,
    stored_calendar,
    write_calendar,
)
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import InvalidInput
from tenuto.model.json import JSON, Object
from tests.calendars.samples import OFFICE, hours, office

WEEK: Object = {"mon": ["09:00-17:00"]}
PLAIN: Object = {"id": "plain", "timezone": "UTC", "week": WEEK}


def read(document: JSON, *others: Object) -> ReadCalendar:
    known = {str(each["id"]): calendar(each) for each in others}
    return read_calendar(document, known, 2026)


def calendar(document: Object) -> Calendar:
    found = read(document).calendar
    assert found is not None
    return found


def problems(document: JSON, *others: Object) -> list[tuple[str, str]]:
    found = read(document, *others)
    assert found.calendar is None
    assert found.working is None
    assert all(each.message and each.advice.endswith(".") for each in found.problems)
    assert all(each.code in CATALOGUE for each in found.problems)
    return [(each.code, each.path) for each in found.problems]


def test_a_calendar_is_written_as_it_was_read() -> None:
    assert write_calendar(calendar(OFFICE)) == OFFICE
    assert calendar(write_calendar(calendar(OFFICE))) == calendar(OFFICE)


def test_an_answer_can_be_sent_back() -> None:
    answer: Object = {
        **OFFICE,
        "version": 3,
        "metadata": {"createdBy": "key:1", "description": "x"},
    }
    assert read(answer).problems == ()


@pytest.mark.parametrize(
    ("fields", "code", "path", "advice"),
    [
        ({"timezone": "Europe/Berln"}, "TEN-2711", "$.timezone", "`Europe/Berlin`"),
        ({"timezone": "berlin"}, "TEN-2711", "$.timezone", "`Europe/Berlin`"),
        ({"timezone": "../etc/passwd"}, "TEN-2711", "$.timezone", "IANA"),
        ({"timezone": "+02:00"}, "TEN-2711", "$.timezone", "IANA"),
        ({"timezone": 1}, "TEN-1010", "$.timezone", ""),
        ({"week": []}, "TEN-1010", "$.week", "mon"),
        ({"week": {}}, "TEN-2712", "$.week", "working hours"),
        ({"week": {"mon": []}}, "TEN-2712", "$.week", "working hours"),
        ({"week": {"Monday": []}}, "TEN-1012", "$.week.Monday", "`mon`"),
        ({"week": {"thur": []}}, "TEN-1012", "$.week.thur", "`thu`"),
        ({"week": {"mon": "09:00-17:00"}}, "TEN-1010", "$.week.mon", '["09:00-17:00"]'),
        ({"week": {"mon": ["9-17"]}}, "TEN-2715", "$.week.mon[0]", "09:00-17:00"),
        ({"week": {"mon": ["09:00-09:00"]}}, "TEN-2715", "$.week.mon[0]", ""),
        ({"week": {"mon": ["22:00-06:00"]}}, "TEN-2715", "$.week.mon[0]", "00:00-06:00"),
        ({"week": {"mon": ["22:00-00:00"]}}, "TEN-2715", "$.week.mon[0]", "22:00-24:00"),
        ({"week": {"mon": ["09:60-10:00"]}}, "TEN-2715", "$.week.mon[0]", ""),
        ({"week": {"mon": ["08:00-12:00", "11:00-13:00"]}}, "TEN-2715", "$.week.mon[1]", ""),
        ({"week": {"mon": ["00:00-00:01"] * 49}}, "TEN-2715", "$.week.mon", ""),
        ({"holidays": [{}]}, "TEN-1011", "$.holidays[0]", "country"),
        ({"holidays": ["germany"]}, "TEN-2717", "$.holidays[0].country", "`DE`"),
        ({"holidays": ["de"]}, "TEN-2717", "$.holidays[0].country", "`DE`"),
        ({"holidays": ["DE-BY"]}, "TEN-2717", "$.holidays[0].country", '"subdivision": "BY"'),
        (
            {"holidays": [{"country": "DE", "subdivision": "Bayernn"}]},
            "TEN-2717",
            "$.holidays[0].subdivision",
            "`Bayern`",
        ),
        (
            {"holidays": [{"country": "DE", "categories": ["publik"]}]},
            "TEN-2717",
            "$.holidays[0].categories[0]",
            "`public`",
        ),
        ({"holidays": ["DE"] * 51}, "TEN-2715", "$.holidays", ""),
        ({"dates": [{"date": "2026-02-30"}]}, "TEN-1016", "$.dates[0].date", "2026-12-24"),
        ({"dates": [{"date": "20261224"}]}, "TEN-1016", "$.dates[0].date", "2026-12-24"),
        (
            {"dates": [{"date": "2026-02-03"}, {"date": "2026-02-03"}]},
            "TEN-2715",
            "$.dates[1].date",
            "",
        ),
        ({"dates": [{"date": "2026-02-03"}] * 5_001}, "TEN-2715", "$.dates", ""),
        ({"extends": "plain"}, "TEN-2713", "$.extends", "Remove"),
        ({"extends": "ofice"}, "TEN-2714", "$.extends", "`office`"),
        ({"id": "a b"}, "TEN-1020", "$.id", ""),
        ({"zone": "UTC"}, "TEN-1012", "$.zone", ""),
        ({"metadata": []}, "TEN-1010", "$.metadata", ""),
        ({"metadata": {"description": 1}}, "TEN-1010", "$.metadata.description", ""),
    ],
)
def test_bad_input_is_refused_with_advice(
    fields: Object, code: str, path: str, advice: str
) -> None:
    document = {**PLAIN, **fields}
    assert problems(document, OFFICE) == [(code, path)]
    (problem,) = read(document, OFFICE).problems
    assert advice in problem.advice


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_what_is_no_object_is_refused(document: JSON) -> None:
    assert problems(document) == [("TEN-1010", "$")]


def test_all_that_is_wrong_is_said_at_once() -> None:
    document: Object = {
        "timezone": "Mars/Base",
        "week": {"monday": [], "tue": ["9"]},
        "holidays": [{"country": "DE", "subdivision": "x", "categories": ["y"]}, "Atlantis"],
        "dates": [{}],
        "hours": 8,
    }
    assert len(problems(document)) == 8


def test_a_calendar_needs_a_zone_of_its_own_or_one_that_it_extends() -> None:
    assert problems({"week": WEEK}) == [("TEN-2711", "$")]
    assert read({"week": WEEK, "extends": "office"}, OFFICE).problems == ()


def test_a_calendar_cannot_extend_itself_by_way_of_others() -> None:
    child: Object = {"id": "child", "extends": "plain"}
    known = {"child": Calendar(id="child", extends="plain")}
    found = read_calendar({**PLAIN, "extends": "child"}, known, 2026)
    (problem,) = found.problems
    assert (problem.code, problem.message) == (
        "TEN-2713",
        "it extends itself: plain → child → plain",
    )
    assert read(child, PLAIN).problems == ()


def test_chains_of_calendars_are_bounded() -> None:
    known = {f"c{n}": Calendar(id=f"c{n}", extends=f"c{n + 1}") for n in range(100)}
    (problem,) = read_calendar({"id": "c", "extends": "c0"}, known, 2026).problems
    assert problem.code == "TEN-2713"


def test_a_calendar_inherits_and_what_it_says_itself_wins() -> None:
    child: Object = {
        "id": "factory",
        "extends": "office",
        "week": {"sat": ["06:00-14:00"], "fri": []},
        "holidays": [{"country": "AT"}],
        "dates": [{"date": "2026-12-24", "hours": ["06:00-10:00"], "name": "Half a day"}],
    }
    working = read(child, OFFICE).working
    assert working is not None
    assert working.timezone == "Europe/Berlin"
    assert working.week[0] == hours("09:00-12:00", "13:00-17:00")
    assert working.week[4:6] == ((), hours("06:00-14:00"))
    found = {each.date: each for each in working.special}
    assert found[date(2026, 12, 24)].hours == hours("06:00-10:00")
    assert found[date(2026, 12, 31)].name == "Last day"
    assert found[date(2026, 10, 26)].name == "National Day"  # of Austria
    assert found[date(2026, 10, 3)].name == "German Unity Day"


def test_equal_working_time_has_an_equal_version() -> None:
    first = read(OFFICE).working
    again = read({**OFFICE, "name": "Other name"}).working
    other = read({**OFFICE, "dates": []}).working
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.version == again.version != other.version


def test_a_change_of_what_is_extended_changes_the_version() -> None:
    child: Object = {"id": "child", "extends": "office"}
    one = read(child, OFFICE).working
    other = read(child, {**OFFICE, "dates": []}).working
    assert one is not None
    assert other is not None
    assert one.version != other.version


def test_days_off_that_take_all_working_hours_leave_none() -> None:
    sunday = date(2024, 1, 7)
    off: list[JSON] = [
        {"date": (sunday + timedelta(weeks=number)).isoformat()} for number in range(13 * 53)
    ]
    document: Object = {**PLAIN, "week": {"sun": ["09:00-17:00"]}, "dates": off}
    assert problems(document) == [("TEN-2712", "$.week")]


def test_each_day_shows_its_hours_and_the_reason() -> None:
    listed = days(office(), date(2026, 12, 23), date(2027, 1, 1))
    shown = [(each.date.day, len(each.hours), each.kind, each.name) for each in listed]
    assert shown == [
        (23, 2, "week", None),
        (24, 0, "date", "Christmas Eve"),
        (25, 0, "holiday", "Christmas Day"),
        (26, 0, "holiday", "Second Day of Christmas"),
        (27, 0, "week", None),
        (28, 2, "week", None),
        (29, 2, "week", None),
        (30, 2, "week", None),
        (31, 1, "date", "Last day"),
        (1, 0, "holiday", "New Year's Day"),
    ]


@pytest.mark.parametrize("last", [date(2026, 11, 16), date(2046, 1, 1)])
def test_days_are_listed_in_order_and_within_bounds(last: date) -> None:
    with pytest.raises(InvalidInput, match="TEN-2716"):
        days(office(), date(2026, 11, 17), last)


def test_days_with_many_hours_are_listed_up_to_a_number_of_spans() -> None:
    spans = [
        f"{9 + index // 6:02}:{index % 6 * 10:02}-{9 + index // 6:02}:{index % 6 * 10 + 9:02}"
        for index in range(48)
    ]
    week: JSON = {day: list(spans) for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")}
    working = read_calendar({"id": "c", "timezone": "UTC", "week": week}, {}, 2026).working
    assert working is not None
    first = date(2026, 1, 1)
    most = MOST_SPANS // 48
    assert len(days(working, first, first + timedelta(days=most - 1))) == most
    with pytest.raises(InvalidInput, match="TEN-2716") as refused:
        days(working, first, first + timedelta(days=most))
    assert "spans" in refused.value.problems[0].message


def test_names_of_holidays_do_not_depend_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert "German Unity Day" in {each.name for each in office().special}


def _many_dates(**more: JSON) -> Object:
    days_off: list[JSON] = [
        {"date": f"20{year}-05-{day:02}", "name": "a day", "hours": ["09:00-10:30", "14:00-24:00"]}
        for year in range(10, 20)
        for day in range(1, 31)
    ]
    return {**PLAIN, "dates": [{"date": "2001-01-01"}, *days_off], **more}


def test_a_stored_calendar_of_many_dates_reads_as_it_was_written() -> None:
    others: Object = {"metadata": {"description": "d"}, "holidays": [{"country": "DE"}]}
    for written in (calendar(_many_dates()), calendar(_many_dates(**others))):
        assert stored_calendar(write_calendar(written)) == written


@pytest.mark.parametrize(
    "wrong",
    [
        {"date": "2001-13-01"},
        {"date": "20010101"},
        {"date": "2030-01-01", "hours": ["25:00-26:00"]},
        {"date": "2030-01-01", "hours": "09:00-10:00"},
        {"date": "2030-01-01", "other": 1},
        {"date": "2001-01-01"},
        "2030-01-01",
    ],
)
def test_a_stored_calendar_of_many_dates_is_refused_as_one_of_few(wrong: JSON) -> None:
    document = _many_dates()
    dates = document["dates"]
    assert isinstance(dates, list)
    assert stored_calendar({**document, "dates": [*dates, wrong]}) is None
    few: list[JSON] = [{"date": "2001-01-01"}, wrong]
    assert stored_calendar({**document, "dates": few}) is None


def test_a_stored_calendar_with_its_dates_in_another_order_is_read_all_the_same() -> None:
    document = _many_dates()
    dates = document["dates"]
    assert isinstance(dates, list)
    assert stored_calendar({**document, "dates": dates[::-1]}) == calendar(document)
