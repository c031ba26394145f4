"""Journeys through the web UI: a real browser, and the real service behind it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.ui.browser import environment, executable
from tests.ui.server import Server, running

PATIENCE = 20_000
"""Milliseconds for which a page may take to show something on a busy machine."""
FAILED = Path("build", "ui-failures")
"""Screenshots of journeys that failed, and traces where they are asked for."""
IS_TRACED = bool(os.environ.get("TENUTO_UI_TRACES"))
"""Whether journeys that fail leave a trace: recording takes a third of the time of all of them."""

Serve: TypeAlias = Callable[..., Server]
NewPage: TypeAlias = Callable[..., Page]


# Not for longer than a module: Playwright's event loop runs until it is closed, and asynchronous
# tests of the same worker need one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all journeys of a module."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=executable(),
            env={**environment()},
            # A container has neither the rights for a sandbox nor much shared memory.
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        yield opened
        opened.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts services: `serve("--set", "public_url=…", key="…")`."""
    with ExitStack() as services:

        def start(*flags: str, key: str | None = None) -> Server:
            folder = tmp_path / f"service-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            return services.enter_context(running(folder, *flags, key=key))

        yield start


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service without credentials, for all journeys of a module."""
    with running(tmp_path_factory.mktemp("service")) as started:
        yield started


@pytest.fixture
def new_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[NewPage]:
    """Opens pages, each of a visitor of its own: `new_page(colorScheme="dark")`.

    A journey fails where a page had an error in its console, such as one of the content security
    policy; a journey that expects errors says so by `@pytest.mark.page_errors`.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def opened(*, color_scheme: str = "light", width: int = 1280, height: int = 800) -> Page:
        context = browser.new_context(
            color_scheme=color_scheme,  # type: ignore[arg-type]
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
        )
        if IS_TRACED:
            context.tracing.start(screenshots=True, snapshots=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda said: errors.append(said.text) if said.type == "error" else None,
        )
        return page

    yield opened
    report = getattr(request.node, "journey", None)
    has_failed = report is not None and report.failed
    for number, context in enumerate(contexts):
        if has_failed:
            place = FAILED / f"{request.node.name}-{number}"
            for each in context.pages:
                each.screenshot(path=place.with_suffix(".png"))
            if IS_TRACED:
                context.tracing.stop(path=place.with_suffix(".zip"))
        elif IS_TRACED:
            context.tracing.stop()
        context.close()
    if not has_failed and request.node.get_closest_marker("page_errors") is None:
        assert errors == [], "the page had errors"


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page of a visitor at a desk."""
    return new_page()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if call.when == "call":
        item.journey = report  # type: ignore[attr-defined]
    return report
