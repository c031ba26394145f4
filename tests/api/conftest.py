"""A service on a free port of this machine, and somebody who calls it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, TypeAlias

import aiohttp
import msgspec
import pytest

from tenuto import Context, TaskError, Tenuto
from tenuto.api.access_ports import AuditTrail, Authentication
from tenuto.api.config import ServiceConfig
from tenuto.api.operation import API, Operation
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.problems import MEDIA, ProblemDetails
from tenuto.api.registry import OPERATIONS
from tenuto.api.routes import Routes
from tenuto.api.server import bind, serving, url_of
from tenuto.api.service import Service
from tenuto.compose import build_authenticator
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.tasks.registry import Registry

ROUTES = Routes(OPERATIONS)
_OUTSIDE = ("/health", "/docs", "/openapi", "/workflow.schema", "/metrics", "/api")
"""Paths that are written whole; others are below the API's."""

DOUBLE: Object = {
    "id": "double",
    "steps": [{"stepId": "twice", "type": "TASK", "taskId": "double"}],
    "inputSchema": {"type": "object", "required": ["number"]},
}
WAIT: Object = {
    "id": "wait",
    "steps": [
        {
            "stepId": "paid",
            "type": "EVENT_WAIT",
            "eventPattern": "payment.received",
            "eventCondition": "event.payload.orderId === workflow.input.orderId",
        }
    ],
}
REFUSE: Object = {
    "id": "refuse",
    "steps": [{"stepId": "reserve", "type": "TASK", "taskId": "refuse"}],
}


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was answered
        return json.loads(self.text)

    @property
    def codes(self) -> set[str]:
        return {each["code"] for each in self.json["problems"]}


class Caller:
    """Calls a service, and holds every answer against what is documented."""

    def __init__(self, pipeline: RequestPipeline, url: str, session: aiohttp.ClientSession) -> None:
        self.pipeline = pipeline
        self.app = pipeline.service.app
        self.url = url
        self.session = session

    async def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        if body is not None:
            data = json.dumps(body).encode()
        given = {} if data is None else {"content-type": "application/json"}
        where = path if path.startswith(_OUTSIDE) else API + path
        async with self.session.request(
            method, self.url + where, data=data, headers={**given, **(headers or {})}
        ) as response:
            reply = Reply(response.status, response.headers, await response.text())
        _check(method, where, reply)
        return reply

    async def get(self, path: str, **headers: str) -> Reply:
        return await self("GET", path, headers=headers)

    async def post(self, path: str, body: object = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self("POST", path, body, headers=named)

    async def start(self, workflow: str, input: object = None, query: str = "") -> Any:  # noqa: ANN401
        return (await self.post(f"/workflows/{workflow}/start{query}", {"input": input})).json


def _check(method: str, path: str, reply: Reply) -> None:
    """Every answer is one that its operation documents; every refusal is a problem."""
    if method == "HEAD":
        assert not reply.text
    elif reply.status >= 400 and reply.headers["content-type"] == MEDIA:
        details = msgspec.json.decode(reply.text, type=ProblemDetails)
        assert details.status == reply.status
        assert "Traceback" not in reply.text
    found = ROUTES.find(method, path.partition("?")[0])
    if found is None or reply.status >= 400:
        return
    operation = found.operation
    assert reply.status in (operation.status, *operation.other_statuses)
    if reply.status in (204, 304):
        assert not reply.text
    elif operation.response is not None and operation.response_media == "application/json":
        msgspec.json.decode(reply.text, type=operation.response)


Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[Caller]]


@asynccontextmanager
async def served(
    *,
    config: ServiceConfig | None = None,
    app: Tenuto | None = None,
    authentication: Authentication | None = None,
    audit: AuditTrail | None = None,
    admin_key: str | None = None,
    operations: tuple[Operation, ...] = OPERATIONS,
) -> AsyncIterator[Caller]:
    config = config or ServiceConfig(port=0, drain_seconds=2)
    app = app or Tenuto(tasks=tasks(), settings=Settings(unknown_tasks="wait"))
    if admin_key is not None:
        authentication = build_authenticator(
            app.engine.store, app.engine.clock, admin_key=admin_key
        )
    pipeline = RequestPipeline(
        Service(app, config, operations, authentication=authentication, audit=audit)
    )
    listener = bind(config)
    async with app, serving(pipeline, listener), aiohttp.ClientSession() as session:
        yield Caller(pipeline, url_of(listener), session)


def tasks() -> Registry:
    registry = Registry()

    @registry.task
    async def double(ctx: Context, input: dict[str, int]) -> int:
        return input["number"] * 2

    @registry.task
    async def refuse(ctx: Context, input: object = None) -> str:
        if input == "mended":
            return "done"
        raise TaskError("OUT_OF_STOCK", "none left", retryable=False)

    return registry


@pytest.fixture
def serve() -> Serve:
    return served


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Ask again and again; each question goes to the service and back."""
    async with asyncio.timeout(60):
        while not await is_so():
            pass
