"""Pictures of the main pages, for the README and the documentation: `make screenshots`.

All of them go to build/screenshots; the few that pages use are copied to docs/images.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, sync_playwright

from tests.ui.browser import environment, executable
from tests.ui.furnished import ADMIN_KEY, Furnished, furnish, listed_pages, shown, signed_in
from tests.ui.server import Server, running

PICTURES = Path("build", "screenshots")
USED = Path("docs", "images")
KEPT = ("instance-light", "instance-dark", "dead-letters-light", "approvals-phone")
"""Those that the README and pages of the documentation show."""
DESK, PHONE = (1280, 800), (390, 844)


def main() -> None:
    """Start a service with something of everything, and photograph its pages."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), key=ADMIN_KEY) as server,
        sync_playwright() as playwright,
    ):
        things = furnish(server)
        browser = playwright.chromium.launch(
            executable_path=executable(),
            env={**environment()},
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        for theme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": DESK[0], "height": DESK[1]},
                color_scheme=theme,
                reduced_motion="reduce",
            )
            signed_in(page, ADMIN_KEY)
            for name, path in _places(page, server, things).items():
                _photograph(page, server, path, f"{name}-{theme}")
            page.close()
        page = browser.new_page(
            viewport={"width": PHONE[0], "height": PHONE[1]}, reduced_motion="reduce"
        )
        signed_in(page, ADMIN_KEY)
        for name in ("instance", "approvals", "dead-letters", "schedule", "calendar"):
            _photograph(page, server, _named(things)[name], f"{name}-phone")
        browser.close()
    USED.mkdir(exist_ok=True)
    for name in KEPT:
        shutil.copy(PICTURES / f"{name}.png", USED)
    size = sum(each.stat().st_size for each in USED.glob("*.png"))
    sys.stdout.write(
        f"{PICTURES}: {len(list(PICTURES.iterdir()))} pictures; {USED}: {size:,} bytes\n"
    )


def _named(things: Furnished) -> dict[str, str]:
    """Pages about one thing, and those that a phone shows, by the name of their picture."""
    return {
        "dead-letters": "/dead-letters",
        "dead-letter": things.pages[1],
        "approvals": "/approvals",
        "instance": f"/instances/{things.waiting}",
        "instance-failed": f"/instances/{things.failed}",
        "widget": f"/instances/{things.waiting}/widget?type=table&path=input",
        "webhook": f"/webhooks/{things.webhook}",
        "workflow": "/workflows/order",
        "schedule": "/schedules/nightly",
        "calendar": "/calendars/office?year=2026",
        "start": "/workflows/expense/start",
    }


def _places(page: Page, server: Server, things: Furnished) -> dict[str, str]:
    listed = {path.strip("/") or "home": path for path in listed_pages(page, server)}
    return {**listed, **_named(things)}


def _photograph(
    page: Page, server: Server, path: str, name: str, type: Literal["png"] = "png"
) -> None:
    page.goto(f"{server.url}{path}")
    shown(page)
    page.wait_for_timeout(400)
    page.screenshot(path=PICTURES / f"{name}.{type}", type=type)


if __name__ == "__main__":
    main()
