"""Makes the service of an app, as an ASGI application."""

from __future__ import annotations

from tenuto.api.admission import Admission, Audited
from tenuto.api.config import ServiceConfig
from tenuto.api.gate import Gate
from tenuto.api.registry import OPERATIONS
from tenuto.api.service import Service
from tenuto.app import Tenuto


def build_api(
    app: Tenuto,
    config: ServiceConfig | None = None,
    *,
    admission: Admission | None = None,
    audit: Audited | None = None,
) -> Gate:
    """The service of an app that somebody else opens and closes."""
    service = Service(app, config or ServiceConfig(), OPERATIONS, admission=admission, audit=audit)
    return Gate(service)
