"""No page keeps people from reading or using it, neither light nor dark."""

from __future__ import annotations

import pytest

from tests.ui.barriers import barriers
from tests.ui.conftest import NewPage, Serve
from tests.ui.furnished import ADMIN_KEY, furnish, listed_pages, shown, signed_in

pytestmark = pytest.mark.slow


def test_no_page_has_a_barrier(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    things = furnish(server)
    page = new_page()
    signed_in(page, ADMIN_KEY)
    found = {}
    for path in [*listed_pages(page, server), *things.pages, "/nowhere"]:
        page.goto(f"{server.url}{path}")
        shown(page)
        if problems := barriers(page):
            found[path, "light"] = problems
        # Another theme has the same elements in other colours.
        page.emulate_media(color_scheme="dark")
        if problems := barriers(page, only=["color-contrast"]):
            found[path, "dark"] = problems
        page.emulate_media(color_scheme="light")
    assert found == {}


def test_dialogs_and_the_page_of_a_widget_have_no_barrier(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    things = furnish(server)
    page = new_page(width=390, height=800)
    signed_in(page, ADMIN_KEY)
    found = {}
    for path, button in (
        ("/keys", "Create key"),
        ("/approvals", "Decide"),
        ("/dead-letters", "Retry all"),
        (things.pages[1], "Edit input and retry"),
    ):
        page.goto(f"{server.url}{path}")
        page.get_by_role("button", name=button).first.click()
        page.get_by_role("dialog").wait_for()
        shown(page)
        if problems := barriers(page):
            found[path] = problems
    config = {"widgetType": "table", "widgetConfig": {"path": "input"}}
    made = server.api("POST", f"/instances/{things.waiting}/widget-tokens", config)
    page.goto(f"{server.url}{made['path']}")
    page.get_by_role("table").wait_for()
    if problems := barriers(page):
        found["widget"] = problems
    assert found == {}
