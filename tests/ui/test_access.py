"""What each visitor reaches: below a path, as one tenant of two, and what is not as it was."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.conftest import PATIENCE, NewPage
from tests.ui.furnished import ADMIN_KEY, signed_in
from tests.ui.server import SAMPLES, Server, running

pytestmark = pytest.mark.slow
expect.set_options(timeout=PATIENCE)

BELOW = "/team/tenuto"
ORDER = json.loads((SAMPLES / "order.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Below a path, as behind a proxy that leaves the path as it is."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    flags = ("--port", port, "--set", f"public_url=http://127.0.0.1:{port}{BELOW}")
    with running(tmp_path_factory.mktemp("service"), *flags, key=ADMIN_KEY) as started:
        yield started


def _started(server: Server, **headers: str) -> str:
    answer = server.api("POST", "/workflows/order/start", {"input": {"orderId": "A1"}}, **headers)
    return str(answer["instanceId"])


@pytest.mark.page_errors
def test_two_tenants_below_a_path_each_see_only_their_own(
    server: Server, new_page: NewPage
) -> None:
    ids, keys = {}, {}
    for tenant in ("north", "south"):
        server.api("PUT", "/workflows/order", ORDER, Tenuto_Tenant=tenant)
        ids[tenant] = _started(server, Tenuto_Tenant=tenant)
        made = server.api(
            "POST", "/keys", {"name": tenant, "role": "operator"}, Tenuto_Tenant=tenant
        )
        keys[tenant] = made["key"]
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    signed_in(page, keys["north"])
    page.goto(f"{server.url}{BELOW}/instances")
    expect(page.locator(f'a[href="{BELOW}/instances/{ids["north"]}"]')).to_be_visible()
    expect(page.get_by_role("button", name="Connection:")).to_contain_text("Live")
    # Of two starts, that of the other tenant first, the page hears of its own alone.
    _started(server, Tenuto_Tenant="south")
    own = _started(server, Tenuto_Tenant="north")
    page.get_by_role("button", name="1 new").click()
    page.locator(f'a[href="{BELOW}/instances/{own}"]').click()
    expect(page).to_have_url(f"{server.url}{BELOW}/instances/{own}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Waiting")
    assert all(url.startswith(f"{server.url}{BELOW}/") for url in asked), asked
    # A deep link works, and one of the other tenant leads to nothing.
    page.goto(f"{server.url}{BELOW}/instances/{ids['south']}?tab=log")
    expect(page.get_by_role("heading", name="There is no such instance")).to_be_visible()
    expect(page.get_by_text("TEN-3001")).to_be_visible()
    page.goto(f"{server.url}{BELOW}/keys")
    expect(page.get_by_role("main")).to_contain_text("needs the permission keys:manage")


@pytest.mark.page_errors
def test_an_instance_that_is_erased_while_it_is_shown_is_said_to_be_gone(
    server: Server, page: Page
) -> None:
    run = server.api("POST", "/workflows/test", {**ORDER, "inputParams": {"orderId": "A1"}})
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}{BELOW}/instances/{run['instanceId']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Waiting")
    server.api("DELETE", f"/workflows/test/{run['instanceId']}")
    expect(page.get_by_role("heading", name="was erased while it was shown")).to_be_visible()


@pytest.mark.parametrize("hours", [-5, 5])
def test_the_clock_of_the_browser_makes_no_duration_negative(
    server: Server, page: Page, hours: int
) -> None:
    id = _started(server)
    signed_in(page, ADMIN_KEY)
    page.clock.install(time=datetime.now(UTC) + timedelta(hours=hours))
    page.goto(f"{server.url}{BELOW}/instances")
    expect(page.locator(f'a[href$="{id}"]')).to_be_visible()
    texts = [page.get_by_role("main").inner_text()]
    page.locator(f'a[href$="{id}"]').click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Waiting")
    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_role("main")).to_contain_text("reserve")
    texts.append(page.get_by_role("main").inner_text())
    assert not any("\N{MINUS SIGN}" in text or "NaN" in text for text in texts), texts


def test_a_step_of_a_type_that_the_page_does_not_know_is_drawn_neutrally(
    server: Server, page: Page
) -> None:
    def newer(route: Route) -> None:
        """The answer of a service of a later version, which knows another type of step."""
        answer = route.fetch()
        view: dict[str, Any] = answer.json()
        view["definition"]["steps"][1]["type"] = "QUANTUM_LEAP"
        route.fulfill(response=answer, json=view)

    page.route("**/api/v1/workflows/order", newer)
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}{BELOW}/workflows/order")
    page.get_by_role("button", name="Show as outline").click()
    outline = page.get_by_role("list", name="The steps of order")
    expect(outline).to_contain_text("QUANTUM_LEAP")
    expect(outline.get_by_role("listitem")).to_have_count(3)
