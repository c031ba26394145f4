"""The page of an instance: why it stands where it stands, and what can be done about it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.ui.barriers import barriers
from tests.ui.failure_codes import WRITTEN, text
from tests.ui.server import Server

pytestmark = pytest.mark.slow


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


@pytest.mark.page_errors
def test_an_instance_that_is_not_there_is_said_to_be_gone(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/instances/01a1ea27-6f25-7373-9642-2221d50dfbbc")
    expect(page.get_by_role("heading", name="There is no such instance")).to_be_visible()
    expect(page.get_by_text("TEN-3001")).to_be_visible()


def _started(server: Server, workflow: str, input: object) -> str:
    answer = server.api("POST", f"/workflows/{workflow}/start", {"input": input})
    return str(answer["instanceId"])
