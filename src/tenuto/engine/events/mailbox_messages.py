"""The letters that an event's matching leaves: in parts that a turn can hold, without its payload.

However many wait for an event, and however large it is, no turn is more than a turn should be. Each
part is letters and where they go; the last one also says that the matching is done. If it never
comes, the event is matched again, and the letters have the ids that they had.
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

MOST_LETTERS = 1_000
MOST_BYTES = 2_000_000
"""So many letters, and about so many bytes, one part of a matching has."""
LARGE = 4_096
"""An event whose payload has more bytes is in the inbox, and not in each letter once more."""

_encode = msgspec.json.Encoder().encode


class InInbox(Struct, frozen=True, gc=False, kw_only=True, tag="in-inbox"):
    """An event for a wait or a trigger, whose payload is read in the inbox of `tenant`."""

    tenant: str
    report: EventMatched | TriggerMatched
    """With an event that has no payload."""


class Part(NamedTuple):
    """What one turn records of a matching, and the letters that go out once it has."""

    match: MatchWrite
    letters: list[SendMail]


def parts_of(event: Event, whom: Targets) -> Iterator[Part]:
    """What is recorded of an event: mostly one part, each to be written before the next."""
    mail: list[Mail] = []
    letters: list[SendMail] = []
    deliveries: list[Delivery] = []
    size = 0
    done = MatchWrite(
        tenant=event.tenant,
        event_id=event.id,
        mail=(),
        deliveries=(),
        # Those that opened later look back by themselves, and most often take this one.
        resumed=len(whom.waits) + len(whom.later),
        cancelled=whom.cancelled,
        started=len(whom.starts.letters),
        matched_at=whom.at,
    )
    for letter, row, delivery in _written(event, whom):
        if len(deliveries) >= MOST_LETTERS or size >= MOST_BYTES:
            match = msgspec.structs.replace(
                done, mail=tuple(mail), deliveries=tuple(deliveries), is_done=False
            )
            yield Part(match, letters)
            mail, letters, deliveries, size = [], [], [], 0
        deliveries.append(delivery)
        if letter is not None and row is not None:
            letters.append(letter)
            mail.append(row)
            size += len(row.input)
    match = msgspec.structs.replace(done, mail=tuple(mail), deliveries=tuple(deliveries))
    yield Part(match, letters)


def _written(
    event: Event, whom: Targets
) -> Iterator[tuple[SendMail | None, Mail | None, Delivery]]:
    is_large = size_of(event.payload) > LARGE
    shown = msgspec.structs.replace(event, payload=None) if is_large else event
    for wait in (*whom.waits, *whom.cancelling):
        letter = _letter(wait, event, whom.at)
        input: EventMatched | TriggerMatched | InInbox = _report(wait, shown)
        if is_large:
            input = InInbox(tenant=wait.tenant, report=_report(wait, shown))
        delivery = Delivery(event.id, *place_of(wait), "matched", wait.arm, tenant=event.tenant)
        yield letter, _row(letter, _encode(input)), delivery
    starts = iter(whom.starts.letters)
    for delivery in whom.starts.deliveries:
        if delivery.reason is not None:
            yield None, None, delivery
        else:
            letter = next(starts)
            yield letter, _row(letter, _encode(letter.input)), delivery


def _report(wait: WaitRow, event: Event) -> EventMatched | TriggerMatched:
    if wait.is_cancellation:
        return TriggerMatched(trigger=wait.position, event=event)
    return report_of(wait, event)


def _letter(wait: WaitRow, event: Event, now: datetime) -> SendMail:
    id = f"{event.id}/{wait.instance_id}/{wait.node}/{wait.iteration}"
    if wait.arm:
        id += f"/{wait.arm}"
    return SendMail(to=wait.instance_id, id=id, at=now, input=_report(wait, event))


def _row(letter: SendMail, input: bytes) -> Mail:
    return Mail(id=letter.id, instance_id=letter.to, input=input, created_at=letter.at)


class InboxReader:
    """Completes letters, for one look into the mailbox: each event is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str], Event] = {}

    async def complete(self, letter: InInbox) -> EventMatched | TriggerMatched | LookAgain:
        """The report with its event.

        An event stays until something has come of each of its letters. Where it is gone, this one
        was sent once more after it had been taken: there is nothing to decide, only to take it off.
        """
        key = (letter.tenant, letter.report.event.id)
        if key not in self._known:
            found = await self._store.inbox.get(*key)
            if found is None:
                return LookAgain()
            self._known[key] = found.event
        return msgspec.structs.replace(letter.report, event=self._known[key])
