"""Definitions and events: a workflow is started from its form, and an event released from its page."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.ui.barriers import barriers
from tests.ui.server import Server

pytestmark = pytest.mark.slow


@pytest.mark.page_errors
def test_a_wrong_input_is_refused_at_its_field_and_a_right_one_starts(
    server: Server, page: Page
) -> None:
    page.goto(f"{server.url}/workflows")
    page.get_by_role("link", name="Order", exact=True).click()
    expect(page.get_by_role("heading", name="Order")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()

    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("TEN-2101")).to_be_visible()
    field = page.get_by_role("textbox", name="orderId")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text('"orderId" is a required property')).to_be_visible()
    assert barriers(page) == []

    field.fill("from the form")
    expect(field).to_have_attribute("aria-invalid", "false")
    page.get_by_role("tab", name="JSON").click()
    expect(page.get_by_text('"from the form"')).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(f"{server.url}/instances/*")
    started = server.api("GET", f"/instances/{page.url.rpartition('/')[2]}")
    assert started["input"] == {"orderId": "from the form"}


def test_a_dry_run_says_what_is_false_and_the_event_then_resumes_the_instance(
    server: Server, page: Page
) -> None:
    started = server.api("POST", "/workflows/order/start", {"input": {"orderId": "B7"}})
    id = started["instanceId"]
    page.goto(f"{server.url}/events/publish?pattern=payment.received&payload={quote('{}')}")
    page.get_by_role("button", name="Dry run").click()
    near = page.get_by_role("listitem").filter(has_text=id)
    expect(near).to_contain_text("Nearly resumed")
    expect(near).to_contain_text("event.payload.orderId === workflow.input.orderId")
    assert barriers(page) == []

    near.get_by_role("button", name='Set orderId to "B7"').click()
    expect(page.get_by_role("heading", name="It would be: 1 wait resumed")).to_be_visible()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("1 wait resumed", exact=True)).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text=id)).to_contain_text("Resumed")
    ended = server.api("GET", f"/instances/{id}?wait=20")
    assert ended["status"] == "COMPLETED"


def test_what_changed_between_versions_is_shown_in_the_graph_and_in_the_json(
    server: Server, page: Page
) -> None:
    for value, others in ((1, ("b",)), ("<img src=x onerror=alert(1)>", ("b", "c"))):
        steps = [{"stepId": id, "type": "SET", "values": {"y": 2}} for id in others]
        first = {"stepId": "a", "type": "SET", "values": {"x": value}}
        first["transitions"] = {"default": list(others)}
        server.api("PUT", "/workflows/twice", {"steps": [first, *steps]})
    page.goto(f"{server.url}/workflows/twice?tab=versions")
    page.get_by_role("link", name="Compare with 1").click()
    expect(page.get_by_role("status").filter(has_text="1 step added")).to_be_visible()
    expect(page.get_by_text('"<img src=x onerror=alert(1)>"')).to_be_visible()
    assert barriers(page) == []
    page.get_by_role("tab", name="JSON").click()
    expect(page.get_by_role("region", name="Differences of the JSON")).to_contain_text('"stepId": "c"')
