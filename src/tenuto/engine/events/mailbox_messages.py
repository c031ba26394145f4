"""Mailbox messages that carry a matched event: in parts that fit a turn, without large payloads.

However many waits an event matches, and however large it is, no turn exceeds its bounds. Each part
has messages and deliveries; the last one also marks the matching as complete. If it is never
written, the event is matched again, and the messages get the same ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tenuto.engine.events.look_back import report_of
from tenuto.engine.events.recipients import Targets, place_of
from tenuto.engine.turns.requests import LookAgain
from tenuto.model.effects import SendMail
from tenuto.model.events import Event
from tenuto.model.inputs import EventMatched, TriggerMatched
from tenuto.model.json import size_of
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.turns import MatchWrite
from tenuto.store.parts.waits import WaitRow
from tenuto.store.protocol import Store

MOST_BYTES = 2_000_000
"""About the most bytes of one part."""
LARGE = 4_096
"""A payload of more bytes stays in the inbox, and is not copied into each message."""

_encode = msgspec.json.Encoder().encode


class InInbox(Struct, frozen=True, gc=False, kw_only=True, tag="in-inbox"):
    """An event for a wait or a trigger; its payload is read from the inbox of `tenant`."""

    tenant: str
    report: EventMatched | TriggerMatched
    """Its event has no payload."""


class Part(NamedTuple):
    """The rows that one turn records of a matching, and the messages to hand over afterwards."""

    match: MatchWrite
    messages: list[SendMail]


def parts_of(event: Event, targets: Targets, most: int) -> Iterator[Part]:
    """The rows of a matching, in parts of at most `most` messages; each is written in turn."""
    mail: list[Mail] = []
    messages: list[SendMail] = []
    deliveries: list[Delivery] = []
    size = 0
    done = MatchWrite(
        tenant=event.tenant,
        event_id=event.id,
        mail=(),
        deliveries=(),
        # Waits that opened later look back themselves, and most often take this event.
        resumed=len(targets.waits) + len(targets.later),
        cancelled=targets.cancelled,
        started=len(targets.starts.messages),
        matched_at=targets.at,
    )
    for message, row, delivery in _written(event, targets):
        if len(deliveries) >= most or size >= MOST_BYTES:
            match = msgspec.structs.replace(
                done, mail=tuple(mail), deliveries=tuple(deliveries), is_done=False
            )
            yield Part(match, messages)
            mail, messages, deliveries, size = [], [], [], 0
        deliveries.append(delivery)
        if message is not None and row is not None:
            messages.append(message)
            mail.append(row)
            size += len(row.input)
    match = msgspec.structs.replace(done, mail=tuple(mail), deliveries=tuple(deliveries))
    yield Part(match, messages)


def _written(
    event: Event, targets: Targets
) -> Iterator[tuple[SendMail | None, Mail | None, Delivery]]:
    is_large = size_of(event.payload) > LARGE
    shown = msgspec.structs.replace(event, payload=None) if is_large else event
    for wait in (*targets.waits, *targets.cancelling):
        message = _message(wait, event, targets.at)
        input: EventMatched | TriggerMatched | InInbox = _report(wait, shown)
        if is_large:
            input = InInbox(tenant=wait.tenant, report=_report(wait, shown))
        delivery = Delivery(event.id, *place_of(wait), "matched", wait.arm, tenant=event.tenant)
        yield message, _row(message, _encode(input), is_sealed=wait.is_sealed), delivery
    starts = iter(targets.starts.messages)
    for delivery in targets.starts.deliveries:
        if delivery.reason is not None:
            yield None, None, delivery
        else:
            message = next(starts)
            is_sealed = message.to in targets.starts.sealed
            yield message, _row(message, _encode(message.input), is_sealed=is_sealed), delivery


def _report(wait: WaitRow, event: Event) -> EventMatched | TriggerMatched:
    if wait.is_cancellation:
        return TriggerMatched(trigger=wait.position, event=event)
    return report_of(wait, event)


def _message(wait: WaitRow, event: Event, now: datetime) -> SendMail:
    id = f"{event.id}/{wait.instance_id}/{wait.node}/{wait.iteration}"
    if wait.arm:
        id += f"/{wait.arm}"
    return SendMail(to=wait.instance_id, id=id, at=now, input=_report(wait, event))


def _row(message: SendMail, input: bytes, *, is_sealed: bool) -> Mail:
    return Mail(
        id=message.id,
        instance_id=message.to,
        input=input,
        created_at=message.at,
        is_sealed=is_sealed,
    )


class InboxReader:
    """Adds payloads to messages; reads each event once per pass over the mailbox."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str], Event] = {}

    async def complete(self, message: InInbox) -> EventMatched | TriggerMatched | LookAgain:
        """The report with its event.

        An event is kept until each of its messages is decided on. If it is gone, this message is a
        duplicate of one already taken: nothing is decided, it is only removed.
        """
        key = (message.tenant, message.report.event.id)
        if key not in self._known:
            found = await self._store.inbox.get(*key)
            if found is None:
                return LookAgain()
            self._known[key] = found.event
        return msgspec.structs.replace(message.report, event=self._known[key])
