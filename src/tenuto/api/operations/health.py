"""Whether the service lives, and whether it can work."""

from __future__ import annotations

import asyncio

from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import Resource
from tenuto.api.shapes import Answer
from tenuto.model.errors import TenutoError
from tenuto.store.protocol import InstanceQuery

HEALTH = Resource("/health", tag="health")

_PATIENCE = 2.0
"""Seconds within which a store that works answers."""


class Health(Answer):
    """How the service is."""

    status: str
    """`ok`, or what keeps it from working."""


@HEALTH.get(is_public=True)
async def health(_: Call[NoQuery]) -> Health:
    """Whether the process lives."""
    return Health(status="ok")


@HEALTH.get("/ready", is_public=True, other_statuses=(503,))
async def ready(call: Call[NoQuery]) -> Health:
    """Whether it can work: the engine runs, and its store answers."""
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
            await engine.store.instances(InstanceQuery(ids=("-",), limit=1))
    except (TenutoError, TimeoutError):
        return "the store is away"
    return None
