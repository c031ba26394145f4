"""Documents with one or several events, native or CloudEvents."""

from __future__ import annotations

from tenuto.events.cloud_events import is_cloud_event, read_cloud_event
from tenuto.events.given import Reading
from tenuto.events.native import NOT_AN_EVENT, read_native
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON, kind_of

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
