"""Tenuto's own form of an event: `{id?, pattern, payload?, correlationId?, timestamp?}`."""

from __future__ import annotations

from tenuto.events.fields import Fields
from tenuto.events.given import GivenEvent, Reading
from tenuto.events.ids import given_id_problems
from tenuto.events.names import name_problems
from tenuto.model.json import Object

NOT_AN_EVENT = "TEN-2020"


def read_native(value: Object, path: str = "$") -> Reading:
    """The event of an object in Tenuto's own form, or all its problems."""
    fields = Fields(value, path, NOT_AN_EVENT)
    fields.only(("id", "pattern", "payload", "correlationId", "timestamp"))
    pattern = fields.text("pattern", is_required=True) or ""
    given = GivenEvent(
        pattern=pattern,
        payload=value.get("payload"),
        id=fields.text("id"),
        correlation_id=fields.id("correlationId"),
        timestamp=fields.moment("timestamp"),
    )
    fields.problems += given_id_problems(given.id, f"{path}.id")
    if pattern:
        fields.problems += name_problems(pattern, f"{path}.pattern")
    return tuple(fields.problems) or given
