"""Names, inputs, errors and logs are text everywhere, whatever they contain."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.ui.conftest import NewPage, Serve
from tests.ui.furnished import ADMIN_KEY, furnish, listed_pages, shown, signed_in

pytestmark = pytest.mark.slow

MARKUP = (
    "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
    "<a href='javascript:window.harmed = 1'>here</a>{{7*7}}${7*7}"
)
TURNED = "\u202egnp.exe\u2066 hidden\u2069"
LONG = "x" * 1_000_000


def _harm(page: Page) -> object:
    return page.evaluate(
        "[window.harmed, document.querySelectorAll('main img, main script, main iframe').length,"
        " document.querySelectorAll('a[href^=javascript]').length,"
        " document.documentElement.scrollWidth > window.innerWidth]"
    )


def test_hostile_text_is_text_on_every_page(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    name = f"{MARKUP}{TURNED}"[:190]
    things = furnish(server, note=[MARKUP, TURNED, {MARKUP: TURNED}], name=name)
    page = new_page()
    signed_in(page, ADMIN_KEY)
    for path in [*listed_pages(page, server), *things.pages]:
        page.goto(f"{server.url}{path}")
        shown(page)
        assert _harm(page) == [None, 0, 0, False], path
    page.goto(f"{server.url}{things.pages[1]}")
    page.get_by_role("group", name="Input").get_by_text("<script>").first.wait_for()
    # What turns the direction of text is spelled out in values.
    page.get_by_role("group", name="Input").get_by_text("\\u202e").first.wait_for()


def test_a_value_of_a_megabyte_is_shown_in_part(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    things = furnish(server, note=LONG[:900_000])
    page = new_page()
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}{things.pages[1]}")
    page.get_by_role("button", name="all 879 KB").first.wait_for()
    assert page.evaluate("document.body.innerText.length") < 50_000
    config = {"widgetType": "text", "widgetConfig": {"path": "input.note"}}
    made = server.api("POST", f"/instances/{things.waiting}/widget-tokens", config)
    page.goto(f"{server.url}{made['path']}")
    page.get_by_text("xxxxx").wait_for()
    assert page.evaluate("document.body.innerText.length") < 50_000
