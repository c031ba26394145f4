"""The page of an instance: why it stands where it stands, and what can be done about it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tenuto.model.json import JSON, Object
from tests.ui.barriers import barriers
from tests.ui.failure_codes import WRITTEN, text
from tests.ui.server import Server

pytestmark = pytest.mark.slow

_ITEMS = 40


def _wait(name: str, following: str | None = None) -> JSON:
    step: Object = {"stepId": name, "type": "EVENT_WAIT", "eventPattern": f"payment.{name}"}
    return step if following is None else {**step, "transitions": {"default": following}}


_FOLLOWED: JSON = {
    "id": "followed",
    "steps": [
        {
            "stepId": "each",
            "type": "LOOP",
            "source": "{{workflow.input}}",
            "transitions": {"loop": "work", "done": ["child", "first"]},
        },
        {"stepId": "work", "type": "SET", "values": {"seen": "{{ctx.item}}"}},
        {
            "stepId": "child",
            "type": "SUB_WORKFLOW",
            "workflowId": "order",
            "input": {"orderId": "A9"},
        },
        _wait("first", "second"),
        _wait("second", "third"),
        _wait("third"),
    ],
}
"""Many entries, a child that waits, and events that let it go on."""


def test_the_catalogue_of_failure_codes_in_the_pages_is_the_engines() -> None:
    assert WRITTEN.read_text() == text(), "run python -m tests.ui.failure_codes"


def test_a_failure_is_read_and_retried(server: Server, page: Page) -> None:
    id = _started(server, "charge", {"orderId": "A1"})
    page.goto(f"{server.url}/instances/{id}")
    why = page.get_by_role("region", name="Why it stands where it stands")
    expect(why).to_contain_text("CARD_DECLINED: the card was declined")
    # The step leads to its error and what the code means; the address has the place.
    why.get_by_role("button", name="charge", exact=True).click()
    selection = page.get_by_role("complementary", name="Selection")
    selection.get_by_role("tab", name="Error").click()
    expect(selection).to_contain_text("A code of the task's own")
    expect(page).to_have_url(f"{server.url}/instances/{id}?step=charge&part=error")
    selection.get_by_role("tab", name="Input").click()
    expect(selection.get_by_role("group", name="Resolved input")).to_contain_text('"A1"')
    # Each entry of the log can be looked at, and the state after it.
    views = page.get_by_role("tablist", name="Views of the instance")
    views.get_by_role("tab", name="Log").click()
    page.get_by_role("button", name="NODE_FAILED").click()
    expect(selection.get_by_role("group", name="Entry")).to_contain_text("the card was declined")
    assert barriers(page) == []
    selection.get_by_role("button", name="Show the state then").click()
    expect(page.get_by_role("group", name="Replay")).to_contain_text("it was RUNNING")
    page.reload()
    page.get_by_role("button", name="Back to now").click()
    # A retry says before what is kept and what runs again.
    why.get_by_role("button", name="Retry failed steps").click()
    dialog = page.get_by_role("dialog", name="Retry what failed")
    expect(dialog).to_contain_text("Runs again")
    dialog.get_by_role("button", name="Retry", exact=True).click()
    expect(dialog).to_be_hidden()
    views.get_by_role("tab", name="Graph").click()
    page.get_by_role("button", name="Show as outline").click()
    expect(page.get_by_role("list", name="Graph of the instance")).to_contain_text("attempt 2")
    entries = server.api("GET", f"/instances/{id}/history")["items"]
    assert [each["eventType"] for each in entries].count("RETRY_REQUESTED") == 1


def test_a_wait_is_released_from_the_event_that_came_near(server: Server, page: Page) -> None:
    id = _started(server, "order", {"orderId": "A-7"})
    page.goto(f"{server.url}/instances/{id}")
    # Of reserve, paid and ship: an edge that is not drawn leaves no other trace.
    expect(page.locator(".react-flow__edge")).to_have_count(2)
    why = page.get_by_role("region", name="Why it stands where it stands")
    expect(why).to_contain_text("waits for the event payment.received")
    near = {"pattern": "payment.received", "payload": {"orderId": "A-6", "amount": 3}}
    server.api("POST", "/events", near)
    page.reload()
    row = page.get_by_role("list", name="Events that came near").get_by_role("listitem").first
    expect(row).to_contain_text("event.payload.orderId === workflow.input.orderId")
    expect(row).to_contain_text('"A-6"')
    row.get_by_role("button", name="Send corrected").click()
    dialog = page.get_by_role("dialog", name="Send payment.received")
    expect(dialog).to_contain_text("It fits: it resumes paid")
    assert barriers(page) == []
    dialog.get_by_role("button", name="Send event").click()
    # What follows arrives by the socket: nothing is loaded again.
    expect(page.get_by_role("heading", level=1)).to_contain_text("Completed")
    state = server.api("GET", f"/instances/{id}")["state"]
    assert state["steps"]["paid"]["output"]["payload"] == {"orderId": "A-7", "amount": 3}


def test_an_approval_is_decided_with_its_form(server: Server, page: Page) -> None:
    id = _started(server, "expense", {"amount": 12})
    page.goto(f"{server.url}/instances/{id}")
    page.get_by_role("button", name="Decide").click()
    dialog = page.get_by_role("dialog", name="Decide: approve")
    dialog.get_by_label("Decided by").fill("ana")
    dialog.get_by_role("button", name="Approve").click()
    expect(dialog).to_contain_text("A value is required")
    dialog.get_by_label("Cost centre").fill("C-12")
    assert barriers(page) == []
    dialog.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Completed")
    output = server.api("GET", f"/instances/{id}")["state"]["steps"]["approve"]["output"]
    assert (output["decision"], output["by"]) == ("approved", "ana")
    assert output["form"] == {"costCentre": "C-12"}


def test_a_delay_of_a_test_run_is_skipped(server: Server, page: Page) -> None:
    nap = {"stepId": "nap", "type": "DELAY", "duration": "PT1H"}
    id = server.api("POST", "/workflows/test", {"id": "naps", "steps": [nap]})["instanceId"]
    page.goto(f"{server.url}/instances/{id}")
    page.get_by_role("button", name="Skip the delay").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Completed")
    assert barriers(page) == []


def test_the_newest_stays_in_sight_until_the_viewer_scrolls(server: Server, page: Page) -> None:
    server.api("PUT", "/workflows/followed", _FOLLOWED)
    id = _started(server, "followed", list(range(_ITEMS)))
    page.goto(f"{server.url}/instances/{id}?tab=log")
    log = page.get_by_role("group", name="Log entries, newest first")
    expect(log.get_by_text("payment.first")).to_be_visible()
    expect(page.get_by_text("Following")).to_be_visible()
    server.api("POST", "/events", {"pattern": "payment.first", "payload": {}})
    expect(log.get_by_text("payment.second")).to_be_in_viewport()
    # What is read stays where it is, whatever comes in above it.
    log.hover()
    page.mouse.wheel(0, 1_500)
    expect(page.get_by_role("button", name="Follow", exact=True)).to_be_visible()
    number = log.get_by_role("listitem").nth(20).inner_text().split("\n")[0]
    read = log.get_by_role("listitem").filter(has=page.get_by_text(number, exact=True))
    was = _below(read, log)
    server.api("POST", "/events", {"pattern": "payment.second", "payload": {}})
    resume = page.get_by_role("button", name=re.compile("Follow, .* new"))
    expect(resume).to_be_visible()
    assert _below(read, log) == was
    resume.click()
    expect(log.get_by_text("payment.third")).to_be_in_viewport()
    assert barriers(page) == []


def test_iterations_and_children_open_in_the_timeline(server: Server, page: Page) -> None:
    server.api("PUT", "/workflows/followed", _FOLLOWED)
    id = _started(server, "followed", list(range(_ITEMS)))
    page.goto(f"{server.url}/instances/{id}?tab=timeline")
    timeline = page.get_by_role("list", name="Timeline")
    timeline.get_by_role("button", name=f"What is inside each, {_ITEMS} iterations").click()
    second = timeline.get_by_role("button", name="What is inside iteration 1", exact=True)
    expect(second).to_have_attribute("aria-expanded", "false")
    second.click()
    expect(timeline.get_by_text("work [1]")).to_be_visible()
    timeline.get_by_role("button", name="What is inside each").click()
    timeline.get_by_role("button", name="What is inside child").click()
    expect(timeline.get_by_role("link", name="order 0")).to_be_visible()
    step = timeline.get_by_role("link", name="reserve")
    expect(step).to_be_visible()
    assert barriers(page) == []
    step.click()
    expect(page.get_by_role("complementary", name="Selection")).to_contain_text("reserve")


@pytest.mark.page_errors
def test_an_instance_that_is_not_there_is_said_to_be_gone(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/instances/01a1ea27-6f25-7373-9642-2221d50dfbbc")
    expect(page.get_by_role("heading", name="There is no such instance")).to_be_visible()
    expect(page.get_by_text("TEN-3001")).to_be_visible()


def _below(row: Locator, log: Locator) -> float:
    """How far a row is below the top of the list."""
    box, around = row.bounding_box(), log.bounding_box()
    assert box is not None
    assert around is not None
    return box["y"] - around["y"]


def _started(server: Server, workflow: str, input: object) -> str:
    answer = server.api("POST", f"/workflows/{workflow}/start", {"input": input})
    return str(answer["instanceId"])
