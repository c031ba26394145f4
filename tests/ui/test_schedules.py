"""Schedules and calendars: made with a preview, seen ticking, paused, and only looked at."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.barriers import barriers
from tests.ui.conftest import PATIENCE, NewPage, Serve
from tests.ui.furnished import ADMIN_KEY, signed_in
from tests.ui.server import Server

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)

TINY = {"id": "tiny", "steps": [{"stepId": "only", "type": "SET", "values": {"done": True}}]}
BERLIN = {
    "id": "berlin",
    "name": "Berlin office",
    "timezone": "Europe/Berlin",
    "week": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
    "holidays": [{"country": "DE"}],
    "dates": [{"date": "2026-12-24", "hours": ["09:00-12:00"], "name": "Christmas Eve"}],
}
CHANGES = re.compile("create|edit|remove|pause|resume|trigger|backfill|import", re.IGNORECASE)


def test_a_schedule_is_made_with_a_preview_seen_ticking_paused_and_resumed(
    server: Server, page: Page
) -> None:
    server.api("PUT", "/workflows/tiny", TINY)
    server.api("PUT", "/calendars/berlin", BERLIN)
    page.goto(f"{server.url}/schedules")
    expect(page.get_by_role("heading", name="There is no schedule")).to_be_visible()
    page.get_by_role("button", name="Create schedule").first.click()
    dialog = page.get_by_role("dialog", name="Create a schedule")
    preview = dialog.get_by_role("region", name="Preview")
    dialog.get_by_label("Name").fill("Every second")
    dialog.get_by_label("Workflow").fill("tiny")
    dialog.get_by_label("Time zone").fill("Europe/Berlin")
    dialog.get_by_label("Calendar", exact=True).fill("berlin")
    expect(preview).to_contain_text("every working day at 09:00 Europe/Berlin")
    # What is wrong stands at its field, with its code and what to do.
    dialog.get_by_label("Cron expression").fill("0 25 * * *")
    expect(dialog.get_by_text("TEN-2720")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create", exact=True)).to_be_disabled()
    dialog.get_by_label("Cron expression").fill("* * * * * *")
    dialog.get_by_label("Calendar", exact=True).fill("")
    expect(preview).to_contain_text("every second")
    expect(preview.get_by_role("list", name="Next times").get_by_role("listitem")).to_have_count(8)
    assert barriers(page) == []
    dialog.get_by_role("button", name="Create", exact=True).click()
    # It ticks: each mark leads to the instance that it started.
    expect(page.get_by_role("heading", level=1)).to_contain_text("Every second")
    ticks = page.get_by_role("group", name="Ticks")
    expect(ticks.get_by_role("row").nth(2)).to_contain_text("Started")
    page.get_by_role("button", name="Pause", exact=True).click()
    pause = page.get_by_role("dialog", name="Pause the schedule")
    pause.get_by_label("Note").fill("while we look")
    pause.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("Paused: while we look.")).to_be_visible()
    started = ticks.get_by_role("row").nth(1).get_by_role("link")
    id = str(started.get_attribute("href")).rpartition("/")[2]
    page.get_by_role("button", name="Resume").click()
    expect(
        page.get_by_text("every second UTC")
        .or_(page.get_by_text("every second Europe/Berlin"))
        .first
    ).to_be_visible()
    expect(page.get_by_text("Paused: while we look.")).to_have_count(0)
    schedule = server.api("GET", "/schedules")["items"][0]
    assert schedule["status"] == "active"
    page.goto(f"{server.url}/instances/{id}")
    expect(page.get_by_role("link", name=schedule["id"])).to_be_visible()
    why = page.get_by_role("region", name="Why it stands where it stands")
    expect(why).to_contain_text(f"Schedule {schedule['id']} started it for")
    expect(why.get_by_role("link", name="See the schedule")).to_be_visible()
    page.goto(f"{server.url}/instances")
    expect(page.get_by_text(schedule["id"], exact=True).first).to_be_visible()
    page.goto(f"{server.url}/workflows/tiny?tab=uses")
    expect(page.get_by_role("link", name="Every second")).to_be_visible()
    server.api("DELETE", f"/schedules/{schedule['id']}")


def test_the_year_of_a_calendar_has_its_holidays_and_a_viewer_sees_no_buttons(
    serve: Serve, new_page: NewPage
) -> None:
    server = serve(key=ADMIN_KEY)
    server.api("PUT", "/calendars/berlin", BERLIN)
    server.api("PUT", "/workflows/tiny", TINY)
    schedule = {
        "id": "nightly",
        "type": "recurring",
        "cron": "0 9 * * *",
        "timezone": "Europe/Berlin",
        "calendar": "berlin",
        "target": {"workflowId": "tiny"},
    }
    server.api("POST", "/schedules", schedule)
    page = new_page()
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}/calendars/berlin?year=2026")
    october = page.get_by_role("table", name=re.compile("October 2026"))
    expect(october).to_contain_text("22 working days")
    expect(page.get_by_text("Sat 3 Oct 2026: German Unity Day, not a working day")).to_be_attached()
    eve = page.get_by_text("Thu 24 Dec 2026: Christmas Eve, 09:00\N{EN DASH}12:00")
    expect(eve).to_be_attached()
    expect(page.get_by_role("link", name="nightly")).to_be_visible()
    # The calculator skips what is no working time.
    page.get_by_label("Working time").fill("P3D")
    page.get_by_role("button", name="Calculate").click()
    expect(page.get_by_role("status", name="Result")).to_contain_text("of working time on")
    # A file of days off.
    page.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog", name="Import days off")
    day = "BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20261228\r\nSUMMARY:Between\r\nEND:VEVENT"
    file = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//y\r\n{day}\r\nEND:VCALENDAR\r\n"
    dialog.get_by_label("File").set_input_files(
        {"name": "days.ics", "mimeType": "text/calendar", "buffer": file.encode()}
    )
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog).to_contain_text("1 day imported")
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.get_by_text("Mon 28 Dec 2026: Between, not a working day")).to_be_attached()
    # A backfill is counted first, and then an operation with progress.
    page.goto(f"{server.url}/schedules/nightly")
    page.get_by_role("button", name="Backfill").click()
    backfill = page.get_by_role("dialog", name="Backfill")
    backfill.get_by_label("From").fill("2026-11-02T00:00")
    backfill.get_by_label("To").fill("2026-11-06T23:00")
    backfill.get_by_role("button", name="Count").click()
    backfill.get_by_role("button", name="Start what was not started").click()
    expect(page).to_have_url(re.compile("/operations/"))
    expect(page.get_by_role("status").filter(has_text="5 of 5")).to_be_visible()
    viewer = server.api("POST", "/keys", {"name": "eyes", "role": "viewer"})
    eyes = new_page()
    signed_in(eyes, viewer["key"])
    for path in ("/schedules", "/schedules/nightly", "/calendars", "/calendars/berlin"):
        eyes.goto(f"{server.url}{path}")
        eyes.get_by_role("heading", level=1).first.wait_for()
        expect(eyes.get_by_role("main").get_by_role("link").first).to_be_visible()
        expect(eyes.get_by_role("main").get_by_role("button", name=CHANGES)).to_have_count(0)
