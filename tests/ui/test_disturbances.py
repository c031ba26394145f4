"""What goes wrong while a page is shown: a stream that skips, refusals, a service that is away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.ui.conftest import PATIENCE, NewPage, Serve
from tests.ui.furnished import ADMIN_KEY, signed_in
from tests.ui.server import Server

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)
LOOK_EVERY = 10
"""Milliseconds."""


def _until(page: Page, happens: Callable[[], bool], what: str) -> None:
    """Wait for what the handlers of this test see, and fail where it does not come."""
    for _ in range(PATIENCE // LOOK_EVERY):
        if happens():
            return
        page.wait_for_timeout(LOOK_EVERY)
    pytest.fail(f"{what}: not in {PATIENCE} ms")


def _waits(*names: str) -> list[dict[str, object]]:
    steps: list[dict[str, object]] = [
        {"stepId": name, "type": "EVENT_WAIT", "eventPattern": f"skip.{name}"} for name in names
    ]
    for step, after in zip(steps, names[1:], strict=False):
        step["transitions"] = {"default": after}
    return steps


def test_a_page_reads_what_a_stream_has_skipped(server: Server, page: Page) -> None:
    steps = _waits("first", "second", "third")
    server.api("PUT", "/workflows/skipped", {"id": "skipped", "steps": steps})
    id = server.api("POST", "/workflows/skipped/start", {})["instanceId"]
    skips = [False]
    dropped: list[str] = []

    def skipping(socket: WebSocketRoute) -> None:
        service = socket.connect_to_server()

        def passed(message: str | bytes) -> None:
            if skips[0] and "workflow_" in str(message):
                dropped.append(str(message))
            else:
                socket.send(message)

        service.on_message(passed)

    page.route_web_socket("**/ws", skipping)
    page.goto(f"{server.url}/instances/{id}?tab=log")
    log = page.get_by_role("group", name="Log entries, newest first")
    expect(log.get_by_text("skip.first")).to_be_visible()
    expect(page.get_by_role("button", name="Connection:")).to_contain_text("Live")
    skips[0] = True
    server.api("POST", "/events", {"pattern": "skip.first", "payload": {}})
    # A socket of another kind of message tells that the page was there meanwhile.
    _until(page, lambda: any("WAITING" in each for each in dropped), "the page is told")
    skips[0] = False
    server.api("POST", "/events", {"pattern": "skip.second", "payload": {}})
    expect(log.get_by_text("skip.third")).to_be_visible()
    expect(log.get_by_text("skip.second")).to_be_visible()
    entries = server.api("GET", f"/instances/{id}/history")["items"]
    expect(page.get_by_role("tab", name=f"Log {len(entries)}")).to_be_visible()
    expect(log.get_by_role("listitem")).to_have_count(len(entries))
    assert dropped


@pytest.mark.page_errors
def test_a_page_reads_again_what_it_was_refused_for_a_while(server: Server, page: Page) -> None:
    server.api("PUT", "/workflows/refused", {"id": "refused", "steps": _waits("first", "second")})
    id = server.api("POST", "/workflows/refused/start", {})["instanceId"]
    page.goto(f"{server.url}/instances/{id}?tab=log")
    log = page.get_by_role("group", name="Log entries, newest first")
    expect(log.get_by_text("skip.first")).to_be_visible()
    expect(page.get_by_role("button", name="Connection:")).to_contain_text("Live")
    refused: list[str] = []

    def away(route: Route) -> None:
        if len(refused) >= 2:
            return route.continue_()
        refused.append(route.request.url)
        problem = {
            "status": 503,
            "title": "Not now",
            "code": "TEN-4001",
            "detail": "The store is away.",
        }
        headers = {"retry-after": "1"}
        media = "application/problem+json"
        return route.fulfill(
            status=503, headers=headers, content_type=media, body=json.dumps(problem)
        )

    page.route("**/history?*", away)
    server.api("POST", "/events", {"pattern": "skip.first", "payload": {}})
    # Nothing more happens to it, so that no message is a reason to read.
    expect(log.get_by_text("skip.second")).to_be_visible()
    assert len(refused) == 2


@pytest.mark.page_errors
def test_a_refusal_stands_where_it_was_asked_and_nothing_else_is_lost(
    serve: Serve, new_page: NewPage
) -> None:
    server = serve(key=ADMIN_KEY)
    _says_what_a_viewer_lacks(server, new_page())
    id = server.api("POST", "/workflows/order/start", {"input": {"orderId": "A1"}})["instanceId"]
    operator = server.api("POST", "/keys", {"name": "op", "role": "operator"})
    page = new_page()
    signed_in(page, operator["key"])
    page.goto(f"{server.url}/instances/{id}?step=paid")
    expect(page.get_by_role("complementary", name="Selection")).to_contain_text("paid")

    def forbidden(route: Route) -> None:
        """As a proxy with rules of its own, or a service whose permissions are others by now."""
        problem = {
            "status": 403,
            "title": "Not permitted",
            "code": "TEN-5002",
            "detail": "op lacks instances:control",
            "advice": "Ask an admin for it.",
        }
        route.fulfill(status=403, content_type="application/problem+json", body=json.dumps(problem))

    page.route("**/pause", forbidden)
    page.get_by_role("button", name=re.compile("^Pause")).first.click()
    dialog = page.get_by_role("dialog", name="Pause this instance")
    dialog.get_by_label("Reason").fill("to look at it")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("TEN-5002")
    expect(dialog.get_by_role("alert")).to_contain_text("Ask an admin for it.")
    expect(dialog.get_by_label("Reason")).to_have_value("to look at it")
    dialog.get_by_role("button", name="Keep it running").click()
    # A key that ends meanwhile is asked for again, and the page is as it was.
    server.api("DELETE", f"/keys/{operator['id']}")
    again = page.get_by_role("dialog", name="Sign in again")
    expect(again).to_be_visible()
    again.get_by_label("API key").fill(ADMIN_KEY)
    again.get_by_role("button", name="Sign in").click()
    expect(again).to_be_hidden()
    expect(page).to_have_url(f"{server.url}/instances/{id}?step=paid")
    expect(page.get_by_role("complementary", name="Selection")).to_contain_text("paid")
    page.unroute("**/pause")
    # It is live again, with the new key.
    paid = {"pattern": "payment.received", "payload": {"orderId": "A1"}}
    server.api("POST", "/events", paid)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Completed")


@pytest.mark.page_errors
@pytest.mark.parametrize("delayed", ["record", "history", "socket"])
def test_a_page_comes_to_the_truth_though_one_way_to_it_is_lost(
    serve: Serve, new_page: NewPage, delayed: str
) -> None:
    """Of a page that signs in again, one way to learn of news never answers; the others do."""
    server = serve(key=ADMIN_KEY)
    id = server.api("POST", "/workflows/order/start", {"input": {"orderId": "A1"}})["instanceId"]
    operator = server.api("POST", "/keys", {"name": "op", "role": "operator"})
    page = new_page()
    signed_in(page, operator["key"])
    is_lost = False
    lost: list[object] = []

    def hold(route: Route) -> None:
        if is_lost:
            lost.append(route)
        else:
            route.continue_()

    def silent(socket: WebSocketRoute) -> None:
        if is_lost:
            lost.append(socket)
            return
        service = socket.connect_to_server()
        service.on_message(lambda message: None if is_lost else socket.send(message))

    if delayed == "socket":
        page.route_web_socket("**/ws", silent)
    else:
        page.route(re.compile(f"/{id}$" if delayed == "record" else "/history"), hold)
    page.goto(f"{server.url}/instances/{id}")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Waiting for event")
    expect(page.get_by_role("button", name="Connection:")).to_contain_text("Live")
    is_lost = True
    server.api("DELETE", f"/keys/{operator['id']}")
    again = page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("API key").fill(ADMIN_KEY)
    again.get_by_role("button", name="Sign in").click()
    expect(again).to_be_hidden()
    if delayed != "history":
        _until(page, lambda: bool(lost), f"the way by the {delayed} is tried")
    paid = {"pattern": "payment.received", "payload": {"orderId": "A1"}}
    server.api("POST", "/events", paid)
    expect(heading).to_contain_text("Completed")


def _says_what_a_viewer_lacks(server: Server, page: Page) -> None:
    viewer = server.api("POST", "/keys", {"name": "eyes", "role": "viewer"})
    signed_in(page, viewer["key"])
    for path, permission in (
        ("/keys", "keys:manage"),
        ("/events/publish", "events:publish"),
        ("/workflows/order/start", "instances:start"),
    ):
        page.goto(f"{server.url}{path}")
        expect(page.get_by_role("main")).to_contain_text(permission)
        expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)


def test_an_event_that_comes_in_is_listed_at_once(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/events")
    expect(page.get_by_role("button", name="Connection:")).to_contain_text("Live")
    page.get_by_role("heading", name="Events", exact=True).wait_for()
    # With a socket the list is read every 30 seconds, which is longer than this waits.
    server.api("POST", "/events", {"pattern": "news.came", "payload": {}})
    expect(page.get_by_role("link", name="news.came")).to_be_visible()
