"""Signing in: who may see what, and no control that would be refused."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Serve
from tests.ui.furnished import ADMIN_KEY, furnish
from tests.ui.identity_provider import AUDIENCE, CLIENT, provided

pytestmark = pytest.mark.slow

CHANGES = re.compile(
    "retry|discard|decide|create|revoke|cancel|pause|remove|enable|resend", re.IGNORECASE
)


# The browser itself writes an error for the answer that refuses the wrong key.
@pytest.mark.page_errors
def test_a_viewer_signs_in_and_sees_no_control_that_would_be_refused(
    serve: Serve, page: Page
) -> None:
    server = serve(key=ADMIN_KEY)
    things = furnish(server)
    viewer = server.api("POST", "/keys", {"name": "eyes", "role": "viewer"})
    page.goto(f"{server.url}/dead-letters")
    field = page.get_by_label("API key")
    field.fill("tnt_wrong_key")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("TEN-5")
    field.fill(viewer["key"])
    field.press("Enter")
    expect(page.get_by_role("heading", name="Dead letters")).to_be_visible()
    expect(page.get_by_text("CARD_DECLINED").first).to_be_visible()
    links = page.get_by_role("navigation", name="Pages")
    expect(links.get_by_role("link", name="API keys")).to_have_count(0)
    for path in (
        "/dead-letters",
        things.pages[1],
        "/approvals?show=all",
        f"/webhooks/{things.webhook}",
    ):
        page.goto(f"{server.url}{path}")
        page.get_by_role("heading", level=1).first.wait_for()
        expect(page.get_by_role("main").get_by_role("button", name=CHANGES)).to_have_count(0)
    page.goto(f"{server.url}/keys")
    expect(page.get_by_role("main")).to_contain_text("keys:manage")
    # A key that ends in the middle of a session is asked for again, in the same place.
    page.goto(f"{server.url}/dead-letters?view=all")
    expect(page.get_by_role("table", name="Dead letters")).to_be_visible()
    server.api("DELETE", f"/keys/{viewer['id']}")
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog).to_be_visible()
    dialog.get_by_label("API key").fill(ADMIN_KEY)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_be_hidden()
    expect(page).to_have_url(f"{server.url}/dead-letters?view=all")
    expect(page.get_by_role("button", name="Retry all")).to_be_visible()
    kept = page.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
    assert ADMIN_KEY not in kept
    assert viewer["key"] not in kept


def test_a_provider_may_give_tokens_at_another_origin_than_its_own(
    serve: Serve, page: Page
) -> None:
    with provided() as provider:
        flags = ("--oidc-issuer", provider.issuer, "--oidc-audience", AUDIENCE, "--oidc-private")
        server = serve(*flags, "--set", f"oidc_client_id={CLIENT}")
        page.goto(f"{server.url}/workflows?q=order")
        page.get_by_role("button", name="Sign in at 127.0.0.1").click()
        expect(page.get_by_role("heading", name="Workflows")).to_be_visible()
        expect(page).to_have_url(f"{server.url}/workflows?q=order")
