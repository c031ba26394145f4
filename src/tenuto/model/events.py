"""An event as it is kept in the inbox and handed to waits."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from msgspec import Struct, to_builtins

from tenuto.model.ids import is_of_an_instance, too_long
from tenuto.model.json import JSON, Object, json_problem

MOST_CHAINED = 16
"""So many starts by lifecycle events may follow from one another."""
MOST_EMITTED = 100
"""So many starts by events that instances emit may follow from one another."""
_EMITTED = 1_000
"""What one of those counts in a chain, which every event has one number for: so it holds both."""

_OF_INSTANCE = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):")


def is_reserved(pattern: str) -> bool:
    """Whether only Tenuto itself may publish events of this name."""
    return pattern == "workflow" or pattern.startswith("workflow.")


def stream_of(tenant: str, event_id: str) -> str:
    """What an event is told in order with: the instance that it is of, else itself alone.

    Ids of what is told of an instance, and of what it emits, begin with the instance's id. Other
    ids are each tenant's own; no tenant's name has a colon.
    """
    of_instance = _OF_INSTANCE.match(event_id)
    return f"{tenant}:{event_id}" if of_instance is None else of_instance.group(1)


def event_name_problem(pattern: str) -> str | None:
    """Why nobody but Tenuto itself can publish an event of this name, if so."""
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
    """When its sender says it happened: shown, never decided on."""
    correlation_id: str | None = None
    chain: int = 0
    """How many starts by events of instances, one from the other, led to it: those by lifecycle
    events, and a thousand for each by an event that was emitted."""
    tenant: str = "default"
    """Whose it is: nobody else's waits and triggers see it, and ids are the tenant's own."""

    @property
    def stream(self) -> str:
        """What it is told in order with: the instance that it is of, else itself alone."""
        return stream_of(self.tenant, self.id)

    @property
    def chain_of_starts(self) -> int:
        """The chain of what it starts."""
        if self.is_lifecycle:
            return self.chain + 1
        return self.chain + _EMITTED if is_of_an_instance(self.id) else self.chain

    @property
    def chain_problem(self) -> str | None:
        """Why it starts nothing any more: what follows from itself would never end."""
        emitted, told = divmod(self.chain, _EMITTED)
        if self.is_lifecycle and told >= MOST_CHAINED:
            return f"it is the end of a chain of {MOST_CHAINED} starts by lifecycle events"
        if not self.is_lifecycle and emitted >= MOST_EMITTED and is_of_an_instance(self.id):
            return f"it is the end of a chain of {MOST_EMITTED} starts by emitted events"
        return None

    @property
    def is_lifecycle(self) -> bool:
        """Whether Tenuto itself tells it of an instance."""
        return is_reserved(self.pattern)

    def as_value(self) -> Object:
        """What expressions see as `event`, and what a wait has as its output."""
        moment = self.timestamp or self.received_at
        return {
            "id": self.id,
            "eventId": self.id,
            "pattern": self.pattern,
            "payload": self.payload,
            "timestamp": _text_of(moment),
            "correlationId": self.correlation_id,
        }


def _text_of(moment: datetime) -> str:
    # Of moments in UTC, as almost all are, msgspec writes the same, in a tenth of the time.
    if moment.tzinfo is UTC:
        text: str = to_builtins(moment)
        return text
    return moment.isoformat().replace("+00:00", "Z")
