"""What this process measures, for Prometheus."""

from __future__ import annotations

from starlette.responses import Response

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import operation
from tenuto.metrics.metrics import MEDIA


@operation(
    "GET",
    "/metrics",
    summary="What this process measures, as text that Prometheus reads.",
    tag="health",
    permission=Permission.STATS_READ,
    response=str,
    response_media="text/plain",
)
async def metrics(call: Call[NoQuery]) -> Response:
    page = await call.service.metrics.page(call.principal.tenant)
    return Response(page, headers={"content-type": MEDIA})
