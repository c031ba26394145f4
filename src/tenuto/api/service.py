"""What all requests to one process share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from tenuto.access.principal import Principal
from tenuto.api.admission import Admission, Audited, LocalAdmission
from tenuto.api.config import ServiceConfig
from tenuto.api.operation import Operation, Size
from tenuto.api.rates import Rates
from tenuto.app import Tenuto
from tenuto.bulk import BulkOffice
from tenuto.definition.soundness import MOST_BYTES
from tenuto.live import LiveHub
from tenuto.workspace import Workspace

_ENVELOPE = 64_000
"""Bytes for what stands around a value."""
_BATCH = 32_000_000


class Service:
    """An app, and who may ask it what."""

    def __init__(
        self,
        app: Tenuto,
        config: ServiceConfig,
        operations: tuple[Operation, ...],
        *,
        admission: Admission | None = None,
        audit: Audited | None = None,
    ) -> None:
        """Without `admission` everybody is local: for loopback alone."""
        self.app = app
        self.config = config
        self.operations = operations
        self.admission: Admission = admission or LocalAdmission()
        self.audit = audit
        self.clock = app.engine.clock
        self.ids = app.engine.ids
        self.rates = Rates(self.clock, config.rate, config.burst)
        self.stopping = asyncio.Event()
        """Set when the service stops: who waits for something is told that it is not there yet."""
        self.live = LiveHub(app.engine)
        """Tells those who watch instances, over sockets and streams."""
        self.bulk = BulkOffice(app.engine, app.tasks)
        """Goes on with actions over many things."""
        limits = app.engine.settings.limits
        self.sizes: Mapping[Size, int] = MappingProxyType(
            {
                "command": _ENVELOPE,
                "value": max(limits.input_bytes, limits.event_bytes) + _ENVELOPE,
                "batch": _BATCH,
                "document": MOST_BYTES + _ENVELOPE,
            }
        )
        """How many bytes a body may have."""

    def start(self) -> None:
        """Go on with what was asked for and is not done; the app is open."""
        self.bulk.start()

    async def stop(self) -> None:
        """Let go of those who wait or watch, so that they come back to another process."""
        self.stopping.set()
        await self.live.close()
        await self.bulk.stop()

    def workspace(self, principal: Principal) -> Workspace:
        """The engine as a principal sees it."""
        app = self.app
        return Workspace(app.engine, app.tasks, tenant=principal.tenant, actor=principal.name)
