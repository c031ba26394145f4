"""The frame around every page: connection, keys, palette, and a key that ends meanwhile."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.ui.conftest import Serve
from tests.ui.server import Server

pytestmark = pytest.mark.slow

ADMIN = "admin-key-of-the-frame-0123456789abcdef"


def started(server: Server, order: str) -> str:
    answer = server.api("POST", "/workflows/order/start", {"input": {"orderId": order}})
    return str(answer["instanceId"])


@pytest.mark.page_errors
def test_a_service_that_dies_is_said_and_the_page_recovers_by_itself(
    serve: Serve, page: Page
) -> None:
    server = serve()
    first = started(server, "A1")
    page.goto(f"{server.url}/instances")
    pill = page.get_by_role("button", name="Connection:")
    row = page.locator(f'a[href$="{first}"]')
    expect(row).to_be_visible()
    expect(pill).to_contain_text("Live")
    server.kill()
    expect(pill).to_contain_text("Offline since")
    expect(row).to_be_visible()
    server.start()
    expect(pill).to_contain_text("Live")
    second = started(server, "A2")
    expect(page.locator(f'a[href$="{second}"]')).to_be_visible()


@pytest.mark.page_errors
def test_a_page_without_a_socket_says_that_it_polls(server: Server, page: Page) -> None:
    def closed(socket: WebSocketRoute) -> None:
        socket.close(code=1011, reason="the proxy knows no sockets")

    page.route_web_socket("**/ws", closed)
    page.goto(f"{server.url}/instances")
    expect(page.get_by_role("button", name="Connection:")).to_contain_text("Polling every 3 s")
    later = started(server, "B1")
    expect(page.locator(f'a[href$="{later}"]')).to_be_visible()


@pytest.mark.page_errors
def test_a_service_that_is_away_at_first_is_shown_once_it_is_there(
    serve: Serve, page: Page
) -> None:
    server = serve()
    page.goto(f"{server.url}/instances")
    expect(page.get_by_role("heading", name="Instances")).to_be_visible()
    page.route("**/api/v1/me", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    page.unroute("**/api/v1/me")
    expect(page.get_by_role("heading", name="Instances")).to_be_visible()


@pytest.mark.page_errors
def test_a_key_that_is_revoked_asks_again_and_leaves_the_page_as_it_is(
    serve: Serve, page: Page
) -> None:
    server = serve(key=ADMIN)
    started(server, "A1")
    made = server.api("POST", "/keys", {"name": "visitor", "role": "viewer"})
    page.goto(f"{server.url}/instances?status=WAITING_FOR_EVENT")
    field = page.get_by_label("API key")
    field.fill("not-a-key")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("TEN-5")
    field.fill(made["key"])
    field.press("Enter")
    expect(page.get_by_role("table", name="Instances")).to_be_visible()
    server.api("DELETE", f"/keys/{made['id']}")
    again = page.get_by_role("dialog", name="Sign in again")
    expect(again).to_be_visible()
    expect(page).to_have_url(f"{server.url}/instances?status=WAITING_FOR_EVENT")
    again.get_by_label("API key").fill(ADMIN)
    again.get_by_role("button", name="Sign in").click()
    expect(again).to_be_hidden()
    expect(page.get_by_role("table", name="Instances")).to_be_visible()
    stored = page.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
    assert ADMIN not in stored
    assert made["key"] not in stored


def test_keys_and_the_palette_lead_to_pages_and_instances(server: Server, page: Page) -> None:
    id = started(server, "C1")
    page.goto(f"{server.url}/nowhere")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page).to_have_url(f"{server.url}/instances")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Go to Instances")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(id)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/instances/{id}")
