"""The small tenants: each starts a little workflow once a second, and waits for its end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import NamedTuple

import aiohttp

from tenuto.app import Tenuto
from tenuto.model.json import Object
from tests.bombs.beside import LITTLE

SMALL = 50
EVERY = 1.0
"""Seconds from one start of a tenant to its next."""
_PATIENCE = aiohttp.ClientTimeout(total=120)


class Keys(NamedTuple):
    """The keys of all tenants."""

    small: list[str]
    large: str


async def prepared(url: str, limits: Object | None) -> Keys:
    """Tenants with their keys and workflows, and the limits of the service, in a new store."""
    async with Tenuto(url) as app:
        if limits is not None:
            await app.limits.set(limits)
        made: list[str] = []
        for name in [*(f"small-{number}" for number in range(SMALL)), "large"]:
            workspace = app.workspace(name, "test")
            made.append(str((await workspace.keys.create(name, role="admin"))["key"]))
            await workspace.deploy(LITTLE)
    return Keys(made[:-1], made[-1])


class SmallTenants:
    """Starts instances at a fixed rate, and measures each from its start to its end."""

    def __init__(self, urls: Sequence[str], keys: Sequence[str]) -> None:
        self._urls = urls
        self._keys = keys
        self.wrong: list[str] = []
        """Answers other than a completed instance."""

    async def work_for(self, seconds: float) -> list[float]:
        """Seconds from start to end of every instance that began meanwhile."""
        took: list[float] = []
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=_PATIENCE, connector=connector) as session:
            begin = asyncio.get_running_loop().time()
            tenants = [
                self._tenant(session, number, begin, begin + seconds, took)
                for number in range(len(self._keys))
            ]
            await asyncio.gather(*tenants)
        return took

    async def _tenant(
        self,
        session: aiohttp.ClientSession,
        number: int,
        begin: float,
        until: float,
        took: list[float],
    ) -> None:
        loop = asyncio.get_running_loop()
        url = self._urls[number % len(self._urls)]
        due = begin + EVERY * number / len(self._keys)
        under_way: list[asyncio.Task[None]] = []
        while due < until:
            await asyncio.sleep(due - loop.time())
            under_way.append(asyncio.create_task(self._one(session, url, number, took)))
            due += EVERY
        await asyncio.gather(*under_way)

    async def _one(
        self, session: aiohttp.ClientSession, url: str, number: int, took: list[float]
    ) -> None:
        begun = time.perf_counter()
        headers = {"authorization": f"Bearer {self._keys[number]}"}
        start = f"{url}/api/v1/workflows/little/start?wait=60"
        try:
            async with session.post(start, json={"input": {"number": 1}}, headers=headers) as got:
                body = await got.json()
        except (aiohttp.ClientError, TimeoutError) as error:
            self.wrong.append(f"no answer to a start: {error!r}")
            return
        took.append(time.perf_counter() - begun)
        if body.get("status") != "COMPLETED":
            self.wrong.append(f"{got.status}: {json.dumps(body)[:300]}")
