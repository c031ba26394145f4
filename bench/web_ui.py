"""The web UI in a real browser, with a real service behind it."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from bench.http.processes import served
from bench.loops import over_items
from bench.report import Report
from bench.workflows import lanes
from tenuto.model.json import JSON
from tests.ui.browser import environment, executable
from tests.ui.frames import PAN, SCROLL

LANES, LENGTH = 40, 25
NODES = LANES * LENGTH + 2
ENTRIES = 100_000
INSTANCES = 50_000
_BATCH = 1_000
_STEP = 1_200
"""Pixels of the list in each frame: two screens."""
_PATIENCE = 120_000
_NEWEST = """
() => {
  const list = document.querySelector('[aria-label="Log entries, newest first"]');
  return list?.querySelector('[role=listitem]') ? performance.now() : false;
}
"""
_FITTED = f"graph of {NODES:,} nodes, all in sight"
_CLOSE = f"graph of {NODES:,} nodes, at full size"
_LOG = f"log of {ENTRIES:,} entries, from the click to the newest, ms"
_GRAPH = f"graph of {NODES:,} nodes, from the click to the drawing, ms"
_LIST = f"list of {INSTANCES:,} instances, scrolled to its end"


def web_ui(report: Report) -> None:
    """A large graph, a long log and a long list."""
    with (
        tempfile.TemporaryDirectory(prefix="tenuto-bench-") as folder,
        served(f"sqlite:///{folder}/store.db") as service,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=executable(),
            env={**environment()},
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        _graph(report, service.url, browser)
        _log(report, service.url, browser)
        _list(report, service.url, browser)
        browser.close()


def promise_web_ui(report: Report) -> None:
    for name in (_FITTED, _CLOSE):
        fps = f"{name}, frames/s of a drag"
        report.promise(fps, report.median(fps), at_least=30)
    report.promise(_LOG, report.median(_LOG), at_most=1_000)


def _graph(report: Report, url: str, browser: Browser) -> None:
    document = lanes(LANES, LENGTH)
    _call(url, "PUT", f"/workflows/{document['id']}", document)
    middle = f"s{LANES // 2}_{LENGTH // 2}"
    page = _opened(browser, f"{url}/workflows/{document['id']}?step={middle}")
    shown = "() => document.querySelector('.react-flow__node') && performance.now()"
    report.add(_GRAPH, _found(page, shown))
    page.get_by_role("button", name="Fit view").click()
    _drag(report, _FITTED, page)
    nearer = page.get_by_role("button", name="Zoom In")
    while nearer.is_enabled():
        nearer.click()
    _drag(report, _CLOSE, page)
    page.context.close()


def _drag(report: Report, name: str, page: Page) -> None:
    found: dict[str, Any] = page.evaluate(PAN)
    assert found["places"] > 100, "the graph did not move"
    assert found["hasMoved"], "the picture of the graph did not move"
    report.add(f"{name}, frames/s of a drag", found["frames"] / found["seconds"])
    report.add(f"{name}, frame at p95, ms", found["p95"])
    report.facts[f"{name}, nodes that are drawn"] = found["nodes"]


def _log(report: Report, url: str, browser: Browser) -> None:
    _call(url, "PUT", "/workflows/loop_1", over_items(1))
    entries, id = 0, ""
    # As many items as make so many entries: each item has several.
    for items in (100, ENTRIES):
        wanted = items if entries == 0 else -(-ENTRIES * 100 // entries)
        started = _call(url, "POST", "/workflows/loop_1/start", {"input": list(range(wanted))})
        id = started["instanceId"]
        while _call(url, "GET", f"/instances/{id}?wait=30")["status"] != "COMPLETED":
            pass
        [last] = _call(url, "GET", f"/instances/{id}/history?limit=1&order=desc")["items"]
        entries = last["seq"]
    report.facts["entries of the long log"] = entries
    _opened(browser, f"{url}/instances/{id}?tab=log").context.close()
    page = _opened(browser, f"{url}/instances/{id}?tab=log")
    report.add(_LOG, _found(page, _NEWEST))
    page.context.close()


def _list(report: Report, url: str, browser: Browser) -> None:
    done: JSON = {"stepId": "only", "type": "SET", "values": {"done": True}}
    _call(url, "PUT", "/workflows/tiny", {"id": "tiny", "steps": [done]})
    for _ in range(INSTANCES // _BATCH):
        items: list[JSON] = [{"workflowId": "tiny"} for _ in range(_BATCH)]
        _call(url, "POST", "/instances/batch", {"items": items})
    page = _opened(browser, f"{url}/instances?q=workflow%3Atiny")
    page.get_by_role("row").nth(5).wait_for()
    found: dict[str, Any] = page.evaluate(SCROLL, _STEP)
    report.add(f"{_LIST}, frames/s", found["frames"] / found["seconds"])
    report.add(f"{_LIST}, frame at p95, ms", found["p95"])
    report.add(f"{_LIST}, s", found["seconds"])
    report.facts[f"{_LIST}"] = f"{found['rows']}, {found['drawn']} rows are drawn at most"
    page.context.close()


def _opened(browser: Browser, url: str) -> Page:
    """A page of a visitor who was never here."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(_PATIENCE)
    page.goto(url, wait_until="commit")
    return page


def _found(page: Page, script: str) -> float:
    """Milliseconds since the page was asked for, when something is first there."""
    return float(page.wait_for_function(script).json_value())


def _call(url: str, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{url}/api/v1{path}",
        data=data,
        headers={"content-type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.loads(reply.read())
