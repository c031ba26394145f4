"""A web site on a port of this machine that keeps what it is asked, and answers as it is set to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiohttp import web


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    """With its query."""
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Site:
    """A site; `answers` maps paths to handlers, all others are answered with `{}`."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[Asked] = []
        self.answers: dict[str, Answering] = {}
        self.never = asyncio.Event()
        """Set at the end: handlers that wait for it answer no request."""
        self.at_once = self.most_at_once = 0
        self._came = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [each.path for each in self.asked]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once something holds; looks again with each request."""
        async with asyncio.timeout(60):
            while not holds():
                self._came.clear()
                await self._came.wait()

    async def silent(self, _: web.Request) -> web.StreamResponse:
        """A handler that does not answer while the test runs."""
        await self.never.wait()
        return web.Response()

    def says(
        self,
        path: str,
        body: bytes | str = b"{}",
        status: int = 200,
        media: str = "application/json",
        **headers: str,
    ) -> None:
        """Answer a path with the same response each time."""

        async def answer(_: web.Request) -> web.StreamResponse:
            content = body.encode() if isinstance(body, str) else body
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return web.Response(
                body=content, status=status, headers={"content-type": media, **named}
            )

        self.answers[path] = answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append(
            Asked(request.method, str(request.rel_url), headers, await request.read())
        )
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self._came.set()
        try:
            known = self.answers.get(request.path)
            return web.json_response({}) if known is None else await known(request)
        finally:
            self.at_once -= 1


@asynccontextmanager
async def web_site() -> AsyncIterator[Site]:
    """A site of its own."""
    made = Site()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.port = runner.addresses[0][1]
    try:
        yield made
    finally:
        made.never.set()
        await runner.cleanup()
