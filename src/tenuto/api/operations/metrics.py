"""The metrics of this process, for Prometheus."""

from __future__ import annotations

from starlette.responses import Response

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import Resource
from tenuto.metrics.metrics import MEDIA

METRICS = Resource("/metrics", tag="health", read=Permission.STATS_READ)


@METRICS.get(response=str, response_media="text/plain")
async def metrics(call: Call[NoQuery]) -> Response:
    """The metrics of this process, in the text format of Prometheus."""
    page = await call.service.metrics.page(call.principal.tenant)
    return Response(page, headers={"content-type": MEDIA})
