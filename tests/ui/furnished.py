"""A service with something of everything, for looking at all pages."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

from playwright.sync_api import Page, expect

from tests.ui.server import Server

ADMIN_KEY = "an-admin-key-of-a-journey-0123456789"
LONELY = {
    "id": "lonely",
    "steps": [{"stepId": "work", "type": "TASK", "taskId": "resize-image"}],
}


CALENDAR = {
    "timezone": "Europe/Berlin",
    "week": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
    "holidays": [{"country": "DE"}],
}


class Furnished(NamedTuple):
    """Ids of what was made."""

    waiting: str
    failed: str
    letter: str
    webhook: str
    subscription: str
    event: str

    @property
    def pages(self) -> tuple[str, ...]:
        """The paths of pages about one thing; those of lists are in the navigation."""
        return (
            "/dead-letters?view=all",
            f"/dead-letters/{quote(self.letter, safe='')}",
            f"/instances/{self.waiting}",
            f"/instances/{self.failed}",
            f"/instances/{self.waiting}/widget?type=text&path=input",
            f"/webhooks/{self.webhook}",
            f"/subscriptions/{self.subscription}",
            "/workflows/order",
            "/workflows/expense/start",
            f"/events/{self.event}",
            "/schedules/nightly",
            "/calendars/office?year=2026",
        )


def furnish(server: Server, *, note: Any = "by hand", name: str = "shop") -> Furnished:  # noqa: ANN401
    """Make something of everything; `note` is in inputs, errors and events, `name` in names."""

    def start(workflow: str, input: dict[str, Any], query: str = "") -> str:
        body = {"input": input, "correlationId": name}
        started = server.api("POST", f"/workflows/{workflow}/start{query}", body)
        return str(started["instanceId"])

    server.api("POST", "/workflows", LONELY)
    waiting = start("order", {"orderId": "A1", "note": note})
    failed = start("charge", {"orderId": "B0", "note": note}, "?wait=20")
    for number in range(1, 3):
        start("charge", {"orderId": f"B{number}", "note": note}, "?wait=20")
    start("expense", {"amount": 120, "note": note})
    start("lonely", {"note": note})
    # They hear of events that nothing publishes, so that no name is looked up.
    hook = {
        "url": "https://hooks.example.com/orders",
        "patterns": ["never.told"],
        "description": name,
    }
    webhook = server.api("POST", "/webhooks", hook)
    subscription = {
        "subscriberId": name,
        "callbackUrl": "https://hooks.example.com/told",
        "patterns": ["never.told"],
    }
    subscribed = server.api("POST", "/subscriptions", subscription)
    pushed = {
        "id": "score",
        "kind": "push",
        "url": "https://tasks.example.com/score",
        "description": name,
    }
    server.api("POST", "/tasks", pushed)
    dates = [{"date": "2026-12-24", "hours": ["09:00-12:00"], "name": name[:60]}]
    server.api("PUT", "/calendars/office", {**CALENDAR, "name": name, "dates": dates})
    nightly = {
        "name": name,
        "type": "recurring",
        "cron": "0 9 * * *",
        "timezone": "Europe/Berlin",
        "calendar": "office",
        "target": {"workflowId": "order"},
        "input": {"orderId": "N1", "note": note},
        "metadata": {"description": name},
    }
    server.api("PUT", "/schedules/nightly", nightly)
    server.api("POST", "/schedules/nightly/trigger", {})
    server.api("POST", "/schedules/nightly/pause", {"note": name})
    event = server.api("POST", "/events", {"pattern": "order.noted", "payload": {"note": note}})
    if server.key is not None:
        printable = "".join(filter(str.isprintable, name))[:100]
        server.api("POST", "/keys", {"name": printable, "role": "viewer"})
    letters = server.api("GET", "/dead-letters")["items"]
    return Furnished(
        waiting=waiting,
        failed=failed,
        letter=letters[0]["id"],
        webhook=webhook["id"],
        subscription=subscribed["id"],
        event=event["eventId"],
    )


def signed_in(page: Page, key: str) -> None:
    """The page's visitor has signed in with a key."""
    page.add_init_script(f"sessionStorage.setItem('tenuto.key', {key!r})")


def listed_pages(page: Page, server: Server) -> list[str]:
    """The paths of the navigation."""
    page.goto(server.url)
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    links.first.wait_for()
    return [str(link.get_attribute("href")) for link in links.all()]


def shown(page: Page) -> None:
    """Wait until a page shows its content, and not that it loads."""
    page.get_by_role("heading", level=1).first.wait_for()
    expect(page.locator("[role=status][aria-label^=Loading]")).to_have_count(0, timeout=20_000)
