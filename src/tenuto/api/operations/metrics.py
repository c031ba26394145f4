"""What this process measures, for Prometheus."""

from __future__ import annotations

from starlette.responses import Response

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import Resource
from tenuto.metrics.metrics import MEDIA

METRICS = Resource("/metrics", tag="health", read=Permission.STATS_READ)


@METRICS.get(response=str, response_media="text/plain")
async def metrics(call: Call[NoQuery]) -> Response:
    """What this process measures, as text that Prometheus reads."""
    page = await call.service.metrics.page(call.principal.tenant)
    return Response(page, headers={"content-type": MEDIA})
