"""Liveness and readiness of the service."""

from __future__ import annotations

import asyncio

from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import Resource
from tenuto.api.shapes import Answer
from tenuto.model.errors import TenutoError
from tenuto.store.parts.instances import InstanceQuery

HEALTH = Resource("/health", tag="health")

_PATIENCE = 2.0
"""Seconds within which a working store answers."""


class Health(Answer):
    """The state of the service."""

    status: str
    """`ok`, or the reason why it cannot work."""


class Readiness(Health):
    """Whether the service can work, and how well."""

    degraded: tuple[str, ...] = ()
    """What works less well than it should, a line each; a service that is ready may have some."""


@HEALTH.get(is_public=True)
async def health(_: Call[NoQuery]) -> Health:
    """Whether the process is alive."""
    return Health(status="ok")


@HEALTH.get("/ready", is_public=True, other_statuses=(503,))
async def ready(call: Call[NoQuery]) -> Readiness:
    """Whether the service is ready, and in `degraded` what it does without."""
    wrong = await _fault(call)
    degraded = _degraded(call)
    if wrong is None:
        return Readiness(status="ok", degraded=degraded)
    call.status = 503
    call.response_headers["retry-after"] = "1"
    return Readiness(status=wrong, degraded=(wrong, *degraded))


def _degraded(call: Call[NoQuery]) -> tuple[str, ...]:
    engine = call.service.app.engine
    found = [*call.service.pressure.described]
    adaptive = engine.load.adaptive.lowered
    if adaptive is not None:
        found.append(adaptive)
    since = engine.shared.outage.seconds
    if since is not None:
        found.append(f"store unavailable: for {since:,.0f} s")
    found += [
        f"{loop} stands still: the store refuses what it writes"
        for loop in sorted(engine.shared.loops.refused)
    ]
    if not engine.store.has_hints:
        found.append("listener down: other processes are heard of by polling alone")
    if engine.is_catching_up:
        found.append("catching up: events that other processes left are being matched")
    return tuple(found)


async def _fault(call: Call[NoQuery]) -> str | None:
    engine = call.service.app.engine
    if call.service.leaving.is_set() or call.service.stopping.is_set():
        return "stopping"
    if engine.fault is not None:
        return "the engine has stopped"
    if call.service.push.fault is not None:
        return "pushing has stopped"
    try:
        async with asyncio.timeout(_PATIENCE):
            await engine.store.instances.page(InstanceQuery(ids=("-",), limit=1))
    except (TenutoError, TimeoutError):
        return "the store is away"
    return None
