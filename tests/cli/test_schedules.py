"""Schedules and calendars from a terminal."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tenuto.ports import SystemClock
from tests.cli.conftest import DOUBLE, Terminal

WEEK = {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}
CALENDAR = {"timezone": "Europe/Berlin", "week": WEEK, "holidays": [{"country": "DE"}]}
SCHEDULE = {
    "cron": "0 9 * * *",
    "timezone": "Europe/Berlin",
    "calendar": "berlin",
    "target": {"workflowId": "order"},
    "input": 21,
}


def write(terminal: Terminal, name: str, document: object) -> Path:
    path = terminal.folder / name
    path.write_text(json.dumps(document))
    return path


def made(terminal: Terminal) -> None:
    """A workflow, a calendar and a schedule, saved by one command."""
    write(terminal, "order.json", {**DOUBLE, "id": "order"})
    write(terminal, "berlin.calendar.json", CALENDAR)
    write(terminal, "morning.schedule.json", SCHEDULE)
    files = ("morning.schedule.json", "berlin.calendar.json", "order.json")
    saved = terminal.call("deploy", *files)
    assert saved.code == 0, saved.err
    assert saved.out.split("\n")[:3] == ["✓ order@1", "✓ calendar berlin@1", "✓ schedule morning@1"]


def test_schedules_are_saved_shown_previewed_and_removed(terminal: Terminal) -> None:
    made(terminal)
    listed = terminal.call("schedules", "list")
    assert "every working day at 09:00 Europe/Berlin" in listed.out
    [item] = terminal.call("schedules", "list", "--workflow", "order", "-o", "json").json["items"]
    assert (item["id"], item["status"], item["inWords"]) == (
        "morning",
        "active",
        "every working day at 09:00 Europe/Berlin",
    )
    assert terminal.call("schedules", "list", "-o", "id").out.strip() == "morning"
    shown = terminal.call("schedules", "show", "morning").out
    assert "calendar  berlin; outside of working time: skip" in shown
    assert terminal.call("schedules", "show", "morning", "-o", "json").json["version"] == 1
    words = ("schedules", "preview", "morning", "--from", "2026-12-24", "--count", "3")
    ticks = terminal.call(*words, "-o", "json").json["items"]
    assert [each.get("skipped") for each in ticks] == [
        None,
        "Fri 25 Dec 2026 is a holiday: Christmas Day",
        "Sat 26 Dec 2026 is a holiday: Second Day of Christmas",
    ]
    assert "Christmas Day" in terminal.call(*words).out
    assert terminal.call("schedules", "remove", "morning").code == 0
    near = terminal.call("schedules", "show", "mornin")
    assert (near.code, "TEN-3080" in near.err) == (3, True)


def test_the_days_of_a_calendar_end_with_the_last_date(terminal: Terminal) -> None:
    made(terminal)
    ended = terminal.call("calendars", "days", "berlin", "--from", "9999-12-20", "-o", "json")
    assert ended.code == 0, ended.err
    assert [ended.json["items"][at]["date"] for at in (0, -1)] == ["9999-12-20", "9999-12-31"]


def test_a_list_without_schedules_leads_on(terminal: Terminal) -> None:
    terminal.call("migrate")
    assert "tenuto schedules set FILE" in terminal.call("schedules", "list").err
    assert "tenuto calendars set FILE" in terminal.call("calendars", "list").err


def test_a_schedule_is_previewed_from_its_file_and_saved_by_set(terminal: Terminal) -> None:
    made(terminal)
    hourly = write(terminal, "hourly.json", {**SCHEDULE, "cron": "0 * * * *", "timezone": "UTC"})
    foreseen = terminal.call("schedules", "set", str(hourly), "--dry-run")
    assert (foreseen.code, "nothing is saved" in foreseen.err) == (0, True)
    assert "hourly" not in terminal.call("schedules", "list").out
    assert terminal.call("schedules", "preview", str(hourly), "-o", "json").json["items"]
    saved = terminal.call("schedules", "set", str(hourly))
    assert "✓ schedule hourly@1" in saved.out
    wrong = write(terminal, "wrong.json", {**SCHEDULE, "cron": "0 9 31 2 *", "timezone": "Berlin"})
    refused = terminal.call("schedules", "set", str(wrong))
    assert refused.code == 2
    assert "TEN-2720" in refused.err
    assert "Did you mean `Europe/Berlin`?" in refused.err
    assert "wrong.json:1:" in refused.err


def test_ticks_are_triggered_paused_and_backfilled(terminal: Terminal) -> None:
    made(terminal)
    none = terminal.call("schedules", "ticks", "morning")
    assert "tenuto schedules trigger morning" in none.err
    started = terminal.call("schedules", "trigger", "morning", "--at", "2026-01-05T08:00:00Z")
    assert (started.code, "✓ morning: started" in started.out) == (0, True)
    paused = terminal.call("schedules", "pause", "morning", "--note", "moving", "-o", "json")
    assert (paused.json["status"], paused.json["note"]) == ("paused", "moving")
    assert "moving" in terminal.call("schedules", "list", "--status", "paused").out
    assert (
        "✓ morning is active again; next at" in terminal.call("schedules", "resume", "morning").out
    )
    words = ("schedules", "backfill", "morning", "--from", "2026-01-05", "--to", "2026-01-09")
    assert "5 ticks in this range; those" in terminal.call(*words, "--dry-run").out
    done = terminal.call(*words, "-o", "json").json
    assert (done["action"], done["matched"], done["done"]) == ("backfill", 5, 5)
    ticks = terminal.call("schedules", "ticks", "morning", "-o", "json").json["items"]
    assert [each["cause"] for each in ticks] == ["backfill"] * 4 + ["trigger"]
    id = ticks[-1]["instanceId"]
    assert "schedule    morning  tick of 2026-01-05T08:00:00.000Z" in terminal.call("show", id).out
    explained = terminal.call("explain", id).out
    assert "schedule morning started it for 2026-01-05T08:00:00.000Z" in explained
    assert "morning" in next(line for line in terminal.call("list").out.splitlines() if id in line)
    items = terminal.call("list", "-o", "json").json["items"]
    [listed] = [each for each in items if each["id"] == id]
    assert listed["schedule"] == {"id": "morning", "nominal": "2026-01-05T08:00:00.000Z"}


def test_calendars_are_shown_counted_imported_and_kept_while_they_are_used(
    terminal: Terminal,
) -> None:
    made(terminal)
    assert "Europe/Berlin" in terminal.call("calendars", "list").out
    shown = terminal.call("calendars", "show", "berlin")
    assert "used by   schedules morning" in shown.out
    days = ("calendars", "days", "berlin", "--from", "2026-12-25", "--to", "2026-12-25")
    assert "Christmas Day" in terminal.call(*days).out
    [day] = terminal.call(*days, "-o", "json").json["items"]
    assert (day["hours"], day["kind"]) == ([], "holiday")
    added = terminal.call("calendars", "add", "berlin", "PT2H", "--from", "2026-12-24T15:00:00Z")
    assert added.out.strip() == "2026-12-28T09:00:00.000Z"
    assert "2026-12-25  Fri 25 Dec 2026 is a holiday: Christmas Day" in added.err
    event = "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261228\nSUMMARY:Moving\nEND:VEVENT"
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{event}\nEND:VCALENDAR\n"
    (terminal.folder / "days.ics").write_text(text)
    imported = terminal.call("calendars", "import", "berlin", "days.ics")
    assert "✓ 1 day imported into berlin@2" in imported.out
    refused = terminal.call("calendars", "remove", "berlin")
    assert (refused.code, "is used by the schedule morning" in refused.err) == (4, True)
    terminal.call("schedules", "remove", "morning")
    assert terminal.call("calendars", "remove", "berlin").code == 0


def test_removing_a_workflow_says_how_many_schedules_stop(terminal: Terminal) -> None:
    made(terminal)
    removed = terminal.call("workflows", "remove", "order")
    assert "1 schedule starts nothing any more" in removed.out
    listed = terminal.call("schedules", "list", "--status", "error")
    assert "there is no workflow order" in listed.out


def test_a_preview_of_a_file_shows_all_problems_with_their_places(terminal: Terminal) -> None:
    made(terminal)
    target = {"workflowId": "ordr"}
    wrong = write(terminal, "wrong.json", {**SCHEDULE, "calendar": "none", "target": target})
    for words in (("preview", str(wrong)), ("set", str(wrong), "--dry-run")):
        refused = terminal.call("schedules", *words)
        assert (refused.code, refused.out) == (2, "")
        assert "TEN-2726" in refused.err
        assert "wrong.json:1:" in refused.err
    nowhere = write(terminal, "nowhere.json", {**SCHEDULE, "timezone": "Berlin"})
    refused = terminal.call("schedules", "preview", str(nowhere), "--from", "2026-12-24")
    assert (refused.code, "TEN-2711" in refused.err) == (2, True)
    missing = write(terminal, "missing.json", {**SCHEDULE, "target": target})
    refused = terminal.call("schedules", "preview", str(missing))
    assert (refused.code, "TEN-2730" in refused.err) == (2, True), "its times could be shown"


def test_dates_are_those_of_the_zone_of_the_document(terminal: Terminal) -> None:
    made(terminal)
    document = {**SCHEDULE, "cron": "30 * * * *", "timezone": "Asia/Tokyo"}
    del document["calendar"]
    file = write(terminal, "tokyo.json", document)
    zone = {"cronExpression": "30 * * * *", "timezone": "Asia/Tokyo"}
    target = {"type": "workflow", "id": "order"}
    spelled = write(terminal, "spelled.json", {"timing": zone, "target": target, "input": 21})
    assert terminal.call("schedules", "set", str(file)).code == 0
    for which in (str(file), str(spelled), "tokyo"):
        words = ("schedules", "preview", which, "--from", "2026-12-24", "--count", "1")
        [tick] = terminal.call(*words, "-o", "json").json["items"]
        assert tick["nominal"] == "2026-12-23T15:30:00.000Z", which
    tick = terminal.call("schedules", "trigger", "tokyo", "--at", "2026-01-05", "-o", "json").json
    assert tick["nominal"] == "2026-01-04T15:00:00.000Z"
    write(terminal, "tokyo.json", {"timezone": "Asia/Tokyo", "week": {"mon": ["00:00-04:00"]}})
    terminal.call("calendars", "set", "tokyo.json")
    write(terminal, "kid.json", {"extends": "tokyo"})
    assert terminal.call("calendars", "set", "kid.json").code == 0
    added = terminal.call("calendars", "add", "kid", "PT1H", "--from", "2026-01-05")
    assert added.out.strip() == "2026-01-04T16:00:00.000Z"


def test_the_working_time_between_two_dates_is_counted(terminal: Terminal) -> None:
    made(terminal)
    words = ("calendars", "between", "berlin", "--from", "2026-12-24", "--to", "2026-12-28")
    counted = terminal.call(*words)
    assert counted.out.strip() == "PT16H"
    assert "2026-12-25  Fri 25 Dec 2026 is a holiday: Christmas Day" in counted.err
    assert terminal.call(*words, "-o", "json").json["workingDays"] == 2
    wrong = terminal.call("calendars", "between", "berlin", "--from", "2026-12-24", "--to", "2026")
    assert (wrong.code, "--to" in wrong.err) == (2, True)


def test_a_pause_and_a_resumption_say_why_in_the_log(terminal: Terminal) -> None:
    made(terminal)
    for action in ("pause", "resume"):
        assert terminal.call("schedules", action, "morning", "--reason", f"to {action}").code == 0
    lines = terminal.call("audit", "list", "-o", "json").json["items"]
    assert {"to pause", "to resume"} <= {(each["after"] or {}).get("reason") for each in lines}


def test_a_date_that_is_none_is_said_with_an_example(terminal: Terminal) -> None:
    made(terminal)
    for words in (
        ("calendars", "days", "berlin", "--from", "xx"),
        ("schedules", "preview", "morning", "--from", "2026-13-01"),
    ):
        refused = terminal.call(*words)
        assert refused.code == 2
        assert f"`{words[-1]}` is not a date" in refused.err
        assert "2026-12-24" in refused.err
        assert "isoformat" not in refused.err


def test_the_doctor_tells_of_schedules_in_error_late_and_paused(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(terminal)
    assert findings(terminal) == [("ok", "1 schedule")]
    terminal.call("schedules", "pause", "morning")
    assert findings(terminal) == [("ok", "1 schedule, 1 paused (morning)")]
    terminal.call("schedules", "resume", "morning")
    # No process works on the store from here on.
    a_week_later = SystemClock.now(SystemClock()) + timedelta(days=7)
    with monkeypatch.context() as later:
        later.setattr(SystemClock, "now", lambda _: a_week_later)
        [late, counted] = findings(terminal)
    assert late[0] == "warning"
    assert late[1].startswith("late: morning; up to ")
    assert counted == ("ok", "1 schedule, 1 late")
    terminal.call("workflows", "remove", "order")
    [failing, counted] = findings(terminal)
    assert failing == (
        "warning",
        "morning is in error and starts nothing: there is no workflow order",
    )
    assert counted == ("ok", "1 schedule, 1 in error")


def findings(terminal: Terminal) -> list[tuple[str, str]]:
    """What the doctor says about schedules."""
    found = terminal.call("doctor", "-o", "json").json["findings"]
    return [(each["state"], each["message"]) for each in found if each["what"] == "schedule"]
