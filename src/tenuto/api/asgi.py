"""Makes the service of an app, as an ASGI application."""

from __future__ import annotations

from tenuto.api.access_ports import AuditTrail, Authentication
from tenuto.api.config import ServiceConfig
from tenuto.api.pipeline import RequestPipeline
from tenuto.api.registry import OPERATIONS
from tenuto.api.service import Service
from tenuto.app import Tenuto


def build_api(
    app: Tenuto,
    config: ServiceConfig | None = None,
    *,
    authentication: Authentication | None = None,
    audit: AuditTrail | None = None,
) -> RequestPipeline:
    """The service of an app that its owner opens and closes."""
    service = Service(
        app, config or ServiceConfig(), OPERATIONS, authentication=authentication, audit=audit
    )
    return RequestPipeline(service)
