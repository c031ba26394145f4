"""Journeys of an operator: dead letters, keys, and a widget for a page elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import NewPage, Serve
from tests.ui.furnished import ADMIN_KEY, furnish, signed_in
from tests.ui.server import Server

pytestmark = pytest.mark.slow


def test_dead_letters_of_one_cause_are_retried_together(server: Server, page: Page) -> None:
    for number in range(5):
        body = {"input": {"orderId": f"A{number}"}}
        server.api("POST", "/workflows/charge/start?wait=20", body)
    page.goto(f"{server.url}/dead-letters")
    cause = page.get_by_role("row").filter(has_text="CARD_DECLINED")
    expect(cause).to_contain_text("5")
    cause.get_by_role("link").click()
    expect(page).to_have_url(re.compile("code=CARD_DECLINED"))
    expect(page.get_by_role("table", name="Dead letters").get_by_role("row")).to_have_count(6)
    page.get_by_role("button", name="Retry these").click()
    page.get_by_role("button", name="Retry 5 dead letters").click()
    expect(page.get_by_text("Done: 5 of 5 retried")).to_be_visible()
    # The card is declined again, so that there are new letters, with the input to be edited.
    letter = page.get_by_role("table", name="Dead letters").get_by_role("row").nth(1)
    letter.get_by_role("link").first.click()
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page).to_have_url(f"{server.url}/dead-letters")
    expect(page.get_by_role("row").filter(has_text="CARD_DECLINED")).to_contain_text("4")


def test_a_key_is_shown_once_and_revoked(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    page = new_page()
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}/keys")
    page.get_by_role("button", name="Create key").first.click()
    page.get_by_label("Name").fill("deploy")
    page.get_by_role("button", name="Create", exact=True).click()
    key = page.get_by_role("group", name="Key", exact=True).inner_text()
    assert server.api("GET", "/instances", authorization=f"Bearer {key}")["items"] == []
    page.get_by_role("button", name="I have copied it").click()
    page.get_by_role("button", name="Revoke deploy").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row").filter(has_text="deploy")).to_contain_text("Revoked")
    page.goto(f"{server.url}/audit?action=revoke_key")
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_text("lines are as they were written")).to_be_visible()
    page.get_by_role("button", name=re.compile("revoke_key")).first.click()
    expect(page.get_by_role("dialog")).to_contain_text("alsoRevoked")


# The browser writes an error for the page that may not be framed.
@pytest.mark.page_errors
def test_a_widget_is_shown_in_a_page_of_another_site_and_no_other_page_is(
    serve: Serve, new_page: NewPage, tmp_path: Path
) -> None:
    server = serve(key=ADMIN_KEY)
    things = furnish(server)
    page = new_page()
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}/instances/{things.waiting}/widget?type=text&path=input.orderId")
    expect(page.get_by_text("A1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Make a token").click()
    address = page.get_by_role("group", name="Address").inner_text()
    (tmp_path / "page.html").write_text(f'<iframe src="{address}" title="Widget"></iframe>')
    with _site(tmp_path) as url:
        elsewhere = new_page()
        elsewhere.goto(f"{url}/page.html")
        expect(elsewhere.frame_locator("iframe").get_by_text("A1", exact=True)).to_be_visible()
        # Only the page of the widget may be framed.
        (tmp_path / "page.html").write_text(f'<iframe src="{server.url}/keys"></iframe>')
        elsewhere.goto(f"{url}/page.html")
        expect(elsewhere.frame_locator("iframe").get_by_label("API key")).to_have_count(0)


@pytest.mark.page_errors
def test_a_widget_shows_a_value_as_it_changes(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    wait = {"stepId": "paid", "type": "EVENT_WAIT", "eventPattern": "told"}
    server.api(
        "PUT", "/workflows/told", {"id": "told", "steps": [{**wait, "outputVariable": "news"}]}
    )
    id = server.api("POST", "/workflows/told/start", {})["instanceId"]
    config = {"widgetType": "text", "widgetConfig": {"path": "news.payload.text"}}
    made = server.api("POST", f"/instances/{id}/widget-tokens", config)
    page = new_page()
    page.goto(f"{server.url}{made['path']}")
    expect(page.get_by_text("Waiting for the value")).to_be_visible()
    # It cannot look any more: the socket alone tells.
    page.route("**/api/v1/widgets/*", lambda route: route.abort())
    server.api("POST", "/events", {"pattern": "told", "payload": {"text": "it came"}})
    expect(page.get_by_text("it came", exact=True)).to_be_visible()


@contextmanager
def _site(folder: Path) -> Iterator[str]:
    """A site of another origin, which serves files."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        thread = Thread(target=site.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()
        thread.join()
