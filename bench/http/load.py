"""Requests as a client sends them, with as little as possible around them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec

from tenuto.model.json import Object

API = "/api/v1"
_JSON = {"content-type": "application/json"}


class Caller:
    """A client that keeps its connections, as many as it has requests under way."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str) -> Object:
        """What is at a path."""
        async with self._session.get(path) as response:
            read: Object = msgspec.json.decode(_body(response.status, await response.read()))
            return read

    async def post(self, path: str, body: object) -> Object:
        """What a request is answered with."""
        read: Object = msgspec.json.decode(await self.send(path, body))
        return read

    async def send(self, path: str, body: object) -> bytes:
        """The same, as it came."""
        data = msgspec.json.encode(body)
        async with self._session.post(path, data=data, headers=_JSON) as response:
            return _body(response.status, await response.read())

    async def some(self, statuses: str, limit: int = 1) -> list[str]:
        """The ids of instances that have one of these statuses, newest first."""
        page = await self.get(f"{API}/instances?status={statuses}&limit={limit}")
        items = page["items"]
        assert isinstance(items, list)
        return [str(each["id"]) for each in items if isinstance(each, dict)]

    async def deploy(self, document: Object) -> None:
        await self.post(f"{API}/workflows", document)

    async def start(self, workflow: str, n: object) -> str:
        """The id of a new instance, which is durable."""
        answer = await self.post(f"{API}/workflows/{workflow}/start", {"input": {"n": n}})
        return str(answer["instanceId"])

    async def run(self, workflow: str, n: object) -> None:
        """Start an instance, and wait for its end in the same request."""
        answer = await self.post(f"{API}/workflows/{workflow}/start?wait=60", {"input": {"n": n}})
        assert answer["status"] == "COMPLETED", answer

    async def start_many(
        self, workflow: str, first: int, count: int, more: Object | None = None
    ) -> list[str]:
        """The ids of new instances, started by one request; `more` goes into each input."""
        numbers = range(first, first + count)
        items = [{"workflowId": workflow, "input": {"n": n, **(more or {})}} for n in numbers]
        answer = await self.post(f"{API}/instances/batch", {"items": items})
        results = answer["results"]
        assert isinstance(results, list)
        return [str(each["instanceId"]) for each in results if isinstance(each, dict)]


@asynccontextmanager
async def calling(url: str) -> AsyncIterator[Caller]:
    """A client of the server at `url`."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, connector=connector) as session:
        yield Caller(session)


async def timed(one: Callable[[int], Awaitable[object]], count: int, at_once: int) -> float:
    """Seconds until `count` calls are answered, `at_once` of them under way at any time."""
    numbers = iter(range(count))

    async def caller() -> None:
        for number in numbers:
            await one(number)

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return time.perf_counter() - began


def _body(status: int, body: bytes) -> bytes:
    if status >= 300:
        raise RuntimeError(f"{status}: {body[:500]!r}")
    return body
