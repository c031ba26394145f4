"""What all requests to one process share."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from tenuto.access.audit import AuditLog
from tenuto.access.gatekeeper import Gatekeeper
from tenuto.access.keys import Keys
from tenuto.access.neighbours import counted_as
from tenuto.access.principal import Principal
from tenuto.access.rates import RateLimiter
from tenuto.api.admission import Admission, Audited
from tenuto.api.config import ServiceConfig
from tenuto.api.event_tickets import EventTickets
from tenuto.api.operation import Operation, Size
from tenuto.api.problems import Refusal
from tenuto.app import Tenuto
from tenuto.bulk import BulkOffice
from tenuto.compose import build_caller
from tenuto.definition.soundness import MOST_BYTES
from tenuto.engine.turns.held import Held
from tenuto.executions.desk import ExecutionDesk
from tenuto.executions.pushing import PushOffice
from tenuto.live import LiveHub
from tenuto.metrics.breakers import of_breakers
from tenuto.metrics.metrics import Metrics
from tenuto.ports import Clock
from tenuto.workspace import Workspace

if TYPE_CHECKING:
    from tenuto.tracing.spans import Spans

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
        """Without `admission` whoever asks is known by the keys of the store, once it has any."""
        self.app = app
        self.config = config
        self.operations = operations
        self.clock = app.engine.clock
        self.ids = app.engine.ids
        store = app.engine.store
        self.admission: Admission = admission or Gatekeeper(store.access, self.clock)
        self.audit: Audited = audit or AuditLog(store.audit, self.clock, self.ids)
        self.keys = Keys(store, self.clock, self.ids, changed=self._key_changed)
        self.rates = _limiter(self.clock, config.rate, config.burst)
        self.source_rates = _limiter(self.clock, config.source_rate, config.source_burst)
        self.desk = ExecutionDesk(app.engine)
        """Where workers outside get tasks and report them."""
        self.event_tickets = EventTickets(store, self.ids)
        """By which services outside hand in events."""
        self.url = config.public_url or ""
        """Where it is reached by those who report later what they were asked to do."""
        self.pushing = PushOffice(
            app.engine,
            self.desk,
            build_caller(may_be_private=app.engine.settings.private_targets),
            lambda: self.url,
        )
        self.metrics = Metrics(app.engine)
        self.metrics.sources.append(lambda: of_breakers(self.pushing.breakers()))
        self.spans: Spans | None = None
        """Where traces are asked for: who makes spans of requests."""
        self.leaving = asyncio.Event()
        """Set first when it is about to stop: whoever balances load sends others elsewhere."""
        self.stopping = asyncio.Event()
        """Set when the service stops: who waits for something is told that it is not there yet."""
        self.waiting: set[asyncio.Future[Held]] = set()
        """For which ends somebody waits: called off when the service stops."""
        self.live = LiveHub(app.engine)
        """Tells those who watch instances, over sockets and streams."""
        self.bulk = BulkOffice(app.engine, app.tasks)
        """Goes on with actions over many things."""
        limits = app.engine.settings.limits
        self.sizes: Mapping[Size, int] = MappingProxyType(
            {
                "command": _ENVELOPE,
                "value": max(limits.input_bytes, limits.event_bytes) + _ENVELOPE,
                "outcome": limits.output_bytes + _ENVELOPE,
                "batch": max(_BATCH, limits.output_bytes + _ENVELOPE),
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
        for end in self.waiting:
            end.cancel()
        self.desk.close()
        await self.live.close()
        await self.bulk.stop()

    def count_request(self, principal: Principal) -> None:
        """Count what a principal asks for; 429 where there has been too much."""
        _take(self.rates, f"{principal.tenant} {principal.kind} {principal.name}")

    def count_source(self, address: str) -> None:
        """Count a request from an address, whoever asks; 429 where there have been too many."""
        _take(self.source_rates, counted_as(address))

    def workspace(self, principal: Principal) -> Workspace:
        """The engine as a principal sees it."""
        app = self.app
        return Workspace(app.engine, app.tasks, tenant=principal.tenant, actor=principal.name)

    async def close(self) -> None:
        """Write down what is still to be written; nobody asks any more."""
        for each in (self.admission, self.audit):
            if isinstance(each, Gatekeeper | AuditLog):
                await each.close()

    def _key_changed(self, id: str) -> None:
        if isinstance(self.admission, Gatekeeper):
            self.admission.ring.forget(id)


def _take(limiter: RateLimiter | None, who: str) -> None:
    seconds = 0.0 if limiter is None else limiter.take(who)
    if seconds > 0:
        headers = {"retry-after": str(math.ceil(seconds))}
        raise Refusal(429, "TEN-4291", "too many requests at once", headers=headers)


def _limiter(clock: Clock, rate: float | None, burst: int) -> RateLimiter | None:
    return None if rate is None else RateLimiter(clock, rate=rate, burst=burst)
