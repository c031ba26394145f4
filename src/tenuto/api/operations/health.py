"""Whether the service lives, and whether it can work."""

from __future__ import annotations

import asyncio

from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import operation
from tenuto.api.shapes import Answer
from tenuto.model.errors import TenutoError
from tenuto.store.parts.instances import InstanceQuery

_PATIENCE = 2.0
"""Seconds within which a store that works answers."""


class Health(Answer, frozen=True, kw_only=True, rename="camel"):
    """How the service is."""

    status: str
    """`ok`, or what keeps it from working."""


@operation(
    "GET",
    "/health",
    summary="Whether the process lives.",
    tag="health",
    is_public=True,
    response=Health,
)
async def health(_: Call[NoQuery]) -> Health:
    return Health(status="ok")


@operation(
    "GET",
    "/health/ready",
    summary="Whether it can work: the engine runs, and its store answers.",
    tag="health",
    is_public=True,
    response=Health,
    other_statuses=(503,),
)
async def ready(call: Call[NoQuery]) -> Health:
    wrong = await _what_is_wrong(call)
    if wrong is None:
        return Health(status="ok")
    call.status = 503
    call.response_headers["retry-after"] = "1"
    return Health(status=wrong)


async def _what_is_wrong(call: Call[NoQuery]) -> str | None:
    engine = call.service.app.engine
    if call.service.leaving.is_set() or call.service.stopping.is_set():
        return "stopping"
    if engine.fault is not None:
        return "the engine has stopped"
    if call.service.pushing.fault is not None:
        return "pushing has stopped"
    try:
        async with asyncio.timeout(_PATIENCE):
            await engine.store.instances.page(InstanceQuery(ids=("-",), limit=1))
    except (TenutoError, TimeoutError):
        return "the store is away"
    return None
