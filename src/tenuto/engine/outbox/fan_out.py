"""Fans an event out: the subscribers of its tenant, and the deliveries for webhooks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from tenuto.engine.outbox.endpoints import Endpoint, endpoint_of
from tenuto.events import fits
from tenuto.expr import Expression, ExpressionError, compile_expression
from tenuto.model.durations import iso
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import Posting

log = logging.getLogger("tenuto.outbox")

_EVENT = frozenset({"event"})
_encode = msgspec.json.Encoder(decimal_format="number").encode


class Addressee(NamedTuple):
    """A webhook that may receive an event."""

    listener: Listener
    endpoint: Endpoint
    filter: Expression | None


class Audience:
    """The subscribers of one tenant, found by the names of events."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        """Definitions, and webhooks that are not disabled."""
        self.has_definitions = False
        self._workflows: list[str] = []
        """Patterns of definitions."""
        self._by_name: dict[str, list[Addressee]] = {}
        """Exact name → webhooks."""
        self._by_first_word: dict[str, list[tuple[str, Addressee]]] = {}
        """First word → pattern and webhooks; under `*` patterns that begin with a wildcard."""
        self.unreadable: dict[str, str] = {}
        """Webhooks that receive nothing, since their configuration cannot be read: the reasons."""
        for listener in listeners:
            if not listener.level and not listener.hears_inbox:
                continue
            if listener.kind == "definition":
                self.has_definitions = True
                self._workflows += listener.patterns
            else:
                self._add_if_readable(listener)

    def is_for_workflows(self, event: Event) -> bool:
        """Whether a definition subscribes to it."""
        return any(fits(pattern, event.pattern) for pattern in self._workflows)

    def postings_of(self, event: Event, now: datetime) -> Iterator[Posting]:
        """The deliveries of an event, one for each subscribed webhook."""
        value: Object | None = None
        for addressee in self._who_asks_for(event.pattern):
            if not _may_be_for(addressee, event):
                continue
            if addressee.filter is not None:
                value = event.as_value() if value is None else value
                if not _holds(addressee, addressee.filter, value):
                    continue
            yield Posting(
                listener_id=addressee.listener.id,
                event_id=event.id,
                stream=event.stream,
                body=_encode(_body(addressee, event)),
                created_at=now,
            )

    def _add_if_readable(self, listener: Listener) -> None:
        try:
            self._add(_addressee(listener))
        except (msgspec.DecodeError, ExpressionError) as error:
            # A newer program's, or damaged. It does not hold up the others.
            log.error("webhook=%s receives nothing, it cannot be read: %s", listener.id, error)  # noqa: TRY400
            self.unreadable[listener.id] = f"it is told nothing, since it cannot be read: {error}"

    def _add(self, addressee: Addressee) -> None:
        for pattern in addressee.listener.patterns:
            if "*" not in pattern:
                self._by_name.setdefault(pattern, []).append(addressee)
                continue
            word = pattern.partition(".")[0]
            word = "*" if "*" in word else word
            self._by_first_word.setdefault(word, []).append((pattern, addressee))

    def _who_asks_for(self, name: str) -> Iterator[Addressee]:
        """Each webhook once, however many of its patterns match."""
        seen: set[str] = set()
        for addressee in self._by_name.get(name, ()):
            if addressee.listener.id not in seen:
                seen.add(addressee.listener.id)
                yield addressee
        for word in (name.partition(".")[0], "*"):
            for pattern, addressee in self._by_first_word.get(word, ()):
                if addressee.listener.id not in seen and fits(pattern, name):
                    seen.add(addressee.listener.id)
                    yield addressee


class Audiences:
    """Subscribers by tenant: no tenant receives another's events."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self._listeners: dict[str, list[Listener]] = {}
        for each in listeners:
            self._listeners.setdefault(each.tenant, []).append(each)
        self._known: dict[str, Audience] = {}
        """Made when a tenant has notifications: few do at a time."""
        self.is_listened_to = any(
            each.level or each.hears_inbox for of_one in self._listeners.values() for each in of_one
        )

    @property
    def unreadable(self) -> dict[str, str]:
        """Webhooks that receive nothing, since they cannot be read: the reasons."""
        return {id: why for each in self._known.values() for id, why in each.unreadable.items()}

    def of(self, tenant: str) -> Audience:
        found = self._known.get(tenant)
        if found is None:
            found = self._known[tenant] = Audience(self._listeners.get(tenant, ()))
        return found


def _addressee(listener: Listener) -> Addressee:
    endpoint = endpoint_of(listener)
    if endpoint.filter is None:
        return Addressee(listener, endpoint, None)
    return Addressee(listener, endpoint, compile_expression(endpoint.filter, roots=_EVENT))


def _may_be_for(addressee: Addressee, event: Event) -> bool:
    listener, endpoint, _ = addressee
    if listener.expires_at is not None and listener.expires_at <= event.received_at:
        return False
    return endpoint.correlation_id in (None, event.correlation_id)


def _holds(addressee: Addressee, expression: Expression, value: Object) -> bool:
    try:
        return expression.truthy({"event": value})
    except ExpressionError as error:
        log.debug("webhook=%s: its filter fails: %s", addressee.listener.id, error)
        return False


def _body(addressee: Addressee, event: Event) -> Object:
    listener, endpoint, _ = addressee
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
