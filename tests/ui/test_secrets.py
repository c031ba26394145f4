"""Secrets in the web UI: added, replaced and removed; a value is typed and never shown again."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.ui.barriers import barriers
from tests.ui.conftest import PATIENCE
from tests.ui.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.page_errors]
expect.set_options(timeout=PATIENCE)

VALUE = "sk-live-51Hxyz"
PAY = {
    "id": "pay",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "pay", "input": {"key": "{{secrets.PAY_KEY}}"}}
    ],
}


def test_a_secret_is_added_replaced_and_removed_and_its_value_is_never_shown(
    server: Server, page: Page
) -> None:
    answers: list[str] = []
    page.on("response", lambda each: answers.append(each.url))
    page.goto(f"{server.url}/secrets")
    expect(page.get_by_role("heading", name="There is no secret")).to_be_visible()
    page.get_by_role("button", name="Add secret").first.click()
    dialog = page.get_by_role("dialog", name="Add a secret")
    expect(dialog.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    dialog.get_by_label("Name").fill("PAY-KEY")
    dialog.get_by_label("Value").fill(VALUE)
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_text("TEN-2760: it is not a name")).to_be_visible()
    dialog.get_by_label("Name").fill("PAY_KEY")
    dialog.get_by_label("Sent only to").fill("api.example.com")
    assert barriers(page) == []
    dialog.get_by_role("button", name="Add", exact=True).click()
    row = page.get_by_role("row", name="PAY_KEY")
    expect(row).to_contain_text("api.example.com")
    server.api("PUT", "/workflows/pay", PAY)
    page.reload()
    expect(row).to_contain_text("pay")
    row.get_by_role("button", name="Replace PAY_KEY").click()
    dialog = page.get_by_role("dialog", name="Replace PAY_KEY")
    expect(dialog.get_by_label("Value")).to_have_value("")
    dialog.get_by_label("Value").fill("another value")
    dialog.get_by_role("button", name="Replace", exact=True).click()
    expect(dialog).to_be_hidden()
    assert VALUE not in page.content()
    row.get_by_role("button", name="Remove PAY_KEY").click()
    dialog = page.get_by_role("dialog", name="Remove PAY_KEY")
    expect(dialog).to_contain_text("It is used by pay")
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("heading", name="There is no secret")).to_be_visible()
    assert not any(VALUE in url for url in answers)
