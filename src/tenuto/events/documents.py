"""Reads documents with one or several events, native or CloudEvents."""

from __future__ import annotations

from tenuto.events.cloud_events import is_cloud_event, read_cloud_event
from tenuto.events.fields import Fields, GivenEvent, Reading
from tenuto.events.names import given_id_problems, name_problems
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON, Object, kind_of

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


MOST_AT_ONCE = 1_000


def read_events(value: JSON) -> list[Reading]:
    """The events of a document; InvalidInput if it has none."""
    if not isinstance(value, list):
        return [_read_event(value, "$")]
    if not value:
        raise _refused("the array holds no event", "Send at least one.")
    if len(value) > MOST_AT_ONCE:
        message = f"{len(value):,} events at once, and at most {MOST_AT_ONCE:,} are taken"
        raise _refused(message, "Send them in several parts.")
    return [_read_event(item, f"$[{index}]") for index, item in enumerate(value)]


def _read_event(value: JSON, path: str) -> Reading:
    if not isinstance(value, dict):
        return (
            Problem(
                code=NOT_AN_EVENT,
                path=path,
                message=f"an event is an object, and this is {kind_of(value)}",
                advice='Send {"pattern": "payment.received", "payload": …}, or a CloudEvent.',
            ),
        )
    return (read_cloud_event if is_cloud_event(value) else read_native)(value, path)


def _refused(message: str, advice: str) -> InvalidInput:
    problem = Problem(code=NOT_AN_EVENT, path="$", message=message, advice=advice)
    return InvalidInput("the events are not valid", [problem])
