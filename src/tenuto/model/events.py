"""An event as it is kept in the inbox and handed to waits."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec import Struct

from tenuto.model.durations import iso
from tenuto.model.ids import is_of_an_instance, too_long
from tenuto.model.json import JSON, Object, json_problem

MOST_CHAINED = 16
"""The longest chain of starts by lifecycle events."""
MOST_EMITTED = 100
"""The longest chain of starts by events that instances emit."""
_EMITTED = 1_000
"""The weight of an emitted event in `Event.chain`, whose one number counts both kinds."""

_OF_INSTANCE = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):")


def is_reserved(pattern: str) -> bool:
    """Whether only Tenuto itself may publish events of this name."""
    return pattern == "workflow" or pattern.startswith("workflow.")


def stream_of(tenant: str, event_id: str) -> str:
    """The stream within which deliveries keep their order: that of the instance, or of the event.

    The ids of lifecycle events of an instance, and of events that it emits, begin with its id.
    Other ids are unique for each tenant; no tenant's name has a colon.
    """
    of_instance = _OF_INSTANCE.match(event_id)
    return f"{tenant}:{event_id}" if of_instance is None else of_instance.group(1)


def event_name_problem(pattern: str) -> str | None:
    """Why users cannot publish an event of this name; None if they can."""
    if is_reserved(pattern):
        return f"{pattern!r} is reserved: events called workflow.* come from Tenuto itself"
    if "*" in pattern or not all(pattern.split(".")) or json_problem(pattern) is not None:
        return f"{pattern!r} is not the name of an event"
    return too_long(pattern)


class Event(Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A named fact published from outside or by a workflow."""

    id: str
    pattern: str
    payload: JSON
    received_at: datetime
    """When Tenuto stored it: the time that counts."""
    timestamp: datetime | None = None
    """When it happened according to its sender: shown, never used in decisions."""
    correlation_id: str | None = None
    chain: int = 0
    """The length of the chain of starts by events that led to it: one for each lifecycle event,
    a thousand for each emitted event."""
    origin: str | None = None
    """The instance that led to it, which starts by it count for; None: it came from outside."""
    tenant: str = "default"
    """Its tenant: only waits and triggers of this tenant see it, and ids are unique within it."""

    @property
    def stream(self) -> str:
        """The stream within which deliveries keep their order."""
        return stream_of(self.tenant, self.id)

    @property
    def chain_of_starts(self) -> int:
        """The `chain` of the instances that it starts."""
        if self.is_lifecycle:
            return self.chain + 1
        return self.chain + _EMITTED if is_of_an_instance(self.id) else self.chain

    @property
    def chain_problem(self) -> str | None:
        """Why it starts no instance: the chain is too long, so that it may never end."""
        emitted, told = divmod(self.chain, _EMITTED)
        if self.is_lifecycle and told >= MOST_CHAINED:
            return f"it is the end of a chain of {MOST_CHAINED} starts by lifecycle events"
        if not self.is_lifecycle and emitted >= MOST_EMITTED and is_of_an_instance(self.id):
            return f"it is the end of a chain of {MOST_EMITTED} starts by emitted events"
        return None

    @property
    def is_lifecycle(self) -> bool:
        """Whether it is a lifecycle event, published by Tenuto."""
        return is_reserved(self.pattern)

    def as_value(self) -> Object:
        """The value of `event` in expressions, and the output of a wait."""
        moment = self.timestamp or self.received_at
        return {
            "id": self.id,
            "eventId": self.id,
            "pattern": self.pattern,
            "payload": self.payload,
            "timestamp": iso(moment),
            "correlationId": self.correlation_id,
        }
