"""What is fetched from outside: small, at once, from where it was asked, and nowhere private."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web

from tenuto.egress.http import HttpSender

pytestmark = pytest.mark.asyncio


class Site:
    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.never = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if request.path == "/elsewhere":
            return web.Response(status=302, headers={"location": "/large"})
        if request.path == "/large":
            return web.Response(body=b"x" * 1_001)
        if request.path == "/slow":
            await self.never.wait()
        return web.Response(body=b"x" * 1_000)


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}"
    yield made
    made.never.set()
    await runner.cleanup()


@pytest_asyncio.fixture
async def fetcher() -> AsyncIterator[HttpSender]:
    made = HttpSender(may_be_private=True)
    yield made
    await made.close()


async def test_what_is_there_is_fetched_up_to_its_limit(site: Site, fetcher: HttpSender) -> None:
    page = await fetcher.get(f"{site.url}/fits", seconds=60, most=1_000)
    assert (page.status, page.body) == (200, b"x" * 1_000)
    page = await fetcher.get(f"{site.url}/large", seconds=60, most=1_000)
    assert (page.status, page.body, page.error) == (
        None,
        b"",
        "the answer has more than 1,000 bytes",
    )


async def test_nobody_is_led_elsewhere(site: Site, fetcher: HttpSender) -> None:
    page = await fetcher.get(f"{site.url}/elsewhere", seconds=60, most=1_000)
    assert page.status == 302
    assert site.asked == ["/elsewhere"]


async def test_who_does_not_answer_is_not_waited_for(site: Site, fetcher: HttpSender) -> None:
    page = await fetcher.get(f"{site.url}/slow", seconds=0.05, most=1_000)
    assert page.error == "no answer within 0.05 s"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("{site}/", "not an address of the public network"),
        ("http://localhost/", "not a name of the public network"),
        ("http://example.com/", "does not begin with https://"),
        ("https://169.254.169.254/latest", "not an address of the public network"),
        ("https://ada:secret@example.com/", "a user or a password"),
        ("file:///etc/passwd", "does not begin with"),
    ],
)
async def test_what_is_not_public_is_not_asked(site: Site, url: str, problem: str) -> None:
    fetcher = HttpSender()
    page = await fetcher.get(url.replace("{site}", site.url), seconds=60, most=1_000)
    assert page.status is None
    assert problem in (page.error or "")
    assert site.asked == []
    await fetcher.close()
