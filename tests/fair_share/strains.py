"""What one tenant does beside the others: a queue, a storm, a recursion, batches."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple

import aiohttp

from tenuto.model.json import JSON, Object
from tests.bombs.beside import Throwing
from tests.crash.services import ROOT

QUEUED = 100_000
AT_ONCE = 20
"""The limit of the service beside which so many are queued."""
_BATCH = 1_000
_CONNECTIONS = 4
_SETTLED_SECONDS = 5.0
_PATIENCE = aiohttp.ClientTimeout(total=600)


class Strain(NamedTuple):
    """What the large tenant does."""

    name: str
    attack: str | None = None
    """An attack of `tests.bombs` that is thrown all the while; None: a queue is filled before."""
    limits: Object | None = None
    """Those of the service, also while it is quiet."""

    def beside(self, urls: Sequence[str], key: str) -> AbstractAsyncContextManager[None]:
        return _queued(urls, key) if self.attack is None else _thrown(self.attack, urls, key)


STRAINS = {
    each.name: each
    for each in (
        Strain("queued", limits={"globalMaxConcurrent": AT_ONCE}),
        Strain("event-storm", "emits-twice"),
        Strain("event-for-thousands", "an-event-for-thousands"),
        Strain("recursion", "recursion-tenfold"),
        Strain("batches", "batches-of-starts"),
    )
}


@asynccontextmanager
async def _thrown(attack: str, urls: Sequence[str], key: str) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bombs.thrower", attack, *urls),
        cwd=ROOT,
        env={**os.environ, "TENUTO_KEY": key},
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    throwing = Throwing(process)
    try:
        await throwing.begun()
        yield
    finally:
        await throwing.end()


@asynccontextmanager
async def _queued(urls: Sequence[str], key: str) -> AsyncIterator[None]:
    """So many instances wait, and are worked off while the others are measured."""
    items: list[JSON] = [{"workflowId": "little", "input": {"number": n}} for n in range(_BATCH)]
    headers = {"authorization": f"Bearer {key}"}
    left = QUEUED // _BATCH

    async def send(session: aiohttp.ClientSession, url: str) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            async with session.post(f"{url}/api/v1/instances/batch", json={"items": items}) as got:
                await got.read()
                if got.status in (429, 503):
                    left += 1
                    await asyncio.sleep(0.1)
                else:
                    assert got.status < 300, got.status

    async with aiohttp.ClientSession(timeout=_PATIENCE, headers=headers) as session:
        senders = [send(session, urls[number % len(urls)]) for number in range(_CONNECTIONS)]
        await asyncio.gather(*senders)
    # The disk still writes what was filled in, which is no part of the strain.
    await asyncio.sleep(_SETTLED_SECONDS)
    yield
