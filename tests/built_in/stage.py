"""Apps whose built-in tasks are done by the real sandbox, or by a function of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from tenuto import Tenuto
from tenuto.built_in.javascript import JavaScriptExecutor
from tenuto.built_in.protocol import Call, Executors
from tenuto.compose import build_executors
from tenuto.egress.client import EgressClient
from tenuto.egress.request import Answer, NoAnswer, Request
from tenuto.engine.settings import Settings
from tenuto.model.graph import JavaScript
from tenuto.model.json import JSON, Object
from tenuto.sandbox.bounds import PoolBounds
from tenuto.sandbox.sandbox import Sandbox

Work = Callable[[Call], Awaitable[JSON]]
Respond = Callable[[Request], Awaitable[Answer | NoAnswer]]


class StubClient(EgressClient):
    """An egress client that asks a function; which hosts may be called is checked as always."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.tenants: list[str] = []

    async def send(  # type: ignore[override]
        self,
        tenant: str,
        request: Request,
        *,
        most: int | None,
        seconds: float,
        may_call: Callable[[str, int], bool],
    ) -> Answer | NoAnswer:
        self.tenants.append(tenant)
        host, _, port = request.url.split("/")[2].partition(":")
        if not may_call(host, int(port or 443)):
            return NoAnswer("refused", f"{host} may not be called")
        return await self.respond(request)

    async def close(self) -> None: ...


def executors(*, processes: int = 2, client: EgressClient | None = None) -> Executors:
    """Executors with a small sandbox."""
    bounds = PoolBounds(processes=processes, of_tenant=processes, spares=1)
    code = JavaScriptExecutor(
        lambda bounds: Sandbox(bounds=bounds),
        bounds=bounds,
        output_limit=1_000_000,
        client=client,
    )
    return {**build_executors(), JavaScript: code}


@asynccontextmanager
async def app(
    *, processes: int = 2, client: EgressClient | None = None, settings: Settings | None = None
) -> AsyncIterator[Tenuto]:
    """An app in memory."""
    made = executors(processes=processes, client=client)
    async with Tenuto(settings=settings, executors=made) as opened:
        yield opened


def code(text: str, step_id: str = "a", /, **fields: JSON) -> Object:
    """A javascript step that is tried once."""
    once: Object = {"retry": {"maxAttempts": 1}}
    return {"stepId": step_id, "type": "JAVASCRIPT", "code": text, **once, **fields}


def flow(*steps: Object, **more: JSON) -> Object:
    return {"id": "w", "steps": list[JSON](steps), **more}


async def result(app: Tenuto, document: Object, input: JSON = None) -> JSON:
    """The output of an instance of a definition that is saved first."""
    await app.deploy(document)
    return await (await app.start("w", input)).result(30)


class Stand:
    """An executor whose work is a function."""

    queues = False
    calls_of_tenant = None

    def __init__(self, work: Work) -> None:
        self._work = work

    async def run(self, call: Call) -> JSON:
        return await self._work(call)

    async def close(self) -> None: ...


@asynccontextmanager
async def stubbed(works: Mapping[type, Work]) -> AsyncIterator[Tenuto]:
    """An app whose built-in tasks are done by functions."""
    stands: Executors = {kind: Stand(work) for kind, work in works.items()}
    async with Tenuto(executors=stands) as opened:
        yield opened
