"""Instances with very long logs: what is newest is there at once, and the page stays usable."""

from __future__ import annotations

from time import monotonic

import pytest
from playwright.sync_api import Page, expect

from tests.kit import soak_figures
from tests.ui.conftest import PATIENCE, Serve
from tests.ui.long_logs import lengthened
from tests.ui.server import Server

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)

MILLION = 1_000_000
PAID = {"pattern": "payment.received", "payload": {"orderId": "A1"}}
PARENT = {
    "id": "parent",
    "steps": [
        {
            "stepId": "child",
            "type": "SUB_WORKFLOW",
            "workflowId": "order",
            "input": {"orderId": "A9"},
        }
    ],
}


@pytest.mark.parametrize("many", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_long_logs_are_shown_newest_first_and_open_in_the_timeline_of_a_parent(
    server: Server, page: Page, many: int
) -> None:
    server.api("PUT", "/workflows/parent", PARENT)
    parent = server.api("POST", "/workflows/parent/start", {})["instanceId"]
    found = server.api("GET", f"/instances?parentId={parent}")["items"]
    while not found or "paid" not in found[0]["currentSteps"]:
        found = server.api("GET", f"/instances?parentId={parent}")["items"]
    order = _order(server)
    [entries, _] = _lengthened(server, {order: many, found[0]["id"]: 12_000})
    # A child is read in portions, and once it is whole it has what the log alone knows.
    page.goto(f"{server.url}/instances/{parent}?tab=timeline&open=child")
    timeline = page.get_by_role("list", name="Timeline")
    expect(timeline.get_by_role("link", name="paid")).to_be_visible()
    expect(timeline.get_by_text("entries read")).to_have_count(0)
    expect(timeline.get_by_role("link", name="order 0")).to_be_visible()
    expect(timeline.get_by_text("was paused").first).to_be_attached()
    # Of a longer one the newest entries are there at once.
    page.goto(f"{server.url}/instances/{order}?tab=log")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Waiting")
    log = page.get_by_role("group", name="Log entries, newest first")
    expect(log.get_by_text(str(entries), exact=True)).to_be_in_viewport()
    # Also where the rest is being read already, which is said with the same words.
    expect(page.get_by_text(f"of {entries:,} entries").first).to_be_visible()
    # Without the whole log the timeline has the steps as the service tells them.
    page.get_by_role("tab", name="Timeline").click()
    expect(timeline.get_by_text("paid")).to_be_visible()
    expect(page.get_by_role("button", name=f"Read all {entries:,} entries")).to_be_visible()
    # It is live all the same.
    page.get_by_role("tab", name="Log").click()
    server.api("POST", "/events", PAID)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Completed")
    expect(log.get_by_text("STATUS_CHANGED").first).to_be_in_viewport()


@pytest.mark.soak
def test_of_a_million_entries_the_newest_are_there_and_the_page_stays_usable(
    serve: Serve, page: Page
) -> None:
    server = serve()
    id = _order(server)
    [length] = _lengthened(server, {id: MILLION})
    begun = monotonic()
    page.goto(f"{server.url}/instances/{id}?tab=log")
    log = page.get_by_role("group", name="Log entries, newest first")
    expect(log.get_by_text(str(length), exact=True)).to_be_in_viewport()
    shown = monotonic() - begun
    expect(page.get_by_text("The log is too long to be replayed here")).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_role("list", name="Timeline").get_by_text("paid")).to_be_visible()
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator(".react-flow__edge")).to_have_count(2)
    server.api("POST", "/events", PAID)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Completed")
    print({"entries": length, "seconds": round(shown, 3)})
    soak_figures.add("browser", million_entries_open_ms=round(shown * 1_000))


def _order(server: Server) -> str:
    body = {"input": PAID["payload"]}
    id = str(server.api("POST", "/workflows/order/start", body)["instanceId"])
    while "paid" not in server.api("GET", f"/instances/{id}")["state"]["currentSteps"]:
        pass
    return id


def _lengthened(server: Server, wanted: dict[str, int]) -> list[int]:
    """Lengthen the logs of instances that wait: they were paused again and again."""
    begins = []
    for id in wanted:
        begins.append(server.api("GET", f"/instances/{id}")["version"])
        server.api("POST", f"/instances/{id}/pause", {})
        server.api("POST", f"/instances/{id}/resume", {})
    server.stop()
    for (id, entries), begin in zip(wanted.items(), begins, strict=True):
        lengthened(server.database, id, cycle_from=begin, entries=entries)
    server.start()
    for id in wanted:
        # With the next entry comes a snapshot, as the service writes them for long logs.
        server.api("POST", f"/instances/{id}/pause", {})
        server.api("POST", f"/instances/{id}/resume", {})
    return [server.api("GET", f"/instances/{id}")["version"] for id in wanted]
