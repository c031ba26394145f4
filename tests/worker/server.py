"""The few routes that workers use, over HTTP, as the contract says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from tenuto.executions.broker import TaskBroker
from tenuto.model.errors import TenutoError
from tenuto.model.executions import ReleasedTask, TaskReport
from tests.worker.local_broker import LocalBroker, status_of

KEY = "tnt_1_secret"


class _Claim(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    worker_id: str
    task_ids: list[str] | None = None
    max: int = 1
    wait: float = 0.0
    lease: float = 30.0
    request_id: str | None = None
    previous_outputs: bool = False


class _Beat(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    lease_token: str
    details: object = None


class _Released(msgspec.Struct, forbid_unknown_fields=True):
    tasks: list[ReleasedTask]


class _Results(msgspec.Struct, forbid_unknown_fields=True):
    results: list[TaskReport]


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json"
    )


@web.middleware
async def _problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return _json({"code": "TEN-5010", "detail": "who are you?"}, 401)
    try:
        return await handler(request)
    except TenutoError as error:
        problem = {"code": error.code, "detail": error.message, "advice": error.advice}
        return _json(problem, status_of(error))


@asynccontextmanager
async def served(broker: TaskBroker) -> AsyncIterator[str]:
    """The address of a server for a broker."""
    local = LocalBroker(broker)

    async def claim(request: web.Request) -> web.Response:
        asked = msgspec.json.decode(await request.read(), type=_Claim)
        tasks = await broker.claim(
            "default",
            asked.worker_id,
            asked.task_ids,
            most=asked.max,
            wait=timedelta(seconds=asked.wait),
            lease=timedelta(seconds=asked.lease),
            request_id=asked.request_id,
            with_outputs=asked.previous_outputs,
        )
        return _json({"tasks": tasks})

    async def heartbeat(request: web.Request) -> web.Response:
        beat = msgspec.json.decode(await request.read(), type=_Beat)
        id = request.match_info["id"]
        return _json(await broker.heartbeat("default", id, beat.lease_token, beat.details))

    async def report(request: web.Request) -> web.Response:
        given = msgspec.json.decode(await request.read(), type=_Results)
        return _json(await local.report(given.results))

    async def release(request: web.Request) -> web.Response:
        given = msgspec.json.decode(await request.read(), type=_Released)
        return _json(await local.release(given.tasks, patience=1))

    app = web.Application(middlewares=[_problems])
    app.router.add_post("/api/v1/executions/claim", claim)
    app.router.add_post("/api/v1/executions/report", report)
    app.router.add_post("/api/v1/executions/release", release)
    app.router.add_post("/api/v1/executions/{id}/heartbeat", heartbeat)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        broker.close()
        await runner.cleanup()
