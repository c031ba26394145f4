"""To whom an event goes outside, and what is sent to each."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from tenuto.engine.endpoints import Endpoint, endpoint_of
from tenuto.events import fits
from tenuto.expr import ExpressionError, compile_expression
from tenuto.model.durations import iso
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.model.lifecycle import PREFIX
from tenuto.store.protocol import Listener, Posting

log = logging.getLogger("tenuto.outbox")

_EVENT = frozenset({"event"})
_encode = msgspec.json.Encoder(decimal_format="number").encode


class Addressee(NamedTuple):
    """An address that may be told of an event."""

    listener: Listener
    endpoint: Endpoint


def addressees_of(listeners: Iterable[Listener]) -> list[Addressee]:
    """Those who hear anything at all: not definitions, and nobody who was disabled."""
    return [
        Addressee(each, endpoint_of(each))
        for each in listeners
        if each.kind != "definition" and (each.level or each.hears_inbox)
    ]


def postings_of(addressees: Sequence[Addressee], event: Event, now: datetime) -> Iterator[Posting]:
    """An event on its way to each that asked for it."""
    for addressee in addressees:
        if _is_for(addressee, event):
            yield Posting(
                listener_id=addressee.listener.id,
                event_id=event.id,
                stream=_stream_of(event),
                body=_encode(_body(addressee, event)),
                created_at=now,
            )


def _stream_of(event: Event) -> str:
    """What goes out in order: the events of one instance; others do not wait for each other."""
    if event.pattern.startswith(PREFIX):
        return event.id.rpartition(":")[0]
    return event.id


def _is_for(addressee: Addressee, event: Event) -> bool:
    listener, endpoint = addressee
    if not any(fits(pattern, event.pattern) for pattern in listener.patterns):
        return False
    if listener.expires_at is not None and listener.expires_at <= event.received_at:
        return False
    if endpoint.correlation_id not in (None, event.correlation_id):
        return False
    if endpoint.filter is None:
        return True
    try:
        expression = compile_expression(endpoint.filter, roots=_EVENT)
        return expression.truthy({"event": event.as_value()})
    except ExpressionError as error:
        log.debug("the filter of %s: %s", listener.id, error)
        return False


def _body(addressee: Addressee, event: Event) -> Object:
    listener, endpoint = addressee
    timestamp = iso(event.timestamp or event.received_at)
    if listener.kind == "subscription":
        return {
            "eventId": event.id,
            "pattern": event.pattern,
            "timestamp": timestamp,
            "payload": event.payload,
            "subscriberId": endpoint.subscriber_id,
            "subscriptionId": listener.id,
        }
    return {"type": event.pattern, "timestamp": timestamp, "data": event.payload}
