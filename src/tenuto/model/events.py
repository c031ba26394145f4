"""An event as it is kept in the inbox and handed to waits."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from tenuto.model.json import JSON, Object


class Event(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A named fact published from outside or by a workflow."""

    id: str
    pattern: str
    payload: JSON
    received_at: datetime
    """When Tenuto stored it: the time that counts."""
    timestamp: datetime | None = None
    """When its sender says it happened: shown, never decided on."""
    correlation_id: str | None = None
    chain: int = 0
    """How many starts by lifecycle events, one from the other, led to it."""

    def as_value(self) -> Object:
        """What expressions see as `event`, and what a wait has as its output."""
        moment = self.timestamp or self.received_at
        return {
            "id": self.id,
            "eventId": self.id,
            "pattern": self.pattern,
            "payload": self.payload,
            "timestamp": moment.isoformat().replace("+00:00", "Z"),
            "correlationId": self.correlation_id,
        }
