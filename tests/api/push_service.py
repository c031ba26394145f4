"""A service that tasks are pushed to: it answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class PushService:
    """What it was sent, and what it answers."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[dict[str, Any]] = []
        self.raw: list[tuple[dict[str, str], bytes]] = []
        """The same as headers and bytes."""
        self.status = 200
        self.body: bytes | None = None
        """Instead of an outcome."""
        self.echoes = False
        """Whether it answers with what it was sent."""
        self.at_once = 0
        self.most_at_once = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.was_sent = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.raw.append((dict(request.headers), raw))
        self.seen.append(json.loads(raw))
        self.was_sent.set()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.may_answer.wait()
        finally:
            self.at_once -= 1
        body = self.body
        if self.echoes:
            said = {"headers": dict(request.headers), "url": str(request.url), "body": raw.decode()}
            body = json.dumps(said).encode()
        if body is None and self.status == 200:
            body = json.dumps({"status": "COMPLETED", "output": {"ok": True}}).encode()
        return web.Response(status=self.status, body=body or b"")


@asynccontextmanager
async def push_service() -> AsyncIterator[PushService]:
    """One on a free port of this machine."""
    service = PushService()
    app = web.Application()
    app.router.add_post("/work", service.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    service.url = f"http://{host}:{port}/work"
    try:
        yield service
    finally:
        service.may_answer.set()
        await runner.cleanup()
