"""The frame around every page: connection, keys and palette."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.ui.conftest import PATIENCE, Serve
from tests.ui.server import Server

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)


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
    page.get_by_role("button", name="1 new").click()
    expect(page.locator(f'a[href$="{second}"]')).to_be_visible()


@pytest.mark.page_errors
def test_a_page_without_a_socket_says_that_it_polls(server: Server, page: Page) -> None:
    def closed(socket: WebSocketRoute) -> None:
        socket.close(code=1011, reason="the proxy knows no sockets")

    page.route_web_socket("**/ws", closed)
    started(server, "B0")
    page.goto(f"{server.url}/instances")
    expect(page.get_by_role("button", name="Connection:")).to_contain_text("Polling every 3 s")
    later = started(server, "B1")
    page.get_by_role("button", name="1 new").click()
    expect(page.locator(f'a[href$="{later}"]')).to_be_visible()


@pytest.mark.page_errors
def test_a_service_that_is_away_at_first_is_shown_once_it_is_there(
    server: Server, page: Page
) -> None:
    page.goto(f"{server.url}/instances")
    expect(page.get_by_role("heading", name="Instances")).to_be_visible()
    page.route("**/api/v1/me", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    page.unroute("**/api/v1/me")
    expect(page.get_by_role("heading", name="Instances")).to_be_visible()


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
    page.get_by_role("combobox", name="Go to or do").fill(id)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/instances/{id}")
