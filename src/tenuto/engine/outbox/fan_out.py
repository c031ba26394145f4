"""Fans an event out: the subscribers of its tenant, and the deliveries for webhooks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from tenuto.engine.outbox.endpoints import Endpoint, endpoint_of
from tenuto.events import fits
from tenuto.expr import CountedScope, Expression, ExpressionError, Steps, compile_expression
from tenuto.model.durations import iso
from tenuto.model.events import Event
from tenuto.model.json import Object
from tenuto.store.parts.inbox import OpenedEvent
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.outbox import Posting

log = logging.getLogger("tenuto.outbox")

_EVENT = frozenset({"event"})
_encode = msgspec.json.Encoder(decimal_format="number").encode


class Subscriber(NamedTuple):
    """A webhook that may receive an event."""

    listener: Listener
    endpoint: Endpoint
    filter: Expression | None


class Audience:
    """The subscribers of one tenant, found by the names of events."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        """Definitions, and webhooks that are not disabled."""
        self.has_definitions = False
        self.webhooks = 0
        """How many there are."""
        self._workflows: list[str] = []
        """Patterns of definitions."""
        self._by_name: dict[str, list[Subscriber]] = {}
        """Exact name → webhooks."""
        self._by_first_word: dict[str, list[tuple[str, Subscriber]]] = {}
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

    def postings_of(self, event: Event, now: datetime, steps: Steps) -> Iterator[Posting | None]:
        """The deliveries of an event, one for each subscribed webhook; None: it filters this out.

        What filters take is added to `steps`.
        """
        value: Object | None = None
        for subscriber in self._subscribers_of(event.pattern):
            if not _may_be_for(subscriber, event):
                continue
            if subscriber.filter is not None:
                value = event.as_value() if value is None else value
                if not _holds(subscriber, subscriber.filter, value, steps):
                    yield None
                    continue
            yield Posting(
                listener_id=subscriber.listener.id,
                event_id=event.id,
                stream=event.stream,
                body=_encode(_body(subscriber, event)),
                created_at=now,
                is_sealed=isinstance(event, OpenedEvent),
            )

    def _add_if_readable(self, listener: Listener) -> None:
        try:
            self._add(_subscriber(listener))
        except (msgspec.DecodeError, ExpressionError) as error:
            # A newer program's, or damaged. It does not hold up the others.
            log.error("webhook=%s receives nothing, it cannot be read: %s", listener.id, error)  # noqa: TRY400
            self.unreadable[listener.id] = f"it gets no events, since it cannot be read: {error}"

    def _add(self, subscriber: Subscriber) -> None:
        self.webhooks += 1
        for pattern in subscriber.listener.patterns:
            if "*" not in pattern:
                self._by_name.setdefault(pattern, []).append(subscriber)
                continue
            word = pattern.partition(".")[0]
            word = "*" if "*" in word else word
            self._by_first_word.setdefault(word, []).append((pattern, subscriber))

    def _subscribers_of(self, name: str) -> Iterator[Subscriber]:
        """Each webhook once, however many of its patterns match."""
        seen: set[str] = set()
        for subscriber in self._by_name.get(name, ()):
            if subscriber.listener.id not in seen:
                seen.add(subscriber.listener.id)
                yield subscriber
        for word in (name.partition(".")[0], "*"):
            for pattern, subscriber in self._by_first_word.get(word, ()):
                if subscriber.listener.id not in seen and fits(pattern, name):
                    seen.add(subscriber.listener.id)
                    yield subscriber


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


def _subscriber(listener: Listener) -> Subscriber:
    endpoint = endpoint_of(listener)
    if endpoint.filter is None:
        return Subscriber(listener, endpoint, None)
    return Subscriber(listener, endpoint, compile_expression(endpoint.filter, roots=_EVENT))


def _may_be_for(subscriber: Subscriber, event: Event) -> bool:
    listener, endpoint, _ = subscriber
    if listener.expires_at is not None and listener.expires_at <= event.received_at:
        return False
    return endpoint.correlation_id in (None, event.correlation_id)


def _holds(subscriber: Subscriber, expression: Expression, value: Object, steps: Steps) -> bool:
    try:
        return expression.truthy(CountedScope({"event": value}, steps))
    except ExpressionError as error:
        log.debug("webhook=%s: its filter fails: %s", subscriber.listener.id, error)
        return False


def _body(subscriber: Subscriber, event: Event) -> Object:
    listener, endpoint, _ = subscriber
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
