"""Journeys of an operator: dead letters, keys, and a widget for a page elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import PATIENCE, NewPage, Serve
from tests.ui.furnished import ADMIN_KEY, furnish, signed_in
from tests.ui.server import Server

pytestmark = pytest.mark.slow


def test_dead_letters_of_one_cause_are_retried_together(server: Server, page: Page) -> None:
    for number in range(5):
        body = {"input": {"orderId": f"A{number}"}}
        server.api("POST", "/workflows/charge/start?wait=20", body)
    page.goto(f"{server.url}/dead-letters")
    cause = page.get_by_role("row").filter(has_text="CARD_DECLINED")
    expect(cause).to_contain_text("5")
    cause.get_by_role("link").click()
    expect(page).to_have_url(re.compile("code=CARD_DECLINED"))
    expect(page.get_by_role("table", name="Dead letters").get_by_role("row")).to_have_count(6)
    page.get_by_role("button", name="Retry these").click()
    page.get_by_role("button", name="Retry 5 dead letters").click()
    expect(page.get_by_text("Done: 5 of 5 retried")).to_be_visible()
    # The card is declined again, so that there are new letters, with the input to be edited.
    letter = page.get_by_role("table", name="Dead letters").get_by_role("row").nth(1)
    letter.get_by_role("link").first.click()
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page).to_have_url(f"{server.url}/dead-letters")
    expect(page.get_by_role("row").filter(has_text="CARD_DECLINED")).to_contain_text("4")


def test_a_key_is_shown_once_and_revoked(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    page = new_page()
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}/keys")
    page.get_by_role("button", name="Create key").first.click()
    page.get_by_label("Name").fill("deploy")
    page.get_by_role("button", name="Create", exact=True).click()
    key = page.get_by_role("group", name="Key", exact=True).inner_text()
    assert server.api("GET", "/instances", authorization=f"Bearer {key}")["items"] == []
    page.get_by_role("button", name="I have copied it").click()
    page.get_by_role("button", name="Revoke deploy").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row").filter(has_text="deploy")).to_contain_text("Revoked")
    page.goto(f"{server.url}/audit?action=revoke_key")
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_text("lines are as they were written")).to_be_visible()
    page.get_by_role("button", name=re.compile("revoke_key")).first.click()
    expect(page.get_by_role("dialog")).to_contain_text("alsoRevoked")


# The browser writes an error for the change that another one came before.
@pytest.mark.page_errors
def test_a_limit_is_raised_once_its_effect_is_seen_and_the_queue_moves(
    server: Server, page: Page
) -> None:
    step = {"stepId": "told", "type": "EVENT_WAIT", "eventPattern": "import.told"}
    options = {"concurrency": {"limit": 100, "holdWhileWaiting": True}}
    server.api("PUT", "/workflows/import", {"id": "import", "steps": [step], "options": options})
    server.api("PUT", "/concurrency", {"workflowTypeLimits": {"import": 1}})
    started = [server.api("POST", "/workflows/import/start", {}) for _ in range(4)]
    [holder, first, _, last] = [each["instanceId"] for each in started]
    page.goto(f"{server.url}/queue")
    limits = page.get_by_role("region", name="Limits")
    expect(limits.get_by_role("meter", name="Workflow import")).to_have_attribute(
        "aria-valuetext", "1 of 1, 3 wait"
    )
    expect(limits.get_by_role("link", name=holder[:13])).to_be_visible()
    rows = page.get_by_role("table", name="Queue").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("Workflow import 1 of 1")
    page.get_by_role("button", name=f"Promote {last}").click()
    expect(rows.nth(1)).to_contain_text("promoted")
    page.get_by_role("button", name=f"Hold {first}").click()
    expect(rows.filter(has_text="On hold")).to_have_count(1)
    # What a change would do is said before it is saved; a change of others is not overwritten.
    page.get_by_role("button", name="Change limits").click()
    page.get_by_label("Limit of import").fill("2")
    effect = page.get_by_role("region", name="What it would do")
    expect(effect).to_contain_text("1 instance would begin at once, and 1 would still wait.")
    server.api("PUT", "/concurrency", {"workflowTypeLimits": {"import": 1, "other": 9}})
    page.get_by_role("button", name="Save").click()
    expect(effect).to_contain_text("Workflow other: 9, was none")
    page.get_by_role("button", name="Keep my edits on top").click()
    expect(page.get_by_label("Limit of other")).to_have_value("9")
    page.get_by_role("button", name="Save").click()
    expect(rows).to_have_count(3)
    page.get_by_role("button", name=f"Release {first}").click()
    expect(rows.filter(has_text="On hold")).to_have_count(0)
    for id in (holder, last):
        server.api("POST", f"/instances/{id}/cancel", {})
    expect(page.get_by_text("No instance waits for a slot")).to_be_visible(timeout=PATIENCE)
    server.api("PUT", "/concurrency", {})


def test_limits_that_are_waited_for_come_first_and_long_names_stay_in_their_places(
    server: Server, page: Page
) -> None:
    name = "statement-of-a-customer-with-all-of-its-attachments-and-pictures"
    step = {"stepId": "told", "type": "EVENT_WAIT", "eventPattern": "statement.told"}
    server.api("PUT", f"/workflows/{name}", {"id": name, "steps": [step]})
    server.api("PUT", "/concurrency", {"globalMaxConcurrent": 9, "workflowTypeLimits": {name: 0}})
    started = server.api("POST", f"/workflows/{name}/start", {})
    page.goto(f"{server.url}/queue")
    limits = page.get_by_role("region", name="Limits")
    expect(limits.get_by_role("listitem").first).to_contain_text(f"Workflow {name}")
    assert limits.evaluate("each => each.scrollWidth <= each.clientWidth")
    server.api("POST", f"/instances/{started['instanceId']}/cancel", {})
    server.api("PUT", "/concurrency", {})


def test_the_queue_names_steps_that_wait_for_a_mutex_and_a_limit_that_is_not_saved_says_why(
    server: Server, page: Page
) -> None:
    step = {"stepId": "print", "type": "SUB_WORKFLOW", "workflowId": "printed", "mutex": "printer"}
    below = {"stepId": "told", "type": "EVENT_WAIT", "eventPattern": "printed.told"}
    server.api("PUT", "/workflows/printed", {"id": "printed", "steps": [below]})
    server.api("PUT", "/workflows/labels", {"id": "labels", "steps": [step]})
    started = [server.api("POST", "/workflows/labels/start", {}) for _ in range(4)]
    [holder, first, *_] = [each["instanceId"] for each in started]
    page.goto(f"{server.url}/queue")
    mutex = page.get_by_role("region", name="Limits").get_by_role("listitem")
    expect(mutex).to_contain_text("Mutex printer1 of 1, 3 wait", timeout=PATIENCE)
    expect(mutex.get_by_role("link", name=holder[:13])).to_be_visible()
    expect(mutex.get_by_role("link", name=first[:13])).to_be_visible()
    expect(page.get_by_text("3 steps wait for a mutex.")).to_be_visible()
    expect(page.get_by_text("Every limit has room")).to_have_count(0)
    page.get_by_role("button", name="Change limits").click()
    page.get_by_role("button", name="Add workflow").click()
    page.get_by_label("Limit of workflow 1").fill("2")
    name = page.get_by_label("Workflows: name 1")
    expect(name).to_have_accessible_description("Give a name, or * for each one that is not named.")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    name.fill("labels")
    expect(page.get_by_role("button", name="Save")).to_be_enabled()
    page.keyboard.press("Escape")
    for each in started:
        server.api("POST", f"/instances/{each['instanceId']}/cancel", {})


# The browser writes an error for the rule that is refused.
@pytest.mark.page_errors
def test_a_rule_is_saved_once_its_effect_is_seen_and_the_limit_of_all_may_follow_the_load(
    server: Server, page: Page
) -> None:
    step = {"stepId": "told", "type": "EVENT_WAIT", "eventPattern": "ruled.told"}
    server.api("PUT", "/workflows/ruled", {"id": "ruled", "steps": [step]})
    server.api("PUT", "/concurrency", {"workflowTypeLimits": {"ruled": 0}})
    for tier in ("gold", "none"):
        server.api("POST", "/workflows/ruled/start", {"input": {"tier": tier}})
    page.goto(f"{server.url}/queue")
    rows = page.get_by_role("table", name="Queue").get_by_role("row")
    expect(rows).to_have_count(3)
    page.keyboard.press("r")
    page.get_by_role("button", name="Add rule").click()
    form = page.get_by_role("form", name="New rule")
    effect = form.get_by_role("region", name="What it would do")
    form.get_by_label("When").fill("workflow === 'ruled'")
    form.get_by_label("Hold them back").check()
    expect(form.get_by_label("When")).to_have_accessible_description(
        re.compile("workflow is an object")
    )
    expect(form.get_by_role("button", name="Save rule")).to_be_disabled()
    form.get_by_label("When").fill("workflow.id === 'ruled'")
    expect(form.get_by_label("It matches everything")).to_be_visible()
    expect(form.get_by_role("button", name="Save rule")).to_be_disabled()
    form.get_by_label("When").fill("ctx.input.tier === 'gold'")
    expect(effect).to_contain_text("1 of 2 instances that wait matches.")
    form.get_by_role("button", name="Save rule").click()
    rules = page.get_by_role("list", name="Rules").get_by_role("listitem")
    expect(rules).to_contain_text(["ctx.input.tier === 'gold'"])
    expect(rules).to_contain_text(["held back"])
    rules.get_by_role("button", name="Remove the rule").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("There is no rule.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(rows.filter(has_text="On hold")).to_have_count(1)
    page.get_by_role("button", name="Change limits").click()
    page.get_by_text("Follow the load", exact=True).click()
    page.get_by_label("The limit of all instances follows the load").check()
    page.get_by_label("At most").fill("5")
    expect(page.get_by_label("At least")).to_have_accessible_description(
        re.compile("min is 10, which is more than max")
    )
    page.get_by_label("At least").fill("2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The limits are saved")).to_be_visible()
    saved = server.api("GET", "/concurrency")["resourceBasedLimits"]
    assert (saved["enabled"], saved["min"], saved["max"]) == (True, 2, 5)
    server.api("PUT", "/concurrency", {})


# The browser writes an error for the page that may not be framed.
@pytest.mark.page_errors
def test_a_widget_is_shown_in_a_page_of_another_site_and_no_other_page_is(
    serve: Serve, new_page: NewPage, tmp_path: Path
) -> None:
    server = serve(key=ADMIN_KEY)
    things = furnish(server)
    page = new_page()
    signed_in(page, ADMIN_KEY)
    page.goto(f"{server.url}/instances/{things.waiting}/widget?type=text&path=input.orderId")
    expect(page.get_by_text("A1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Make a token").click()
    address = page.get_by_role("group", name="Address").inner_text()
    (tmp_path / "page.html").write_text(f'<iframe src="{address}" title="Widget"></iframe>')
    with _site(tmp_path) as url:
        elsewhere = new_page()
        elsewhere.goto(f"{url}/page.html")
        expect(elsewhere.frame_locator("iframe").get_by_text("A1", exact=True)).to_be_visible()
        # Only the page of the widget may be framed.
        (tmp_path / "page.html").write_text(f'<iframe src="{server.url}/keys"></iframe>')
        elsewhere.goto(f"{url}/page.html")
        expect(elsewhere.frame_locator("iframe").get_by_label("API key")).to_have_count(0)


@pytest.mark.page_errors
def test_a_widget_shows_a_value_as_it_changes(serve: Serve, new_page: NewPage) -> None:
    server = serve(key=ADMIN_KEY)
    wait = {"stepId": "paid", "type": "EVENT_WAIT", "eventPattern": "told"}
    server.api(
        "PUT", "/workflows/told", {"id": "told", "steps": [{**wait, "outputVariable": "news"}]}
    )
    id = server.api("POST", "/workflows/told/start", {})["instanceId"]
    config = {"widgetType": "text", "widgetConfig": {"path": "news.payload.text"}}
    made = server.api("POST", f"/instances/{id}/widget-tokens", config)
    page = new_page()
    page.goto(f"{server.url}{made['path']}")
    expect(page.get_by_text("Waiting for the value")).to_be_visible()
    # It cannot look any more: the socket alone tells.
    page.route("**/api/v1/widgets/*", lambda route: route.abort())
    server.api("POST", "/events", {"pattern": "told", "payload": {"text": "it came"}})
    expect(page.get_by_text("it came", exact=True)).to_be_visible()


@contextmanager
def _site(folder: Path) -> Iterator[str]:
    """A site of another origin, which serves files."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        thread = Thread(target=site.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()
        thread.join()
