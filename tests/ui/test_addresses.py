"""Every view is a URL: what was opened, narrowed and followed is there again from the address."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import PATIENCE
from tests.ui.server import Server

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)

PARENT = {
    "id": "family",
    "steps": [
        {
            "stepId": "each",
            "type": "LOOP",
            "source": "{{workflow.input}}",
            "transitions": {"loop": "work", "done": "child"},
        },
        {"stepId": "work", "type": "SET", "values": {"seen": "{{ctx.item}}"}},
        {
            "stepId": "child",
            "type": "SUB_WORKFLOW",
            "workflowId": "order",
            "input": {"orderId": "A9"},
        },
    ],
}


def test_what_was_opened_and_followed_is_there_again_from_its_address(
    server: Server, page: Page
) -> None:
    server.api("PUT", "/workflows/family", PARENT)
    body = {"input": list(range(20))}
    id = server.api("POST", "/workflows/family/start", body)["instanceId"]
    page.goto(f"{server.url}/instances?q=workflow:family")
    page.get_by_role("button", name=f"Children of {id}").click()
    child = page.get_by_role("row").filter(has_text="order@1")
    expect(child).to_be_visible()
    expect(page).to_have_url(re.compile(f"open={id}"))
    page.reload()
    expect(child).to_be_visible()
    # The timeline: what is open, its order, and that it does not follow.
    page.goto(f"{server.url}/instances/{id}?tab=timeline")
    timeline = page.get_by_role("list", name="Timeline")
    timeline.get_by_role("button", name="What is inside each").click()
    timeline.get_by_role("button", name="What is inside iteration 3", exact=True).click()
    page.get_by_label("By start").check()
    expect(timeline.get_by_text("work [3]")).to_be_visible()
    expect(page.get_by_role("button", name="Follow", exact=True)).to_be_visible()
    page.reload()
    expect(timeline.get_by_text("work [3]")).to_be_visible()
    expect(page.get_by_label("By start")).to_be_checked()
    expect(page.get_by_role("button", name="Follow", exact=True)).to_be_visible()
    # The filters of the log.
    page.get_by_role("tab", name="Log").click()
    page.get_by_label("Search the log").fill("CHILD")
    page.reload()
    expect(page.get_by_label("Search the log")).to_have_value("CHILD")
    expect(
        page.get_by_role("group", name="Log entries, newest first").get_by_role("listitem").first
    ).to_contain_text("CHILD")


def test_who_stopped_a_bulk_operation_stands_on_its_page(server: Server, page: Page) -> None:
    items = [{"workflowId": "order", "input": {"orderId": f"S{n}"}} for n in range(300)]
    server.api("POST", "/instances/batch", {"items": items})
    asked = {"action": "pause", "filter": {"workflowId": "order"}}
    operation = server.api("POST", "/instances/bulk", asked)
    stopped = server.api("DELETE", f"/instances/bulk/{operation['id']}")
    assert stopped["stoppedBy"]
    page.goto(f"{server.url}/operations/{operation['id']}")
    expect(page.get_by_text(f"stopped by {stopped['stoppedBy']}")).to_be_visible()
    expect(page.get_by_text("Stopped by", exact=True)).to_be_visible()
