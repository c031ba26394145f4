"""The first page and the list of instances: the first five minutes, searching, acting on many."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.kit import soak_figures
from tests.ui.barriers import barriers
from tests.ui.conftest import Serve
from tests.ui.frames import SCROLL
from tests.ui.server import Server

pytestmark = pytest.mark.slow

MANY = 60
"""Above fifty, the number is typed."""
_PAGE, _ROW = 500, 36
"""Of the list: what is read at once, and the height of a row. A frame for each screen would take
minutes on a busy machine; `python -m bench ui` measures them."""


def test_the_first_five_minutes_need_the_page_alone(serve: Serve, page: Page) -> None:
    server = serve()
    page.goto(server.url)
    expect(page.get_by_role("heading", name="Nothing has run yet")).to_be_visible()
    assert barriers(page) == []
    things = page.get_by_role("region", name="Things to try")
    expect(things.get_by_text("tenuto start order --input")).to_be_visible()
    things.get_by_role("button", name="Start it").click()
    expect(things.get_by_text("It waits for payment.received.")).to_be_visible()
    things.get_by_role("button", name="Send payment.received").click()
    expect(things.get_by_text("The payment let it go on, to its end.")).to_be_visible()
    expect(page.get_by_text("Nothing failed in the last 24 hours")).to_be_visible()
    page.get_by_role("link", name="Instances", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="order@1")).to_contain_text("Completed")


def test_a_bulk_retry_over_a_filter_shows_its_progress_and_its_result(
    server: Server, page: Page
) -> None:
    _failed(server, MANY)
    page.goto(f"{server.url}/instances")
    search = page.get_by_role("combobox", name="Search instances")
    search.fill("workflow:charge status:fa")
    search.press("ArrowDown")
    search.press("Enter")
    expect(search).to_have_value("workflow:charge status:failed ")
    search.press("Enter")
    expect(page).to_have_url(re.compile(r"\?q=workflow%3Acharge\+status%3Afailed$"))
    chips = page.get_by_role("list", name="Active filters")
    expect(chips.get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_text("CARD_DECLINED: the card was declined").first).to_be_visible()
    assert barriers(page) == []

    page.get_by_role("button", name="Act on all…").click()
    page.get_by_role("menuitem", name="Retry all that fit…").click()
    dialog = page.get_by_role("dialog")
    start = dialog.get_by_role("button", name=f"Retry {MANY} instances")
    expect(start).to_be_disabled()
    expect(dialog.get_by_role("list", name="Examples").get_by_role("listitem")).to_have_count(4)
    dialog.get_by_label("Reason").fill("the card service is back")
    dialog.get_by_label(f"Type {MANY} to confirm").fill(str(MANY))
    start.click()
    expect(page).to_have_url(re.compile(rf"/operations/[^/]+\?of={MANY}$"))
    expect(page.get_by_role("status").filter(has_text=f"{MANY} of {MANY}")).to_be_visible()
    expect(page.get_by_text("Everything that was matched is done.")).to_be_visible()
    assert barriers(page) == []
    audited = server.api("GET", "/audit?limit=100")["items"]
    assert "the card service is back" in [(each["after"] or {}).get("reason") for each in audited]
    page.get_by_role("link", name="Bulk operations").first.click()
    expect(page.get_by_role("row").filter(has_text="Retry instances")).to_contain_text(str(MANY))


def test_a_list_says_what_is_wrong_with_a_search_and_new_rows_wait_to_be_asked_for(
    server: Server, page: Page
) -> None:
    first = server.api("POST", "/workflows/order/start", {"input": {"orderId": "L1"}})
    page.goto(f"{server.url}/instances?q=colour:red")
    expect(page.get_by_text("colour is not a qualifier.")).to_be_visible()
    search = page.get_by_role("combobox", name="Search instances")
    search.fill("workflow:order status:cancelled")
    page.get_by_role("button", name="Remove status:cancelled").last.click()
    rows = page.get_by_role("row").filter(has_text="order@1")
    expect(rows.first).to_contain_text("payment.received")
    was = rows.count()
    server.api("POST", "/workflows/order/start", {"input": {"orderId": "L2"}})
    news = page.get_by_role("button", name="1 new")
    expect(news).to_be_visible()
    assert rows.count() == was
    news.click()
    expect(rows).to_have_count(was + 1)
    page.keyboard.press("j")
    expect(rows.first.get_by_role("link")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("1 selected")).to_be_hidden()
    # The beginning of an id is enough to open it.
    search.fill(first["instanceId"][:18])
    search.press("Enter")
    expect(page).to_have_url(f"{server.url}/instances/{first['instanceId']}")


def _failed(server: Server, count: int) -> None:
    """So many instances that have failed."""
    items = [{"workflowId": "charge", "input": {"orderId": str(each)}} for each in range(count)]
    started = server.api("POST", "/instances/batch", {"items": items})["results"]
    for each in started:
        ended = server.api("GET", f"/instances/{each['instanceId']}?wait=30")
        assert ended["status"] == "FAILED"


@pytest.mark.soak
def test_fifty_thousand_instances_scroll_from_the_first_to_the_last(
    serve: Serve, page: Page
) -> None:
    server = serve()
    tiny = {"steps": [{"stepId": "only", "type": "SET", "values": {"done": True}}]}
    server.api("PUT", "/workflows/tiny", {"id": "tiny", **tiny})
    for _ in range(50):
        items = [{"workflowId": "tiny"} for _ in range(1_000)]
        server.api("POST", "/instances/batch", {"items": items})
    page.goto(f"{server.url}/instances")
    expect(page.get_by_role("row").nth(5)).to_be_visible()
    found: dict[str, Any] = page.evaluate(SCROLL, _PAGE * _ROW)
    print(found)
    soak_figures.add("browser", **{name: each for name, each in found.items() if name != "rows"})
    assert found["rows"] == "50,000 instances"
    assert found["drawn"] < 150, "only rows in sight are drawn"
