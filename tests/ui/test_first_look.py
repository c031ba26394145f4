"""The first look: a person opens the address that the terminal shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.ui.barriers import barriers
from tests.ui.server import Server

pytestmark = pytest.mark.slow


def test_a_started_instance_is_in_the_list(server: Server, page: Page) -> None:
    started = server.api("POST", "/workflows/order/start", {"input": {"orderId": "A1"}})
    page.goto(f"{server.url}/instances")
    row = page.locator(f'a[href*="{started["instanceId"]}"]').first
    expect(row).to_be_visible()
    expect(page.get_by_text("order").first).to_be_visible()
    assert barriers(page) == []
    row.click()
    expect(page).to_have_url(f"{server.url}/instances/{started['instanceId']}")
    page.reload()
    expect(page).to_have_url(f"{server.url}/instances/{started['instanceId']}")
